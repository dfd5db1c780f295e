//! The SQL guard: what each layer refuses by itself, and what passes all of them.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use vitrina_shared::config::DatabaseConfig;
use vitrina_shared::database::{self, LastingPool};
use vitrina_shared::domain::{PipelineDraft, SourceColumn};
use vitrina_shared::guard::{
    self, Describing, GuardError, MAX_QUERY_BYTES, ParameterTypes, Placeholder, QUERY_ROLE, QueryLimits, Refusal,
    SourceQuery, SourceSchemas,
};
use vitrina_shared::testing::TestDatabase;
use vitrina_shared::validation;

/// Texts that layer 1 refuses, each with a telling part of the reason.
const UNREADABLE: &[(&str, &str)] = &[
    // not one statement
    ("", "empty"),
    (" -- nothing\n /* at all */ ; ", "empty"),
    ("select 1; select 2", "one statement"),
    ("select 1; drop table content.film_work", "one statement"),
    ("select 1;; select 2", "one statement"),
    ("; select 1", "starts with ;"),
    ("select 1; -- \n delete from content.film_work", "one statement"),
    ("select ';'; select ';'", "one statement"),
    ("select $$;$$; commit", "one statement"),
    ("select 1\0", "NUL"),
    ("select", "cannot be read"),
    ("select from where", "where needs its schema"),
    ("select 'abc", "cannot be read"),
    ("select /* 1", "cannot be read"),
    ("select /* /* */ 1", "cannot be read"),
    ("select $q$ 1 $Q$", "cannot be read"),
    ("select (1", "cannot be read"),
    ("select \"id from content.film_work", "cannot be read"),
    ("select {1}", "has no place"),
    ("select 1 \\ 2", "has no place"),
    // not a select
    ("insert into content.film_work (title) values ('x')", "starts with insert"),
    ("UPDATE content.film_work SET title = ''", "starts with UPDATE"),
    ("delete from content.film_work", "starts with delete"),
    ("merge into content.film_work f using content.genre g on true when matched then delete", "starts with merge"),
    ("copy content.film_work to program 'id'", "starts with copy"),
    ("copy (select 1) to '/tmp/x'", "starts with copy"),
    ("select 0x1F as n", "hexadecimal literals"),
    ("select x'1F' as bits", "hexadecimal literals"),
    ("do $$ begin perform 1; end $$", "starts with do"),
    ("call content.refresh()", "starts with call"),
    ("explain analyze select 1", "starts with explain"),
    ("set role postgres", "starts with set"),
    ("reset role", "starts with reset"),
    ("begin", "starts with begin"),
    ("listen vitrina_events", "starts with listen"),
    ("prepare p as select 1", "starts with prepare"),
    ("execute p", "starts with execute"),
    ("declare c cursor for select 1", "starts with declare"),
    ("create table content.x as select 1", "starts with create"),
    ("truncate content.film_work", "starts with truncate"),
    ("grant all on content.film_work to public", "starts with grant"),
    ("show all", "starts with show"),
    ("table content.film_work", "instead of TABLE"),
    ("(table content.film_work)", "instead of TABLE"),
    ("select id from content.film_work union table etl.etl_pipelines", "instead of TABLE"),
    ("with t as (table etl.etl_pipelines) select * from t", "instead of TABLE"),
    ("from content.film_work", "starts with from"),
    // a select that writes or locks
    ("with x as (insert into content.genre (name) values ('x') returning id) select * from x", "only reads"),
    ("with x as (update content.genre set name = '' returning id) select * from x", "only reads"),
    ("with x as (delete from content.genre returning id) select * from x", "only reads"),
    ("with x as not materialized (delete from content.genre returning 1) select 1", "only reads"),
    ("with a as (with b as (delete from content.genre returning id) select id from b) select * from a", "only reads"),
    ("select * from (with b as (delete from content.genre returning id) select id from b) q", "only reads"),
    ("select (with b as (delete from content.genre returning 1) select 1)", "only reads"),
    ("with x as (select 1) insert into content.genre (name) select 'x'", "only reads"),
    ("with x as (select 1) delete from content.genre", "only reads"),
    ("select * into content.copy from content.film_work", "INTO"),
    ("select id INTO TEMP t from content.film_work", "INTO"),
    ("with a as (select 1 into content.x) select 1", "INTO"),
    ("select id from content.film_work for update", "row locks"),
    ("select id from content.film_work for share skip locked", "row locks"),
    ("select id from content.film_work for no key update", "row locks"),
    ("select id from content.film_work FOR/**/KEY SHARE", "row locks"),
    ("select id from (select id from content.film_work for update) q", "row locks"),
    // other relations
    ("select id from film_work", "write content.film_work"),
    ("select * from etl.etl_pipelines", "etl.etl_pipelines is out of reach"),
    ("select * from ETL.etl_pipelines", "out of reach"),
    ("select * from \"etl\".\"etl_pipelines\"", "out of reach"),
    ("select * from \"Content\".film_work", "out of reach"),
    ("select * from content.film_work, apalis.jobs", "out of reach"),
    ("select * from content.film_work where id in (select id from etl.etl_pipelines)", "out of reach"),
    ("select * from content.film_work f join lateral (select 1 from etl.etl_runs) q on true", "out of reach"),
    ("select (select count(*) from etl.etl_pipelines)", "out of reach"),
    ("select array(select name from etl.etl_pipelines)", "out of reach"),
    ("select 1 where exists (select from etl.etl_pipelines)", "out of reach"),
    ("select 1 order by (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select 1 limit (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select sum(1) over (order by (select 1 from etl.etl_pipelines))", "out of reach"),
    ("select count(*) filter (where exists (select from etl.etl_pipelines))", "out of reach"),
    ("values ((select name from etl.etl_pipelines))", "out of reach"),
    ("select 1 union all (select 1 from etl.etl_pipelines)", "out of reach"),
    ("select * from (content.film_work f cross join etl.etl_pipelines p)", "out of reach"),
    ("select * from pg_catalog.pg_authid", "out of reach"),
    ("select * from pg_class", "needs its schema"),
    ("select * from information_schema.tables", "out of reach"),
    ("select * from pg_temp.film_work", "out of reach"),
    ("select * from vitrina.content.film_work", "out of reach"),
    ("select * from \"content.film_work\"", "needs its schema"),
    ("with a as (select 1) select * from \"A\"", "needs its schema"),
    ("with \"A\" as (select 1) select * from A", "needs its schema"),
    ("with a as (select * from a) select * from a", "a needs its schema"),
    ("with a as (select * from b), b as (select 1) select * from a", "b needs its schema"),
    ("select * from (with a as (select 1) select * from a) q, a", "a needs its schema"),
    ("(with pg_class as (select 1) select 1) union all select 1 from pg_class", "needs its schema"),
    ("with x as (with y as (select 1) select * from y) select * from y", "y needs its schema"),
    ("select * from unpivot content.film_work as v at k", "cannot"),
    // other functions and operators
    ("select public.dblink('dbname=x', 'select 1')", "public.dblink is out of reach"),
    ("select * from etl.secrets()", "etl.secrets is out of reach"),
    ("select vitrina.pg_catalog.now()", "out of reach"),
    ("select \"public\" . \"f\" (1)", "out of reach"),
    ("select 1 operator(public.+) 1", "OPERATOR"),
    // escapes in names, parameters
    ("select * from U&\"\\0065tl\".etl_pipelines", "Unicode escapes"),
    ("select U&'\\0041'", "Unicode escapes"),
    ("select u&\"d!0061ta\" uescape '!'", "Unicode escapes"),
    ("select $1", "$1 is not a parameter"),
    ("select id from content.film_work where id > $2::uuid", "$2 is not a parameter"),
    ("select id from content.film_work where id > :last", ":after_key, :after_id, :upper, :limit"),
    ("select :\"limit\"", "without spaces and quotes"),
    // read one way by us and another by the server, were it sent as it is
    ("select 1 <>-- ' \n , pg_sleep(9) -- '", "space before the comment"),
    ("select 1 #/* */ 1", "space before the comment"),
    ("select 1L", "has no place"),
    ("select E'a'\n'\\' || 1 || ''", "cannot be read"),
    ("select * from rows from (pg_sleep(1)) s", "cannot be read"),
];

fn schemas() -> SourceSchemas {
    SourceSchemas::new(["content", "ugc"])
}

fn parse(sql: &str) -> Result<SourceQuery, Refusal> {
    guard::parse(sql, &schemas())
}

#[test]
fn layer_1_refuses_everything_but_one_select_over_the_source_schemas() {
    for (sql, reason) in UNREADABLE {
        let refusal = parse(sql).map(|_| ()).expect_err(sql).to_string();
        assert!(refusal.contains(reason), "{sql}\n  said: {refusal}\n  not:  {reason}");
    }
}

#[test]
fn a_megabyte_is_refused_unread() {
    let sql = format!("select '{}'", "x".repeat(1 << 20));
    assert_eq!(parse(&sql).unwrap_err(), Refusal::TooLong { bytes: sql.len() });
    let fits = format!("select '{}'", "x".repeat(MAX_QUERY_BYTES - 9));
    assert!(parse(&fits).is_ok());
}

#[test]
fn deep_nesting_is_refused_and_costs_neither_the_stack_nor_the_day() {
    let nested = |open: &str, core: &str, close: &str, depth| {
        format!("select * from {}{core}{}", open.repeat(depth), close.repeat(depth))
    };
    let deep = [
        nested("(", "content.film_work", ")", 10_000),
        nested("(select * from ", "content.film_work", ") q", 2_000),
        nested("content.film_work where id in (select id from ", "content.genre", ")", 800),
        format!("select {}1{}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("select {}1", "(".repeat(60_000)),
        format!("select {}1{}", "abs(".repeat(10_000), ")".repeat(10_000)),
        format!("select {}1{}", "array[".repeat(9_000), "]".repeat(9_000)),
        format!("select {}1", "- ".repeat(30_000)),
        format!("select {}true", "not ".repeat(15_000)),
        format!("select {}1 {}", "case when true then ".repeat(2_500), "end ".repeat(2_500)),
        format!("select 1{}", "+1".repeat(30_000)),
        format!("select true{}", " and true".repeat(7_000)),
        format!("select 1{}", "::int".repeat(13_000)),
        format!("select a{}", "[1]".repeat(20_000)),
        format!("select 1{}", " union select 1".repeat(4_000)),
        format!("select 1{}", " is null".repeat(8_000)),
        format!("with {}", "a as (with ".repeat(5_000)),
    ];
    for sql in deep {
        let refusal = parse(&sql).map(|_| ()).unwrap_err();
        assert_eq!(refusal, Refusal::TooComplex, "{}", &sql[..60]);
    }
}

#[test]
fn what_is_nested_or_long_within_reason_is_read() {
    let ids = (0..9_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert!(parse(&format!("select 1 where 1 in ({ids})")).is_ok());
    let brackets =
        format!("select * from {}content.film_work f{}", "(".repeat(20), " cross join ugc.ratings)".repeat(20));
    assert!(parse(&brackets).is_ok());
    assert!(parse(&format!("select 1{}", "+1".repeat(1_900))).is_ok());
}

#[test]
fn names_that_postgresql_would_cut_are_refused() {
    let name = "n".repeat(64);
    let refusal = parse(&format!("with {name} as (select 1) select * from {name}")).unwrap_err();
    assert_eq!(refusal, Refusal::NameTooLong { name });
}

#[test]
fn system_schemas_stay_closed_even_when_configured() {
    let schemas = SourceSchemas::new(["pg_catalog", "information_schema"]);
    assert!(guard::parse("select * from pg_catalog.pg_authid", &schemas).is_err());
    assert!(guard::parse("select * from information_schema.tables", &schemas).is_err());
}

#[test]
fn placeholders_become_numbered_parameters_with_types() {
    let types = ParameterTypes { key: "timestamp with time zone".to_owned(), id: "uuid".to_owned() };
    let cases = [
        ("select 1 limit :limit;", "select 1 limit ($4::bigint)"),
        ("values(:AFTER_ID)", "values ( ($2::uuid) )"),
        (
            "select 1 where (:after_key) is null or :upper > :after_key",
            "select 1 where ( ($1::timestamp with time zone) ) is null \
             or ($3::timestamp with time zone) > ($1::timestamp with time zone)",
        ),
        ("select ':limit', $$:limit$$ -- :limit\n /* :limit */", "select ':limit' , ':limit'"),
        ("select ('{1,2}'::int[])[1:limit]", "select ( '{1,2}' :: int [ ] ) [ 1 : limit ]"),
        ("select '1'::upper", "select '1' :: upper"),
    ];
    for (sql, expected) in cases {
        assert_eq!(parse(sql).unwrap().render(&types), expected);
    }
    let used = parse("select 1 where 1 > :upper limit :limit").unwrap().placeholders();
    assert!(used.into_iter().eq([Placeholder::Upper, Placeholder::Limit]));
}

/// A lexer that is fooled by these sees a call where there is a string, or the other way round.
#[test]
fn the_server_gets_our_reading_and_not_the_text() {
    let types = ParameterTypes { key: "int".to_owned(), id: "int".to_owned() };
    let cases = [
        (r"select E'\'' || pg_sleep(1) || ''", "select '''' || pg_sleep ( 1 ) || ''"),
        (r"select '\' || ' || pg_sleep(1) || '", r"select '\' || ' || pg_sleep(1) || '"),
        ("select 1 /* /* */ ' */ -- ' \n , 2", "select 1\n, 2"),
        ("select $a$ ' $b$ $a$, $$--$$", "select ' '' $b$ ' , '--'"),
        ("select a$b$, 1 as x$", "select a$b$ , 1 as x$"),
        ("select 1 &>' ' || pg_sleep(9) --'", "select 1 &> ' || pg_sleep(9) --'"),
        ("select\u{c}1\u{b}as\ta\r\n", "select 1 as a"),
        ("select 1--2\r, 2", "select 1 , 2"),
        (
            "select \"a\"\"; drop table x --\" from content.film_work",
            "select \"a\"\"; drop table x --\" from content . film_work",
        ),
    ];
    for (sql, expected) in cases {
        match parse(sql) {
            Ok(query) => assert_eq!(query.render(&types), expected),
            Err(refusal) => panic!("{sql}: {refusal}"),
        }
    }
}

/// A small cinema with everything that a query might want to misuse.
async fn cinema() -> TestDatabase {
    let db = TestDatabase::create().await;
    sqlx::raw_sql(
        r"
        create schema if not exists content;
        create schema if not exists ugc;
        create table content.film_work (
            id uuid primary key, title text not null, rating numeric(3, 1), tags text[], payload jsonb,
            created date, modified timestamptz not null
        );
        create table content.genre (id uuid primary key, name text not null);
        create table ugc.ratings (film_id uuid not null, score int not null, modified timestamptz not null);
        create view content.fresh as select id, title from content.film_work;
        create sequence content.numbers;
        create function content.stars(score int) returns text immutable language sql as $$ select repeat('*', score) $$;
        create function content.forget() returns int language sql as $$ delete from content.genre; select 1 $$;
        create function content.peek() returns bigint stable security definer language sql
            as $$ select count(*) from etl.etl_pipelines $$;
        create function content.keep(int, int) returns int language sql as $$ select 1 $$;
        create aggregate content.keeper(int) (sfunc = content.keep, stype = int);
        grant usage on schema content, ugc to vitrina_query;
        grant select on all tables in schema content, ugc to vitrina_query;
        ",
    )
    .execute(db.admin())
    .await
    .unwrap();
    db
}

async fn functions_allow(conn: &mut PgConnection, sql: &str) -> Result<(), GuardError> {
    guard::check_functions(conn, &parse(sql)?, &schemas()).await
}

/// Calls that layer 2 refuses, each with a telling part of the reason.
const WRONG_CALLS: &[(&str, &str)] = &[
    ("select pg_sleep(10)", "pg_sleep is volatile"),
    ("select pg_catalog.pg_sleep(10)", "pg_sleep"),
    ("select PG_SLEEP (10)", "pg_sleep"),
    ("select \"pg_sleep\"(10)", "pg_sleep"),
    ("select pg_sleep/* no */(10)", "pg_sleep"),
    ("select * from pg_sleep(10)", "pg_sleep"),
    ("select * from content.film_work f, lateral pg_sleep(1) s", "pg_sleep"),
    ("select 1 where (select pg_sleep(1)) is null", "pg_sleep"),
    ("select E'\\'', pg_sleep(10), E'\\''", "pg_sleep"),
    ("with pg_sleep(x) as (select 1) select x from pg_sleep", "pg_sleep"),
    ("select count(*) filter (where pg_sleep(1) is null)", "pg_sleep"),
    ("select 1 order by pg_sleep(1)", "pg_sleep"),
    ("select array[pg_sleep(1)]", "pg_sleep"),
    ("select cast(pg_sleep(1) as text)", "pg_sleep"),
    ("select case when true then pg_sleep(1)::text end", "pg_sleep"),
    ("select set_config('role', 'postgres', false)", "set_config"),
    ("select current_setting('is_superuser')", "current_setting"),
    ("select nextval('content.numbers')", "nextval is volatile"),
    ("select setval('content.numbers', 1)", "setval is volatile"),
    ("select currval('content.numbers')", "currval is volatile"),
    ("select setseed(0.5)", "setseed is volatile"),
    ("select pg_read_file('/etc/passwd')", "pg_read_file"),
    ("select pg_read_binary_file('/etc/passwd')", "pg_read_binary_file"),
    ("select * from pg_ls_dir('/')", "pg_ls_dir"),
    ("select lo_import('/etc/passwd')", "lo_import"),
    ("select lo_export(1, '/tmp/x')", "lo_export"),
    ("select lo_create(0)", "lo_create"),
    ("select loread(1, 1)", "loread is volatile"),
    ("select lowrite(1, '')", "lowrite is volatile"),
    ("select pg_terminate_backend(1)", "pg_terminate_backend"),
    ("select pg_notify('vitrina_events', '1')", "pg_notify"),
    ("select pg_advisory_lock(1)", "pg_advisory_lock"),
    ("select pg_reload_conf()", "pg_reload_conf"),
    ("select * from pg_stat_get_activity(null)", "pg_stat_get_activity"),
    ("select pg_get_viewdef('content.fresh')", "pg_get_viewdef"),
    ("select query_to_xml('select 1', true, true, '')", "query_to_xml"),
    ("select table_to_xml('etl.etl_pipelines', true, true, '')", "table_to_xml"),
    ("select schema_to_xmlschema('etl', true, true, '')", "schema_to_xmlschema"),
    ("select database_to_xml_and_xmlschema(true, true, '')", "database_to_xml_and_xmlschema"),
    ("select cursor_to_xml('c', 1, true, true, '')", "cursor_to_xml"),
    ("select * from ts_stat('select 1')", "ts_stat is volatile"),
    ("select txid_current()", "txid_current"),
    ("select content.forget()", "content.forget is volatile"),
    ("select CONTENT . \"forget\" ()", "content.forget is volatile"),
    ("select * from content.forget() as f(x)", "content.forget is volatile"),
    ("select content.keeper(score) from ugc.ratings", "content.keep is volatile"),
    ("select content.peek()", "rights of its owner"),
    ("select content.nothing()", "content.nothing does not exist"),
    ("select pg_catalog.nothing()", "pg_catalog.nothing does not exist"),
];

#[tokio::test]
async fn layer_2_refuses_functions_that_do_more_than_compute() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    for (sql, reason) in WRONG_CALLS {
        let refusal = functions_allow(&mut conn, sql).await.expect_err(sql).to_string();
        assert!(refusal.contains(reason), "{sql}\n  said: {refusal}\n  not:  {reason}");
    }
}

async fn described(conn: &mut PgConnection, sql: &str) -> Result<Vec<SourceColumn>, GuardError> {
    let walk = (Some("modified"), Some("id"));
    let described = guard::describe(conn, &parse(sql)?, walk, &schemas(), &QueryLimits::default()).await?;
    Ok(described.columns)
}

/// Queries that only the server can refuse, each with a telling part of the reason.
const WRONG_FOR_THE_SERVER: &[(&str, &str)] = &[
    ("select id,\n  titel from content.film_work", "column \"titel\" does not exist (line 2, column 3)"),
    ("select '''', /* ' */ x from content.film_work", "column \"x\" does not exist (line 1, column 22)"),
    ("select * from content.nothing", "relation \"content.nothing\" does not exist"),
    ("select id from content.film_work f, content.genre g", "\"id\" is ambiguous"),
    ("select dance(1)", "function dance(integer) does not exist"),
    ("select stars(1)", "function stars(integer) does not exist"),
    ("select title + 1 from content.film_work", "operator does not exist"),
    ("select title from content.film_work group by id, created having", "cannot be read"),
    ("select rating, count(*) from content.film_work", "must appear in the GROUP BY"),
    ("select 'x'::int", "invalid input syntax"),
    ("select 1::nothing", "type \"nothing\" does not exist"),
    ("select from content.film_work", "returns no columns"),
    ("select f.id, r.film_id as id from content.film_work f, ugc.ratings r", "two columns named id"),
    ("select * from ugc.secrets", "vitrina_query cannot read ugc.secrets"),
];

#[tokio::test]
async fn the_server_refuses_what_it_cannot_run_and_says_where() {
    let db = cinema().await;
    let secrets = "create table ugc.secrets (id int); revoke all on ugc.secrets from vitrina_query";
    sqlx::raw_sql(secrets).execute(db.admin()).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    for (sql, reason) in WRONG_FOR_THE_SERVER {
        let error = described(&mut conn, sql).await.expect_err(sql);
        let GuardError::Refused(refusal) = error else { panic!("{sql}: {error:?}") };
        let said = refusal.to_string();
        assert!(said.contains(reason), "{sql}\n  said: {said}\n  not:  {reason}");
    }
}

/// What people really write.
const HONEST: &[&str] = &[
    "select id, title, modified from content.film_work",
    "SELECT ID, Title FROM Content.Film_Work;",
    "select \"id\", \"title\" as \"Заголовок\" from \"content\".\"film_work\" ; -- all of them",
    "/* the films /* with a nested note */ */ select f.* from content.film_work as f",
    "values (1, 'a'), (2, 'b')",
    "select 1 as one, null as nothing, now() as at, current_date as today, current_timestamp as instant",
    "select title || ' (' || coalesce(rating::text, '-') || ')' as label from content.film_work where rating >= 7.5",
    "with top as (select id, rating from content.film_work order by rating desc nulls last limit 10) select * from top",
    "with a as (select 1 as x), b as (select x + 1 as x from a) select a.x as ax, b.x as bx from a, b",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 10) select i from n",
    "with a as materialized (select 1 as x) select * from (with a as (select x from a) select * from a) q",
    "select film_id, avg(score)::numeric(4, 2) as rating, count(*) as votes from ugc.ratings group by film_id having count(*) > 2",
    "select film_id, score, row_number() over (partition by film_id order by modified desc) as place from ugc.ratings",
    "select film_id, sum(score) over w as total from ugc.ratings window w as (partition by film_id rows unbounded preceding)",
    "select f.id, best.score from content.film_work f cross join lateral \
     (select r.score from ugc.ratings r where r.film_id = f.id order by r.score desc limit 1) best",
    "select f.id, r.score from content.film_work f left join ugc.ratings r on r.film_id = f.id",
    "select f.id from content.film_work f join ugc.ratings r on (r.film_id = f.id) group by f.id",
    "select day from generate_series('2024-01-01'::date, '2024-02-01', '1 day') as days(day)",
    "select * from generate_series(1, 3) with ordinality as g(n, position)",
    "select payload ->> 'country' as country, payload #>> '{a,b}' as deep, payload @> '{\"a\": 1}' as has, payload ? 'k' as k \
     from content.film_work",
    "select jsonb_build_object('id', id, 'tags', to_jsonb(tags)) as doc from content.film_work",
    "select key, value from content.film_work, jsonb_each(payload)",
    "select id, tag from content.film_work, unnest(tags) as tag",
    "select id, tags[1:2] as head, array_length(tags, 1) as n from content.film_work where 'drama' = any(tags)",
    "select array_agg(name order by name) as names, string_agg(distinct name, ', ') as list from content.genre",
    "select count(*) filter (where rating > 8) as good, percentile_cont(0.5) within group (order by rating) as median \
     from content.film_work",
    "select extract(year from created) as y, date_trunc('month', modified) as m, created + interval '1 day' as next, \
     modified at time zone 'UTC' as utc from content.film_work",
    "select case when rating > 8 then 'A' when rating is null then '?' else 'B' end as class from content.film_work",
    "select substring(title from 1 for 3) as s, position('a' in title) as p, trim(both ' ' from title) as t, \
     overlay(title placing 'x' from 1 for 1) as o, upper(left(title, 1)) as u from content.film_work",
    "select id from content.film_work where title ilike 'a%' and title ~* '^a' and id not in (select film_id from ugc.ratings)",
    "select distinct on (film_id) film_id, score from ugc.ratings order by film_id, modified desc",
    "select id from content.film_work union all select film_id from ugc.ratings order by 1 limit 5 offset 1",
    "select id from content.film_work except select film_id from ugc.ratings",
    "select score, modified::date as day, count(*) as n from ugc.ratings group by rollup (score, day)",
    "select content.stars(score) as stars from ugc.ratings",
    "select id, title from content.fresh",
    "select random() as r, gen_random_uuid() as id, clock_timestamp() as t, pg_catalog.lower('A') as a",
    "select id from content.film_work tablesample bernoulli (10)",
    "select md5(title) as hash, pg_typeof(rating)::text as kind, greatest(1, 2) as g, nullif(title, '') as t from content.film_work",
    "select E'it\\'s\\n' as a, 'it''s -- no; comment' as b, $x$ $$ ; $x$ as c, b'101' as d",
    "select (f).title, row_to_json(f) as doc, f.row_to_json as again from content.film_work f",
    "select exists (select 1 from ugc.ratings r where r.film_id = f.id) as rated, array(select name from content.genre) as g \
     from content.film_work f",
    "select f.id, f.modified from content.film_work f where (f.modified, f.id) > (:after_key, :after_id) \
     and f.modified <= :upper order by f.modified, f.id limit :limit",
    "with changed as (select film_id, max(modified) as modified from ugc.ratings where modified > :after_key \
     and modified < :upper::timestamptz group by film_id order by 2, 1 limit :limit) \
     select c.film_id, avg(r.score) as rating, c.modified from changed c join ugc.ratings r using (film_id) group by 1, 3",
];

#[tokio::test]
async fn honest_queries_pass_every_layer() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    for sql in HONEST {
        if let Err(error) = functions_allow(&mut conn, sql).await {
            panic!("{sql}: {error}");
        }
        match described(&mut conn, sql).await {
            Ok(columns) => assert!(!columns.is_empty()),
            Err(error) => panic!("{sql}: {error} {error:?}"),
        }
    }
}

#[tokio::test]
async fn a_description_names_types_and_knows_what_may_be_null() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let sql = "select id, rating, tags, modified, 1 as one from content.film_work";
    let facts = |columns: Vec<SourceColumn>| -> Vec<(String, String, Option<bool>)> {
        columns.into_iter().map(|column| (column.name, column.type_name, column.nullable)).collect()
    };
    let expected = [
        ("id", "uuid", Some(false)),
        ("rating", "numeric", Some(true)),
        ("tags", "text[]", Some(true)),
        ("modified", "timestamp with time zone", Some(false)),
        ("one", "integer", None),
    ];
    let expected = expected.map(|(name, kind, nullable)| (name.to_owned(), kind.to_owned(), nullable));
    assert_eq!(facts(described(&mut conn, sql).await.unwrap()), expected);

    let unknown = [
        "select id from content.fresh",
        "select r.film_id from content.film_work f left join ugc.ratings r on r.film_id = f.id",
    ];
    for sql in unknown {
        assert_eq!(described(&mut conn, sql).await.unwrap()[0].nullable, None, "{sql}");
    }
}

#[tokio::test]
async fn a_description_is_never_older_than_the_table() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let sql = "select rating from content.film_work";
    assert_eq!(described(&mut conn, sql).await.unwrap()[0].type_name, "numeric");
    sqlx::raw_sql("alter table content.film_work alter rating type float8").execute(db.admin()).await.unwrap();
    assert_eq!(described(&mut conn, sql).await.unwrap()[0].type_name, "double precision");
}

#[tokio::test]
async fn a_rendered_query_runs_inside_other_sql_with_its_four_parameters() {
    let db = cinema().await;
    let types = ParameterTypes { key: "integer".to_owned(), id: "integer".to_owned() };
    let query =
        parse("select n from generate_series(1, 9) as g(n) where n > :after_key limit :limit; -- a page").unwrap();
    let sql = format!("select array_agg(n) from ({}) page", query.render(&types));
    let page: Vec<i32> = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(4_i32)
        .bind(None::<i32>)
        .bind(None::<i32>)
        .bind(3_i64)
        .fetch_one(db.pool())
        .await
        .unwrap();
    assert_eq!(page, [5, 6, 7]);
}

#[tokio::test]
async fn a_connection_is_itself_again_after_a_description() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let state =
        "select concat_ws(' ', current_user, current_setting('search_path'), current_setting('statement_timeout'))";
    let before: String = sqlx::query_scalar(state).fetch_one(&mut *conn).await.unwrap();
    described(&mut conn, "select id from content.film_work").await.unwrap();
    described(&mut conn, "select nothing from content.film_work").await.unwrap_err();
    let after: String = sqlx::query_scalar(state).fetch_one(&mut *conn).await.unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_locked_table_is_the_servers_trouble_and_not_the_querys_fault() {
    let db = cinema().await;
    let mut holder = db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table content.film_work").execute(&mut *holder).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    let limits = QueryLimits { lock: std::time::Duration::from_millis(50), ..QueryLimits::default() };
    let query = parse("select id from content.film_work").unwrap();
    let error = guard::describe(&mut conn, &query, (None, None), &schemas(), &limits).await.unwrap_err();
    assert!(matches!(error, GuardError::Database(_)), "{error:?}");
    holder.rollback().await.unwrap();
    guard::describe(&mut conn, &query, (None, None), &schemas(), &limits).await.unwrap();
}

/// Statements that must fail under the role alone, in a transaction that may write.
///
/// A role cannot stop everything: `lo_create`, `pg_notify` and `pg_advisory_lock` ask for no right (layer 2 refuses them), and
/// `set role` leads back to the account that connected (layer 1 refuses the statement, layer 2 `set_config`).
const WRITES: &[&str] = &[
    "insert into content.genre (id, name) values (gen_random_uuid(), 'x')",
    "with x as (insert into content.genre (id, name) values (gen_random_uuid(), 'x') returning id) select * from x",
    "update content.film_work set title = 'x'",
    "delete from ugc.ratings",
    "merge into content.genre g using ugc.ratings r on true when matched then delete",
    "truncate content.film_work",
    "select id from content.film_work for update",
    "select id from content.film_work for key share",
    "select * into content.copy from content.film_work",
    "create table content.copy (id int)",
    "create table public.copy (id int)",
    "create schema copy",
    "create view ugc.v as select 1 as x",
    "create function public.f() returns int language sql as 'select 1'",
    "create index on content.film_work (title)",
    "alter table content.film_work add x int",
    "drop table content.film_work",
    "drop schema content cascade",
    "comment on table content.film_work is 'x'",
    "grant insert on etl.etl_pipelines to vitrina_query",
    "create role intruder superuser",
    "alter role vitrina_query superuser",
    "insert into etl.etl_pipelines default values",
    "delete from etl.etl_pipelines",
    "select * from etl.etl_pipelines",
    "select nextval('content.numbers')",
    "select setval('content.numbers', 1)",
    "select content.forget()",
    "copy content.genre from program 'echo'",
    "copy content.genre to '/tmp/vitrina-guard'",
    "select lo_import('/etc/passwd')",
    "select lo_export(1, '/tmp/vitrina-guard')",
    "select pg_read_file('/etc/passwd')",
    "select pg_reload_conf()",
    "lock table content.film_work in exclusive mode",
];

#[tokio::test]
async fn without_the_parser_the_role_alone_stops_every_write() {
    let db = cinema().await;
    let mut conn = db.admin().acquire().await.unwrap();
    for sql in WRITES {
        let mut tx = sqlx::Connection::begin(&mut *conn).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("set local role {QUERY_ROLE}"))).execute(&mut *tx).await.unwrap();
        let error = sqlx::raw_sql(*sql).execute(&mut *tx).await.expect_err(sql);
        let code = error.as_database_error().and_then(|error| error.code().map(String::from));
        assert_eq!(code.as_deref(), Some("42501"), "{sql}: {error}");
        tx.rollback().await.unwrap();
    }
}

/// A text made of what means something to a lexer.
fn sql_soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "select",
        "with",
        "a",
        "as",
        "(",
        ")",
        "from",
        "content.film_work",
        ",",
        "'",
        "\"",
        "$$",
        "$x$",
        "--",
        "/*",
        "*/",
        "\n",
        " ",
        ";",
        "E'",
        "U&\"",
        "\\",
        ":",
        "::",
        ":limit",
        "[",
        "]",
        "1",
        ".",
        "1e",
        "0x",
        "_",
        "&>",
        "<",
        "|",
        "-",
        "?",
        "@",
        "for update",
        "into",
        "insert",
        "values",
        "union",
        "case",
        "when",
        "end",
        "interval",
        "é",
        "\u{a0}",
        "\0",
        "{",
        "join",
        "lateral",
        "table",
        "over",
        "not",
        "between",
        "recursive",
        "array",
        "cast(",
        "extract(",
        "in",
        "order by",
        "limit",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.join(" "))
}

/// An honest query with a piece cut out, doubled or replaced.
fn mutant() -> impl Strategy<Value = String> {
    let parts = (prop::sample::select(HONEST), any::<prop::sample::Index>(), any::<prop::sample::Index>(), ".{0,4}");
    parts.prop_map(|(sql, from, to, patch)| {
        let characters: Vec<char> = sql.chars().collect();
        let (from, to) = (from.index(characters.len()), to.index(characters.len()));
        let head: String = characters[..from].iter().collect();
        let tail: String = characters[to..].iter().collect();
        format!("{head}{patch}{tail}")
    })
}

proptest! {
    #[test]
    fn the_guard_never_panics_on_any_text(sql in any::<String>()) {
        let _ = parse(&sql);
        let _ = parse(&format!("select {sql}"));
    }

    #[test]
    fn the_guard_never_panics_on_pieces_of_sql(sql in sql_soup()) {
        let _ = parse(&sql);
    }

    /// What is accepted is written so that reading it again gives the same text, line breaks aside.
    #[test]
    fn what_passes_is_read_the_same_way_again(sql in mutant()) {
        let types = ParameterTypes { key: "int".to_owned(), id: "int".to_owned() };
        if let Ok(query) = parse(&sql) && query.placeholders().is_empty() {
            let written = query.render(&types);
            let again = parse(&written).unwrap().render(&types);
            prop_assert!(again.split_whitespace().eq(written.split_whitespace()), "{} became {}", written, again);
        }
    }
}

/// What a query may have left in its session is gone before the session is used again.
#[tokio::test]
async fn a_session_that_executed_a_query_is_new_when_it_is_used_again() {
    let db = cinema().await;
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    let pool = database::pool_for_queries(&config, "vitrina-test", &[&[("lock_timeout", "3s")]]);
    let state = "select concat_ws(' ', pg_backend_pid(), current_setting('default_transaction_read_only'),
                     current_setting('work_mem'), current_setting('lock_timeout'), current_setting('TimeZone'),
                     (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
                     (select count(*) from pg_listening_channels()), (select count(*) from pg_cursors),
                     (select count(*) from pg_catalog.pg_class where relpersistence = 't'))";
    let before: String = sqlx::query_scalar(state).fetch_one(&pool).await.unwrap();
    {
        let mut conn = pool.acquire().await.unwrap();
        sqlx::raw_sql(
            "set default_transaction_read_only = on; set work_mem = '1GB'; set lock_timeout = 0; set timezone = 'Asia/Tokyo';
             listen somebody; select pg_advisory_lock(7); create temporary table pg_class (oid oid)",
        )
        .execute(&mut *conn)
        .await
        .unwrap();
    }
    let after: String = sqlx::query_scalar(state).fetch_one(&pool).await.unwrap();
    assert_eq!(before, after);
}

/// Stops or continues the process of a session.
fn signal(signal: &str, backend: i32) {
    let sent = std::process::Command::new("kill").args([signal, &backend.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The process of a pool's only session, which is idle again.
async fn backend(pool: &PgPool) -> i32 {
    let backend = sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await.unwrap();
    while pool.num_idle() == 0 {
        tokio::task::yield_now().await;
    }
    backend
}

/// A client hangs up while `begin` is under way. What the connection's next user writes must be committed.
#[tokio::test]
async fn a_transaction_whose_begin_was_given_up_does_not_swallow_what_follows() {
    let db = cinema().await;
    sqlx::raw_sql("create table public.written (n int); grant insert on public.written to vitrina_app")
        .execute(db.admin())
        .await
        .unwrap();
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    for pool in [database::pool(&config, "vitrina-test"), database::pool_for_queries(&config, "vitrina-test", &[])] {
        let frozen = backend(&pool).await;
        signal("-STOP", frozen);
        let given_up = tokio::time::timeout(std::time::Duration::from_millis(200), pool.begin()).await;
        signal("-CONT", frozen);
        assert!(given_up.is_err(), "`begin` was answered by a session that stood still");
        drop(given_up);
        sqlx::query("insert into public.written values (1)").execute(&pool).await.unwrap();
        let committed: i64 =
            sqlx::query_scalar("with gone as (delete from public.written returning 1) select count(*) from gone")
                .fetch_one(db.admin())
                .await
                .unwrap();
        assert_eq!(committed, 1);
    }
}

/// As after connections that fell silent while they were given back.
#[tokio::test]
async fn a_pool_that_gives_out_no_connection_any_more_is_replaced_while_the_database_answers() {
    let db = cinema().await;
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    let pool = LastingPool::new(move || database::pool(&config, "vitrina-test"));
    let stop = tokio_util::sync::CancellationToken::new();
    let looked_after = pool.clone();
    let (looking, stopped) = (stop.clone(), stop.clone().drop_guard());
    let task = tokio::spawn(async move { looked_after.look_after(&looking).await });
    let never_comes_back = pool.current().acquire().await.unwrap();
    assert!(pool.current().acquire().await.is_err(), "there is a second connection");
    let replaced = async { while sqlx::query("select 1").execute(&pool.current()).await.is_err() {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), replaced).await.unwrap();
    drop((never_comes_back, stopped));
    task.await.unwrap();
}

/// The server stood still: the same query may be described a moment later.
#[tokio::test]
async fn a_draft_that_was_not_described_in_time_is_not_wrong_for_good() {
    let db = cinema().await;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .test_before_acquire(false)
        .connect_with(db.connect_options())
        .await
        .unwrap();
    let describing = Describing::new(pool.clone());
    let query = "select id as genre_id, name, description, modified from content.genre";
    let draft: PipelineDraft = serde_json::from_value(serde_json::json!({
        "name": "genres", "description": "", "kind": "SQL", "mode": "full", "source_query": query, "target_table": "analytics.genre_dim",
        "batch_size": 10, "enabled": true, "options": {}, "tasks": [], "incremental_key": null, "incremental_id_key": null,
    }))
    .unwrap();
    let frozen = backend(&pool).await;
    signal("-STOP", frozen);
    let review = validation::review(db.pool(), &describing, &draft, &schemas()).await;
    signal("-CONT", frozen);
    let review = review.unwrap();
    assert!(review.timed_out && !review.problems.is_empty(), "{:?}", review.problems);
    let again = validation::review(db.pool(), &describing, &draft, &schemas()).await.unwrap();
    assert!(!again.timed_out);
}

/// Folding its constants looks at no interrupt, so it is left to the run, which can be cancelled.
#[tokio::test]
async fn a_query_that_is_planned_for_ages_is_described_at_once() {
    let db = cinema().await;
    let describing = Describing::new(db.pool().clone());
    let bomb = "select id, (repeat('a & ', 300000) || 'a')::tsquery as bomb from content.film_work";
    let query = parse(bomb).unwrap();
    let begun = std::time::Instant::now();
    let (_, described) = describing.describe(query, (None, None), &schemas()).await.unwrap();
    assert_eq!(described.columns[1].type_name, "tsquery");
    assert!(begun.elapsed().as_secs() < 5, "it was planned, which takes a minute: {:?}", begun.elapsed());
}

/// With values of other types it could call other functions than it was judged with.
#[tokio::test]
async fn a_query_whose_key_types_depend_on_its_placeholders_is_refused() {
    let db = cinema().await;
    let mut conn = db.pool().acquire().await.unwrap();
    let sql = "select sum((case when false then :after_id else 1::int2 end)) as id, max(f.modified) as modified,
                      coalesce(:after_id, 1::bigint)::text as t
               from content.film_work f
               where (:after_key is null or f.modified > :after_key) and f.modified < :upper limit :limit";
    let error = described(&mut conn, sql).await.unwrap_err();
    assert!(matches!(error, GuardError::Refused(Refusal::UnsettledTypes)), "{error}");
}

/// What others have put where names are looked up by default must not execute with our rights.
#[tokio::test]
async fn traps_in_other_schemas_are_not_stepped_on() {
    let db = cinema().await;
    let traps = "create schema vitrina_app; grant usage on schema vitrina_app, public to public;
        create function public.trap(oid[], oid[]) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
        create operator vitrina_app.&& (leftarg = oid[], rightarg = oid[], function = public.trap);
        create operator public.&& (leftarg = oid[], rightarg = oid[], function = public.trap);
        create function public.hashtextextended(text, integer) returns bigint language plpgsql as $$ begin raise 'trapped'; end $$;
        create function public.trapped(oid, regrole) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
        create operator public.= (leftarg = oid, rightarg = regrole, function = public.trapped)";
    sqlx::raw_sql(traps).execute(db.admin()).await.unwrap();
    let schemas = ["content".to_owned(), "ugc".to_owned()];
    vitrina_shared::migrate::migrate(db.admin(), &schemas).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    described(&mut conn, "select id, title from content.film_work").await.unwrap();
}
