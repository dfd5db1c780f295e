//! `etl.etl_targets`, and what the server says of a mart's table.

use serde_json::Value;
use sqlx::PgConnection;

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
    /// Whether it refuses NULL and has nothing to put there by itself.
    pub required: bool,
    /// Whether it is computed and cannot be written.
    pub generated: bool,
}

/// Reads the columns of `analytics.<table>`; none if there is no such table.
pub async fn columns(connection: &mut PgConnection, table: &str) -> sqlx::Result<Vec<TargetColumn>> {
    let rows = sqlx::query!(
        r#"
        select a.attname::text as "name!",
               format_type(a.atttypid, a.atttypmod) as "type_name!",
               a.atttypid as "type_oid!",
               a.attnotnull and not a.atthasdef and a.attidentity = '' as "required!",
               a.attgenerated <> '' or a.attidentity = 'a' as "generated!"
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'analytics' and c.relname = $1 and c.relkind in ('r', 'p')
          and a.attnum > 0 and not a.attisdropped
        order by a.attnum
        "#,
        table,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| TargetColumn {
            name: row.name,
            type_name: row.type_name,
            type_oid: row.type_oid.0,
            required: row.required,
            generated: row.generated,
        })
        .collect())
}

/// Whether exactly these columns are unique in `analytics.<table>`, so that an upsert can name them.
pub async fn has_unique_key(connection: &mut PgConnection, table: &str, key: &[String]) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select
            from pg_index i
            join pg_class c on c.oid = i.indrelid
            join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'analytics' and c.relname = $1
              and i.indisunique and i.indimmediate and i.indisvalid
              and i.indpred is null and i.indexprs is null
              and (
                  select array_agg(a.attname::text order by a.attname::text)
                  from unnest(i.indkey[0:i.indnkeyatts - 1]) k
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k
              ) = (select array_agg(k order by k) from unnest($2::text[]) k)
        ) as "found!"
        "#,
        table,
        key,
    )
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
