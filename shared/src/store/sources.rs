//! What source tables are, by the catalog: whether rows can come into them that no look at this server's transactions finds.

use sqlx::{PgConnection, postgres::types::Oid};

/// What the relations of a query are made of.
#[derive(Debug)]
pub struct SourceKinds {
    pub materialized: Vec<String>,
    pub foreign: Vec<String>,
    /// Tables that get rows from another server.
    pub subscribed: Vec<String>,
    /// Views that put times into bins.
    pub binned: Vec<String>,
}

/// A sequence that gives a column its numbers.
#[derive(Debug)]
pub struct Sequence {
    pub name: String,
    /// How many numbers a session takes at once.
    pub cache: i64,
    pub increment: i64,
    pub cycles: bool,
    /// Whether it is the default of the column itself, and not of a partition's.
    pub is_own: bool,
}

/// Looks at the relations, and at what views and partitions of them consist of.
pub async fn behind(connection: &mut PgConnection, relations: &[String]) -> sqlx::Result<SourceKinds> {
    let kinds = sqlx::query!(
        r#"
        with recursive base as (
            -- Not by a cast, which asks for rights on the schema.
            select c.oid as relation
            from unnest($1::text[]) t
            join pg_namespace n on n.nspname = (parse_ident(t))[1]
            join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(t))[2]
            union
            select coalesce(d.refobjid, i.inhrelid)
            from base b
            left join pg_rewrite w on w.ev_class = b.relation
            left join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                and d.refclassid = 'pg_class'::regclass and d.refobjid <> b.relation
            left join pg_inherits i on i.inhparent = b.relation
            where coalesce(d.refobjid, i.inhrelid) is not null
        )
        select format('%I.%I', n.nspname, c.relname) as "name!", c.relkind = 'm' as "materialized!", c.relkind = 'f' as "foreign!",
               c.relkind = 'v' as "binned!"
        from base b
        join pg_class c on c.oid = b.relation
        join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('m', 'f') or exists (select from pg_subscription_rel s where s.srrelid = c.oid)
           or c.relkind = 'v' and exists (
               select
               from pg_rewrite w
               join pg_proc p on p.proname = 'date_bin'
               where w.ev_class = c.oid and position(format(':funcid %s ', p.oid) in w.ev_action::text) > 0
           )
        order by 1
        "#,
        relations,
    )
    .fetch_all(connection)
    .await?;
    let mut sources = SourceKinds { materialized: vec![], foreign: vec![], subscribed: vec![], binned: vec![] };
    for kind in kinds {
        match (kind.materialized, kind.foreign, kind.binned) {
            (true, ..) => sources.materialized.push(kind.name),
            (false, true, _) => sources.foreign.push(kind.name),
            (false, false, true) => sources.binned.push(kind.name),
            (false, false, false) => sources.subscribed.push(kind.name),
        }
    }
    Ok(sources)
}

/// The sequences whose next number is the default of a column (the oid of its table and its number), or that belong to it as
/// an identity. Partitions are looked at too.
pub async fn sequences(connection: &mut PgConnection, (table, number): (u32, i16)) -> sqlx::Result<Vec<Sequence>> {
    sqlx::query_as!(
        Sequence,
        r#"
        with recursive part as (
            select $1::oid as relation
            union
            select i.inhrelid from part p join pg_inherits i on i.inhparent = p.relation
        ),
        held as (
            select a.attrelid, a.attnum
            from part p
            join pg_attribute k on k.attrelid = $1 and k.attnum = $2
            join pg_attribute a on a.attrelid = p.relation and a.attname = k.attname
        ),
        given as (
            select h.attrelid, d.objid as sequence
            from held h
            join pg_depend d on d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
                and d.refobjid = h.attrelid and d.refobjsubid = h.attnum and d.deptype = 'i'
            union
            select h.attrelid, d.refobjid
            from held h
            join pg_attrdef e on e.adrelid = h.attrelid and e.adnum = h.attnum
            join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = e.oid and d.refclassid = 'pg_class'::regclass
            -- The number itself, and not something that is made of it.
            where pg_get_expr(e.adbin, e.adrelid) ~ '^nextval\(''([^'']|'''')*''::regclass\)$'
        )
        select format('%I.%I', n.nspname, c.relname) as "name!", s.seqcache as "cache!", s.seqincrement as "increment!",
               s.seqcycle as "cycles!",
               bool_or(g.attrelid = $1) as "is_own!"
        from given g
        join pg_sequence s on s.seqrelid = g.sequence
        join pg_class c on c.oid = g.sequence
        join pg_namespace n on n.oid = c.relnamespace
        group by 1, 2, 3, 4
        order by 1
        "#,
        Oid(table),
        number,
    )
    .fetch_all(connection)
    .await
}
