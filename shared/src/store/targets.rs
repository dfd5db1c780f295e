//! `etl.etl_targets`, and what the server says of a mart's table.

use serde_json::Value;
use sqlx::{
    AssertSqlSafe, PgConnection, Row as _,
    postgres::{PgRow, types::Oid},
};

use super::value_types::{self, Identity};
use crate::domain::Target;

/// Reads one entry of the whitelist.
pub async fn find(connection: &mut PgConnection, target: &str) -> sqlx::Result<Option<Target>> {
    sqlx::query_as!(Target, "select target, key, options, created_at from etl.etl_targets where target = $1", target,)
        .fetch_optional(connection)
        .await
}

/// Reads the whole whitelist.
pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<Target>> {
    sqlx::query_as!(Target, "select target, key, options, created_at from etl.etl_targets order by target")
        .fetch_all(connection)
        .await
}

/// Adds to the whitelist.
pub async fn insert(
    connection: &mut PgConnection,
    target: &str,
    key: &[String],
    options: &Value,
) -> sqlx::Result<Target> {
    sqlx::query_as!(
        Target,
        r#"
        insert into etl.etl_targets (target, key, options)
        values ($1, $2, $3)
        returning target, key, options, created_at
        "#,
        target,
        key,
        options,
    )
    .fetch_one(connection)
    .await
}

/// Takes a target off the whitelist. Whether it was there.
pub async fn delete(connection: &mut PgConnection, target: &str) -> sqlx::Result<bool> {
    let deleted = sqlx::query!("delete from etl.etl_targets where target = $1", target).execute(connection).await?;
    Ok(deleted.rows_affected() == 1)
}

/// The names of the pipelines that name a target, in themselves or in a step.
pub async fn named_by(connection: &mut PgConnection, target: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"
        select p.name
        from etl.etl_pipelines p
        where p.target_table = $1
           or exists (select from etl.etl_pipeline_tasks t where t.pipeline_id = p.id and t.target_table = $1)
        order by p.name
        "#,
        target,
    )
    .fetch_all(connection)
    .await
}

/// A column of a mart's table.
#[derive(Debug)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type as SQL spells it.
    pub type_name: String,
    /// Its type.
    pub type_oid: u32,
    /// The type behind a domain, with its length; `record` for a composite.
    pub plain_type: String,
    /// How two of its values are told apart.
    pub identity: Identity,
    /// Whether texts are equal only where they are the same; true for types without a collation.
    pub deterministic: bool,
    /// Whether it refuses NULL and has nothing to put there by itself.
    pub required: bool,
    /// Whether it is computed and cannot be written.
    pub generated: bool,
}

impl sqlx::FromRow<'_, PgRow> for TargetColumn {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            name: row.try_get("name")?,
            type_name: row.try_get("type_name")?,
            type_oid: row.try_get::<Oid, _>("type_oid")?.0,
            plain_type: row.try_get("plain")?,
            identity: Identity::of(row.try_get("identity")?),
            deterministic: row.try_get("deterministic")?,
            required: row.try_get("required")?,
            generated: row.try_get("generated")?,
        })
    }
}

/// Reads the columns of `analytics.<table>`; none if there is no such table.
pub async fn columns(connection: &mut PgConnection, table: &str) -> sqlx::Result<Vec<TargetColumn>> {
    let leaves = value_types::leaves(
        "select a.attnum as place, a.atttypid as type, a.atttypmod as modifier, a.attcollation as collated_by from own a",
    );
    let statement = format!(
        r"
        with recursive own as (
            select a.*
            from pg_attribute a
            join pg_class c on c.oid = a.attrelid
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'analytics' and c.relname = $1 and c.relkind in ('r', 'p')
              and a.attnum > 0 and not a.attisdropped
        ),
        {leaves}
        select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type_name, a.atttypid as type_oid,
               l.plain, l.identity, l.deterministic,
               a.attnotnull and not a.atthasdef and a.attidentity = '' as required,
               a.attgenerated <> '' or a.attidentity = 'a' as generated
        from own a
        join leaf l on l.place = a.attnum
        order by a.attnum
        "
    );
    sqlx::query_as(AssertSqlSafe(statement)).bind(table).fetch_all(connection).await
}

/// How the server keeps the rows of a mart's table.
#[derive(Debug, Clone, Copy, sqlx::FromRow)]
pub struct Storage {
    /// Whether rows of it, or of one of its partitions, are gone after a crash of the server.
    pub unlogged: bool,
    /// Whether other tables inherit from it, or it inherits from another one. Partitions do not count.
    pub inherits: bool,
}

/// How the rows of `analytics.<table>` are kept.
pub async fn storage(connection: &mut PgConnection, table: &str) -> sqlx::Result<Storage> {
    sqlx::query_as(
        r"
        with recursive own as (
            select c.oid, c.relpersistence, c.relispartition, true as itself
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'analytics' and c.relname = $1 and c.relkind in ('r', 'p')
            union all
            select c.oid, c.relpersistence, c.relispartition, false
            from own o
            join pg_inherits i on i.inhparent = o.oid
            join pg_class c on c.oid = i.inhrelid
        )
        select exists (select from own where relpersistence <> 'p') as unlogged,
               exists (select from own where not itself and not relispartition)
               or exists (
                   select from own o join pg_inherits i on i.inhrelid = o.oid where o.itself and not o.relispartition
               ) as inherits
        ",
    )
    .bind(table)
    .fetch_one(connection)
    .await
}

/// Every unique index and exclusion constraint of `analytics.<table>` that a row with a key of its own can violate by the
/// columns that are written, those of single partitions included. Those that are checked at the end of a transaction do not
/// count.
pub async fn other_unique(
    connection: &mut PgConnection,
    table: &str,
    key: &[String],
    written: &[&str],
) -> sqlx::Result<Vec<UniqueIndex>> {
    sqlx::query_as(
        r"
        with recursive own as (
            select c.oid
            from pg_class c
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'analytics' and c.relname = $1
            union all
            select i.inhrelid from own o join pg_inherits i on i.inhparent = o.oid
        )
        select min(found.name) as name, found.columns
        from own o
        join pg_index i on i.indrelid = o.oid
        left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
        cross join lateral (
            select (select x.relname::text from pg_class x where x.oid = i.indexrelid) as name,
                   array(
                       select a.attname::text
                       from pg_attribute a
                       where a.attrelid = i.indrelid and a.attnum > 0 and not a.attisdropped
                         -- An expression or a condition may look at any column.
                         and (a.attnum = any (i.indkey[0:i.indnkeyatts - 1]) or i.indexprs is not null or i.indpred is not null)
                       order by a.attnum
                   ) as columns
        ) as found
        where (i.indisunique or i.indisexclusion) and i.indisvalid and not coalesce(k.condeferred, false)
          and (i.indisexclusion or i.indexprs is not null or i.indpred is not null or not $2::text[] <@ found.columns)
          and found.columns && $3::text[]
        group by found.columns
        order by 1
        ",
    )
    .bind(table)
    .bind(key)
    .bind(written)
    .fetch_all(connection)
    .await
}

/// A unique index, or an exclusion constraint.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct UniqueIndex {
    /// Its name.
    pub name: String,
    /// The columns that it looks at.
    pub columns: Vec<String>,
}

/// Whether exactly these columns are unique in `analytics.<table>`, so that an upsert can name them.
pub async fn has_unique_key(connection: &mut PgConnection, table: &str, key: &[String]) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        r"
        select exists (
            select
            from pg_index i
            join pg_class c on c.oid = i.indrelid
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'analytics' and c.relname = $1
              and i.indisunique and i.indimmediate and i.indisvalid
              and i.indpred is null and i.indexprs is null
              -- An index of its own collation may take other values for equal than the column does.
              and not exists (
                  select
                  from unnest(i.indkey[0:i.indnkeyatts - 1], i.indcollation[0:i.indnkeyatts - 1]) as k (attribute, collated_by)
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attribute
                  where a.attcollation <> k.collated_by
              )
              and (
                  select array_agg(a.attname::text order by a.attname::text)
                  from unnest(i.indkey[0:i.indnkeyatts - 1]) k
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k
              ) = (select array_agg(k order by k) from unnest($2::text[]) k)
        )
        ",
    )
    .bind(table)
    .bind(key)
    .fetch_one(connection)
    .await
}

/// Whether pages may be written to `analytics.<table>` under the role that writes marts.
pub async fn is_writable(connection: &mut PgConnection, table: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select has_table_privilege('vitrina_mart', format('analytics.%I', $1::text), 'select')
           and has_table_privilege('vitrina_mart', format('analytics.%I', $1::text), 'insert')
           and has_table_privilege('vitrina_mart', format('analytics.%I', $1::text), 'update')
           and has_table_privilege('vitrina_mart', format('analytics.%I', $1::text), 'delete') as "writable!"
        "#,
        table,
    )
    .fetch_one(connection)
    .await
}

/// Which of these assignments the server would refuse, as places in the lists: `source[i]` into `target[i]`.
pub async fn unassignable(connection: &mut PgConnection, source: &[u32], target: &[u32]) -> sqlx::Result<Vec<usize>> {
    let source: Vec<i64> = source.iter().map(|oid| i64::from(*oid)).collect();
    let target: Vec<i64> = target.iter().map(|oid| i64::from(*oid)).collect();
    let places = sqlx::query_scalar!(
        r#"
        with recursive pair as (
            select place, s::oid as source, t::oid as target
            from unnest($1::bigint[], $2::bigint[]) with ordinality as p (s, t, place)
        ),
        -- A domain is assigned like its base type, an array like its elements.
        base as (
            select place, source, target from pair
            union
            select b.place,
                   case when s.typtype = 'd' then s.typbasetype
                        when s.typcategory = 'A' and t.typcategory = 'A' then s.typelem else b.source end,
                   case when t.typtype = 'd' then t.typbasetype
                        when s.typcategory = 'A' and t.typcategory = 'A' then t.typelem else b.target end
            from base b
            join pg_type s on s.oid = b.source
            join pg_type t on t.oid = b.target
        )
        select distinct b.place as "place!"
        from base b
        where not exists (
            select
            from base c
            join pg_type t on t.oid = c.target
            where c.place = b.place
              and (c.source = c.target
                   or t.typcategory = 'S'
                   or c.source = 'unknown'::regtype
                   or exists (select from pg_cast k
                              where k.castsource = c.source and k.casttarget = c.target and k.castcontext in ('i', 'a')))
        )
        order by 1
        "#,
        &source,
        &target,
    )
    .fetch_all(connection)
    .await?;
    Ok(places.into_iter().filter_map(|place| usize::try_from(place - 1).ok()).collect())
}
