//! Generated expressions: those that the guard accepts are executed, and only the target may have changed.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vitrina_shared::guard::ParameterTypes;

use crate::scene::{everything, execute, judged, make_outcome, scene, session};

/// How many expressions are tried. `VITRINA_TEST_EXPRESSIONS` makes it more.
const EXPRESSIONS: usize = 1_500;

/// A function, with the types that it takes.
#[derive(Debug, sqlx::FromRow)]
struct Function {
    name: String,
    arguments: Vec<String>,
}

/// A value of a type, or a column that has it.
fn leaf(random: &mut StdRng, type_name: &str) -> String {
    let values: &[&str] = match type_name {
        "text" | "character varying" | "anyelement" | "\"any\"" | "anycompatible" | "name" | "cstring" => {
            &["'a'", "f.title", "'select 1'", "'content.film_work'", "'role'", "null::text"]
        }
        "integer" | "bigint" | "smallint" | "numeric" | "oid" => &["1", "0", "7", "-1"],
        "double precision" | "real" => &["0.5", "0.01"],
        "boolean" => &["true", "false"],
        "timestamp with time zone" | "timestamp without time zone" | "date" => {
            &["f.modified", "now()", "date '2026-01-01'"]
        }
        "interval" => &["interval '1 day'"],
        "json" | "jsonb" => &["'{\"a\": [1, 2]}'", "'[]'"],
        "text[]" | "anyarray" | "anycompatiblearray" => &["array['a', 'b']", "'{role}'::text[]"],
        "uuid" => &["f.id", "gen_random_uuid()"],
        "regclass" => &["'content.film_work'", "'private.secrets'"],
        "bytea" => &["'\\x00'", "convert_to('a', 'UTF8')"],
        "tsquery" => &["'a & b'"],
        "tsvector" => &["'a b'", "to_tsvector('english', f.title)"],
        "xml" => &["'<a/>'"],
        _ => &["null", "'1'", "'a'"],
    };
    let value = values[random.random_range(0..values.len())];
    match type_name {
        "integer" | "bigint" | "numeric" | "oid" | "json" | "jsonb" | "regclass" | "bytea" | "tsquery" | "tsvector"
        | "xml" => {
            format!("{value}::{type_name}")
        }
        _ => value.to_owned(),
    }
}

/// A call, written in one of the ways that PostgreSQL knows.
fn expression(random: &mut StdRng, functions: &[Function], depth: u32) -> String {
    let function = &functions[random.random_range(0..functions.len())];
    let arguments: Vec<String> = function
        .arguments
        .iter()
        .map(|argument| match depth > 0 && random.random_range(0..3) == 0 {
            true => format!("({})", expression(random, functions, depth - 1)),
            false => leaf(random, argument),
        })
        .collect();
    match (arguments.as_slice(), random.random_range(0..4)) {
        ([only], 0) => format!("({only}).{}", function.name),
        (_, 1) => format!("pg_catalog.\"{}\"({})", function.name, arguments.join(", ")),
        _ => format!("{}({})", function.name, arguments.join(", ")),
    }
}

fn query(random: &mut StdRng, functions: &[Function]) -> String {
    let call = expression(random, functions, 2);
    match random.random_range(0..6) {
        0 => format!("select f.id, x from content.film_work f, lateral {call} as x"),
        1 => format!("select f.id from content.film_work f where {call} is not null"),
        2 => format!("select f.id, ({call})::text as x from content.film_work f order by {call}"),
        3 => format!("with x as (select f.id, {call} as y from content.film_work f) select id, y::text as y from x"),
        _ => format!("select f.id, ({call})::text as x from content.film_work f"),
    }
}

#[tokio::test]
async fn whatever_is_accepted_changes_nothing_but_the_target() {
    let db = scene().await;
    make_outcome(&db).await;
    let functions: Vec<Function> = sqlx::query_as(
        r"
        select p.proname::text as name, array(
                   select format_type(a.type, null) from unnest(p.proargtypes::oid[]) with ordinality as a (type, place)
                   order by a.place) as arguments
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.pronargs between 0 and 3
          and not 'internal'::regtype = any (p.proargtypes::oid[])
        order by p.oid
        ",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    let wanted = std::env::var("VITRINA_TEST_EXPRESSIONS").ok().and_then(|count| count.parse().ok());
    let seed = std::env::var("VITRINA_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20261116);
    let mut random = StdRng::seed_from_u64(seed);
    let mut conn = db.pool().acquire().await.unwrap();
    sqlx::raw_sql("set statement_timeout = '1s'; set lock_timeout = '200ms'").execute(&mut *conn).await.unwrap();
    execute(&mut conn, "select 1 as one").await.unwrap();
    let (before, settings) = (everything(db.admin()).await, session(&mut conn).await);
    let types = ParameterTypes { key: "text".to_owned(), id: "text".to_owned() };
    let mut executed = 0;
    for _ in 0..wanted.unwrap_or(EXPRESSIONS) {
        let sql = query(&mut random, &functions);
        let Ok(query) = judged(&mut conn, &sql).await else { continue };
        executed += usize::from(execute(&mut conn, &query.render(&types)).await.is_ok());
        assert!(session(&mut conn).await == settings, "the session is another after {sql}");
        assert!(everything(db.admin()).await == before, "something has changed after {sql}");
    }
    assert!(executed > 20, "only {executed} expressions were executed: nothing was tried");
    let others: i64 = sqlx::query_scalar("select count(*) from analytics.outcome where who <> 'vitrina_query'")
        .fetch_one(db.admin())
        .await
        .unwrap();
    assert_eq!(others, 0, "another role has executed a query");
}
