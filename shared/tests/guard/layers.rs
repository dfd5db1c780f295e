//! The layers behind the parser: functions, the server, and the role.

use sqlx::{AssertSqlSafe, PgConnection};
use vitrina_shared::{
    domain::{SourceColumn, error_class::without_values},
    guard::{self, GuardError, QUERY_ROLE, QueryLimits, Refusal},
};

use crate::{cinema, parse, schemas};

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

pub async fn described(conn: &mut PgConnection, sql: &str) -> Result<Vec<SourceColumn>, GuardError> {
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

/// The check of a domain is executed while the query is read, and may say anything, with any code.
#[tokio::test]
async fn words_of_a_function_that_is_executed_while_a_query_is_read_are_known_by_their_code() {
    let db = cinema().await;
    for (code, known_by) in [("P0001", "P0001"), ("42701", "42701"), ("42P16", "42P16"), ("VT003", "VT007")] {
        let domain = format!(
            "drop domain if exists content.code;
             create or replace function content.tell(text) returns boolean immutable language plpgsql
             as $$ begin raise exception using errcode = '{code}', message = 'patient \"Anna\" has it'; end $$;
             create domain content.code as text check (content.tell(value))"
        );
        sqlx::raw_sql(AssertSqlSafe(domain)).execute(db.admin()).await.unwrap();
        let mut conn = db.pool().acquire().await.unwrap();
        let error = described(&mut conn, "select ('{x}'::content.code[])[1]::text as code").await.expect_err(code);
        let GuardError::Refused(refusal) = error else { panic!("{code}: {error:?}") };
        let said = refusal.to_string();
        assert!(said.contains("patient") && said.ends_with(&format!("(SQLSTATE {known_by})")), "{said}");
        assert!(!without_values(&said).contains("Anna"), "{said}");
    }
}

/// What people really write.
pub const HONEST: &[&str] = &[
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
