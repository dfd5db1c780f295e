//! Looks up the oids of a tree in the server's catalog.

use serde::Deserialize;
use sqlx::postgres::types::Oid;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, PgConnection};

use super::super::allowed::{FunctionFacts, Use};
use super::super::{FunctionName, QUERY_ROLE};
use super::tree::Mentions;
use crate::domain::column_type::FIRST_ADDED;

/// The columns of a function `p`, for [`FunctionFacts`].
const FACTS: &str = include_str!("catalog/function_facts.sql");

fn oids<'a>(set: impl IntoIterator<Item = &'a u32>) -> Vec<Oid> {
    set.into_iter().copied().map(Oid).collect()
}

/// The rows of a statement as one JSON list.
fn list(statement: &str) -> String {
    format!("(select coalesce(json_agg(row_to_json(listed)), '[]') from ({statement}) as listed)")
}

#[derive(Debug, Deserialize)]
pub(super) struct Found {
    /// Whether it has every function, operator and type. A missing one was dropped meanwhile.
    pub complete: bool,
    pub functions: Vec<Called>,
    pub relations: Vec<Relation>,
    /// A type that is made and that a query has no business with.
    pub out_of_reach: Option<String>,
    /// Types that name things, and are made by the query.
    pub names: Vec<String>,
    /// The checks of domains, as trees.
    pub checks: Vec<String>,
    /// Functions of types that were added to the server, which it calls by itself: `to_json` and `||` look for a cast,
    /// sorting and grouping for an operator class.
    pub own: Vec<FunctionFacts>,
}

/// Looks up all that a tree mentions, in one statement: the database may be far away. `schemas` are those of the sources.
pub(super) async fn look_up(conn: &mut PgConnection, mentions: &Mentions, schemas: &[String]) -> sqlx::Result<Found> {
    let used = used("$6::oid[]", "$7::oid[]", "$1::oid[]");
    let statement = format!(
        r"
        {used}
        select json_build_object(
            'complete', not exists (select from unnest($1::oid[] || $4::oid[] || $5::oid[]) as o where not exists (select from pg_proc p where p.oid = o))
                and not exists (select from unnest($2::oid[] || $3::oid[]) as o where not exists (select from pg_operator p where p.oid = o))
                and not exists (select from unnest($6::oid[] || $7::oid[]) as o where not exists (select from pg_type p where p.oid = o)),
            'functions', {},
            'relations', {},
            'out_of_reach', ({OUT_OF_REACH}),
            'names', array(select distinct t.typname::text {NAMES_OF_THINGS}),
            'checks', array(select k.conbin::text from used u join pg_constraint k on k.contypid = u.oid and k.contype = 'c'),
            'own', {}
        )
        ",
        list(&functions()),
        list(RELATIONS),
        list(&own_functions()),
    );
    let found: Json<Found> = sqlx::query_scalar(AssertSqlSafe(statement))
        .bind(oids(&mentions.functions))
        .bind(oids(&mentions.operators))
        .bind(oids(&mentions.orders))
        .bind(oids(&mentions.support))
        .bind(oids(&mentions.samplings))
        .bind(oids(&mentions.types))
        .bind(oids(&mentions.made))
        .bind(oids(&mentions.relations))
        .bind(QUERY_ROLE)
        .bind(schemas)
        .bind(NAMES)
        .fetch_one(conn)
        .await?;
    Ok(found.0)
}

/// A function with how it comes to be called.
#[derive(Debug, Deserialize)]
pub(super) struct Called {
    pub by: Use,
    #[serde(flatten)]
    pub facts: FunctionFacts,
    /// The tree of its default arguments.
    pub defaults: Option<String>,
}

/// The functions that an aggregate `a` is made of; zero where it has none.
const PARTS: &str = "array[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
    a.aggminvtransfn, a.aggmfinalfn]::oid[]";

/// Looks up every function that is called, those behind operators and those that aggregates are made of. The planner may
/// turn an operator around, or around a `not`.
fn functions() -> String {
    format!(
        r"
        with operator as (
            select o.oprcode as oid, 'call' as by from pg_operator o where o.oid = any ($2)
            union
            select n.oprcode, 'call' from pg_operator o join pg_operator n on n.oid in (o.oprnegate, o.oprcom)
            where o.oid = any ($2)
        ),
        called as (
            select f as oid, 'call' as by from unnest($1::oid[]) as f
            union select oid, by from operator
            union select o.oprcode, 'order' from pg_operator o where o.oid = any ($3)
            union select f, 'order' from unnest($4::oid[]) as f
            union
            select s.amproc, 'order' from pg_amop a join pg_amproc s on s.amprocfamily = a.amopfamily
            where a.amopopr = any ($2 || $3) and a.amopopr >= 16384
            union select f, 'sampling' from unnest($5::oid[]) as f
        ),
        parts as (
            select part as oid, 'part' as by
            from called c
            join pg_aggregate a on a.aggfnoid = c.oid
            join pg_proc p on p.oid = c.oid and p.pronamespace <> 'pg_catalog'::regnamespace
            cross join lateral unnest({PARTS}) as part
            where part <> 0
        )
        select u.by, {FACTS},
               case when p.pronamespace <> 'pg_catalog'::regnamespace then p.proargdefaults::text end as defaults
        from (select * from called union select * from parts) as u
        join pg_proc p on p.oid = u.oid
        "
    )
}

/// The functions that each of these names may mean, and those that aggregates among them are made of. An attribute of an
/// expression can only be a function of one argument.
pub(super) async fn overloads(
    conn: &mut PgConnection,
    named: &[(FunctionName, bool)],
) -> sqlx::Result<Vec<(FunctionName, Vec<Called>)>> {
    let facts = list(&format!(
        r"
        with overload as (
            select p.oid
            from pg_proc p
            where p.pronamespace = n.oid and p.proname = called.name
              and (not called.attribute or p.pronargs >= 1 and p.pronargs - p.pronargdefaults <= 1)
        )
        select u.by, {FACTS}, null as defaults
        from (
            select oid, 'call' as by from overload
            union
            select part, 'part'
            from overload o
            join pg_aggregate a on a.aggfnoid = o.oid and n.nspname <> 'pg_catalog'
            cross join lateral unnest({PARTS}) as part
        ) as u
        join pg_proc p on p.oid = u.oid
        "
    ));
    let statement = format!(
        r"
        select called.place, {facts}
        from unnest($1::text[], $2::text[], $3::boolean[]) with ordinality as called (schema, name, attribute, place)
        left join pg_namespace n on n.nspname = coalesce(called.schema, 'pg_catalog')
        order by 1
        "
    );
    let found: Vec<(i64, Json<Vec<Called>>)> = sqlx::query_as(AssertSqlSafe(statement))
        .bind(named.iter().map(|(function, _)| function.schema.as_deref()).collect::<Vec<_>>())
        .bind(named.iter().map(|(function, _)| function.name.as_str()).collect::<Vec<_>>())
        .bind(named.iter().map(|(_, attribute)| *attribute).collect::<Vec<_>>())
        .fetch_all(conn)
        .await?;
    Ok(named.iter().zip(found).map(|((function, _), (_, facts))| (function.clone(), facts.0)).collect())
}

/// The functions of added casts that an assignment of these types to those would call.
pub(super) async fn casts(conn: &mut PgConnection, from: &[u32], to: &[u32]) -> sqlx::Result<Vec<FunctionFacts>> {
    let facts = list(&format!(
        r"
        select distinct {FACTS}
        from unnest($1::oid[], $2::oid[]) as a (source, target)
        join pg_type s on s.oid = a.source
        join pg_type t on t.oid = a.target
        join pg_cast c on (c.castsource, c.casttarget) in ((s.oid, t.oid), (s.typelem, t.typelem), (s.typbasetype, t.oid),
                                                           (s.oid, t.typbasetype), (s.typbasetype, t.typbasetype))
        join pg_proc p on p.oid = c.castfunc and p.oid >= {FIRST_ADDED}
        "
    ));
    let statement = AssertSqlSafe(format!("select {facts}"));
    let found: Json<_> = sqlx::query_scalar(statement).bind(oids(from)).bind(oids(to)).fetch_one(conn).await?;
    Ok(found.0)
}

#[derive(Debug, Deserialize)]
pub(super) struct Relation {
    /// As SQL writes it, with its schema.
    pub written: String,
    pub schema: String,
    pub name: String,
    pub kind: String,
    /// Whether the role that executes queries may read it, or some of its columns.
    pub readable: bool,
    /// Whether the views beside it are more than may be read.
    pub too_large: bool,
    pub view: Option<String>,
}

const RELATIONS: &str = r"
    select format('%I.%I', n.nspname, c.relname) as written, n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
           has_any_column_privilege($9, c.oid, 'select') as readable, stored.bytes > 2000000 as too_large,
           case when stored.bytes <= 2000000 then w.ev_action::text end as view
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_rewrite w on w.ev_class = c.oid and c.relkind = 'v' and w.ev_type = '1'
    -- Their trees, as they are stored: some twenty times as much is sent and read.
    cross join (select coalesce(sum(pg_column_size(v.ev_action)), 0) as bytes from pg_rewrite v where v.ev_class = any ($8::oid[])) as stored
    where c.oid = any ($8::oid[])
    order by 2, 3
";

/// Types whose values name relations, functions, roles and the like: a query has no use for them.
const NAMES: &[&str] = &[
    "aclitem",
    "regclass",
    "regcollation",
    "regconfig",
    "regdatabase",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// `used`: these types, those that are made, those that the called aggregates gather in, and whatever they are made of:
/// elements, columns, base types.
fn used(types: &str, made: &str, called: &str) -> String {
    format!(
        r"
        with recursive used as (
            select t as oid, false as made from unnest({types}) as t
            union
            select t, true from unnest({made}) as t
            union
            select a.aggtranstype, true from pg_aggregate a where a.aggfnoid = any ({called})
            union
            select part.oid, u.made
            from used u
            join pg_type t on t.oid = u.oid
            cross join lateral (
                select t.typbasetype as oid where t.typtype = 'd'
                union all select t.typelem where t.typelem <> 0
                union all select r.rngsubtype from pg_range r where t.oid in (r.rngtypid, r.rngmultitypid)
                union all
                select a.atttypid from pg_attribute a
                where t.typtype = 'c' and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
            ) as part
        )
        "
    )
}

const NAMES_OF_THINGS: &str = r"
    from used u
    join pg_type t on t.oid = u.oid
    where u.made and t.typname = any ($11::text[]) and t.typnamespace = 'pg_catalog'::regnamespace
";

/// The functions of added types among `used`.
fn own_functions() -> String {
    format!(
        r"
        with added as (
            select u.oid from used u join pg_type t on t.oid = u.oid and t.typnamespace <> 'pg_catalog'::regnamespace
        )
        select distinct {FACTS}
        from (
            select c.castfunc as oid from pg_cast c where c.castsource in (select oid from added)
                and c.casttarget in ('json'::regtype, 'jsonb'::regtype, 'text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)
            union
            select s.amproc from pg_opclass o join pg_amproc s on s.amprocfamily = o.opcfamily
            where o.opcintype in (select oid from added)
            union
            select r.oprcode
            from pg_opclass o
            join pg_amop s on s.amopfamily = o.opcfamily
            join pg_operator r on r.oid = s.amopopr
            where o.opcintype in (select oid from added)
        ) as own
        join pg_proc p on p.oid = own.oid
        "
    )
}

/// The first of the made types that a query has no business with: it is neither the server's own, nor of a source schema or
/// an extension, nor that of a column which a source schema has. The rows of the server's own tables are out of reach too.
const OUT_OF_REACH: &str = include_str!("catalog/out_of_reach.sql");

/// A type that an untrusted account could change, or replace by another one of the same name.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct Changeable {
    pub name: String,
    pub owner: String,
    /// What they own: nothing where it is the type, or its schema, or the extension that brought it.
    pub schema: Option<String>,
    pub extension: Option<String>,
}

/// The first of these types, or of those that they are made of, that an untrusted account could change. The owner of its
/// schema or its extension can drop it, whichever account owns the type itself, and create another one of the same name.
pub(super) async fn changeable_type(
    conn: &mut PgConnection,
    types: &[u32],
    table: Option<&str>,
) -> sqlx::Result<Option<Changeable>> {
    let statement = format!(
        r"
        {}
        select format_type(t.oid, null) as name, coalesce(o.rolname::text, keeper.owner::text) as owner, keeper.schema, keeper.extension
        from used u
        join pg_type t on t.oid = u.oid
        cross join lateral (
            select t.typowner as owner, null::text as schema, null::text as extension
            union all
            select n.nspowner, n.nspname::text, null from pg_namespace n where n.oid = t.typnamespace
            union all
            select e.extowner, null, e.extname::text
            from pg_depend d
            join pg_extension e on e.oid = d.refobjid
            where d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'
              and (d.classid = 'pg_type'::regclass
                   and d.objid in (t.oid, (select r.rngtypid from pg_range r where r.rngmultitypid = t.oid))
                   or d.classid = 'pg_class'::regclass and d.objid = t.typrelid)
        ) as keeper
        left join pg_roles o on o.oid = keeper.owner
        where t.oid >= 16384 and not (t.typcategory = 'A' and t.typelem <> 0)
          -- The owner of the schema `public` is a role that stands for the database's owner.
          and (o.rolsuper or o.rolname = 'pg_database_owner') is not true
          and not exists (select from pg_database b where b.datname = current_database() and b.datdba = keeper.owner)
          and not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                          where n.nspname = 'analytics' and c.relname = $2 and c.relowner = keeper.owner)
        order by keeper.schema is null and keeper.extension is null desc
        limit 1
        ",
        used("$1::oid[]", "'{}'::oid[]", "'{}'::oid[]"),
    );
    sqlx::query_as(AssertSqlSafe(statement)).bind(oids(types)).bind(table).fetch_optional(conn).await
}
