//! What the server says of a mart's table.

use serde::Deserialize;
use sqlx::{AssertSqlSafe, PgConnection, types::Json};

use super::value_types;
use crate::domain::{ColumnType, Identity};

#[derive(Debug, Deserialize)]
pub struct MartTable {
    /// Its columns; none if there is no such table.
    pub columns: Vec<TargetColumn>,
    /// Whether exactly the key's columns are unique in it, so that an upsert can name them.
    pub has_unique_key: bool,
    /// Whether pages may be written to it under the role that writes marts.
    pub is_writable: bool,
    /// Whether rows of it, or of one of its partitions, are gone after a crash of the server.
    pub unlogged: bool,
    /// A trigger that is executed when the transaction is committed, with the rights of the session.
    pub deferred_trigger: Option<String>,
    /// Whether other tables inherit from it, or it inherits from another one. Partitions do not count.
    pub inherits: bool,
    /// Whether a foreign key of a table refers to its rows.
    is_referenced: bool,
    /// Every unique index and exclusion constraint that a row with a key of its own can violate, also of one partition.
    unique: Vec<UniqueIndex>,
}

impl MartTable {
    /// What is unique besides the key among the columns that are written.
    pub fn other_unique(&self, written: &[&str]) -> Vec<UniqueIndex> {
        let is_written = |index: &&UniqueIndex| index.columns.iter().any(|name| written.contains(&name.as_str()));
        self.unique.iter().filter(is_written).cloned().collect()
    }

    /// Whether a row can be removed and written anew without a loss: nothing refers to it, and all of it is written or computed.
    /// A number that the table has given it would be another one afterwards.
    pub fn can_rewrite_rows(&self, written: &[&str]) -> bool {
        let is_filled = |own: &TargetColumn| own.computed || written.contains(&own.name.as_str());
        !self.is_referenced && self.columns.iter().all(is_filled)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct TargetColumn {
    pub name: String,
    /// The type as SQL writes it, with its length.
    pub type_name: String,
    pub type_oid: u32,
    /// The type behind a domain, with its length; `record` for a composite.
    pub plain_type: String,
    /// How two of its values are distinguished.
    pub identity: Identity,
    /// Whether texts are equal only where they are the same; true for types without a collation.
    pub deterministic: bool,
    /// Whether it refuses NULL and has nothing to put there by itself.
    pub required: bool,
    /// Whether it cannot be written: it is computed, or numbered by the table.
    pub generated: bool,
    pub computed: bool,
}

impl TargetColumn {
    /// Its type by name. A domain is taken as it is.
    pub fn own_type(&self) -> ColumnType {
        ColumnType::of(&self.type_name)
    }

    /// The type of its values: of a domain the type behind it.
    pub fn value_type(&self) -> ColumnType {
        ColumnType::of(&self.plain_type)
    }

    /// Whether it can change in a row that is there: columns of the key cannot, where equal values are the same.
    pub fn can_change(&self, key: &[String]) -> bool {
        self.identity != Identity::Equality || !key.contains(&self.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UniqueIndex {
    pub name: String,
    pub columns: Vec<String>,
    pub deferred: bool,
}

/// Whether a unique index of the table `own` is about exactly the columns `$2`, and none of those waits until a transaction ends:
/// `on conflict` looks at all of them, and takes none that waits.
const HAS_UNIQUE_KEY: &str = include_str!("tables/has_unique_key.sql");

/// What is unique in the tables `own` besides the columns `$2`.
const OTHER_UNIQUE: &str = include_str!("tables/other_unique.sql");

/// Reads what the catalog says of `analytics.<table>`, whose rows have this key. One statement: the database may be far away.
pub async fn read_mart(connection: &mut PgConnection, table: &str, key: &[String]) -> sqlx::Result<MartTable> {
    let leaves = value_types::leaves(
        "select a.attnum as place, a.atttypid as type, a.atttypmod as modifier, a.attcollation as collated_by
         from own o join pg_attribute a on a.attrelid = o.oid
         where o.itself and a.attnum > 0 and not a.attisdropped",
    );
    let statement = format!(
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
        ),
        {leaves},
        columns as (
            select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type_name, a.atttypid::bigint as type_oid,
                   l.plain as plain_type, l.identity, l.deterministic,
                   a.attnotnull and not a.atthasdef and a.attidentity = '' as required,
                   a.attgenerated <> '' or a.attidentity = 'a' as generated, a.attgenerated <> '' as computed
            from own o
            join pg_attribute a on a.attrelid = o.oid
            join leaf l on l.place = a.attnum
            where o.itself and a.attnum > 0
            order by a.attnum
        )
        select json_build_object(
            'columns', (select coalesce(json_agg(row_to_json(c)), '[]') from columns c),
            'has_unique_key', coalesce(({HAS_UNIQUE_KEY}), false),
            'is_writable', exists (
                select from own o
                where o.itself
                  and has_table_privilege('vitrina_mart', o.oid, 'select') and has_table_privilege('vitrina_mart', o.oid, 'insert')
                  and has_table_privilege('vitrina_mart', o.oid, 'update') and has_table_privilege('vitrina_mart', o.oid, 'delete')
            ),
            'deferred_trigger', (
                select min(t.tgname::text) from own o join pg_trigger t on t.tgrelid = o.oid where t.tgdeferrable and not t.tgisinternal
            ),
            'is_referenced', exists (select from own o join pg_constraint k on k.confrelid = o.oid where k.contype = 'f'),
            'unlogged', exists (select from own where relpersistence <> 'p'),
            'inherits', exists (select from own where not itself and not relispartition)
                or exists (select from own o join pg_inherits i on i.inhrelid = o.oid where o.itself and not o.relispartition),
            'unique', (select coalesce(json_agg(row_to_json(u)), '[]') from ({OTHER_UNIQUE}) as u)
        )
        "
    );
    let mart: Json<MartTable> =
        sqlx::query_scalar(AssertSqlSafe(statement)).bind(table).bind(key).fetch_one(connection).await?;
    Ok(mart.0)
}

/// Whether rows of `analytics.<table>` can be removed and written anew without a loss, asked again where the transaction holds a
/// lock on the table: no foreign key and no column comes to it before the end.
pub async fn can_rewrite_rows(
    tx: &mut PgConnection,
    table: &str,
    key: &[String],
    written: &[&str],
) -> sqlx::Result<bool> {
    Ok(read_mart(tx, table, key).await?.can_rewrite_rows(written))
}

pub async fn exists(connection: &mut PgConnection, table: &str) -> sqlx::Result<bool> {
    Ok(!read_mart(connection, table, &[]).await?.columns.is_empty())
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
