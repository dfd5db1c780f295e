//! The functions that execute users' queries, and those that look after their sessions.

use vitrina_shared::testing::TestDatabase;

use crate::{failure, run, text};

async fn with_source() -> TestDatabase {
    let db = TestDatabase::create().await;
    run(
        db.admin(),
        "create schema content; grant usage on schema content to vitrina_query;
         create table content.item (id int primary key, name text not null, at timestamptz not null);
         insert into content.item select n, 'item ' || n, '2026-01-01 00:00+00'::timestamptz + n * interval '1 s' from generate_series(1, 5) n;
         grant select, insert on content.item to vitrina_query;
         create function content.write() returns text language plpgsql as
             $$ begin insert into content.item values (9, 'nine', now()); return 'written'; end $$",
    )
    .await;
    db
}

#[tokio::test]
async fn a_query_is_read_under_its_role_between_its_bounds_and_writes_nothing() {
    let db = with_source().await;
    let mut app = db.pool().acquire().await.unwrap();
    let read = |query: &str| {
        format!(
            "select string_agg(one, ',') from etl_page.read('{query}', array['2026-01-01 00:00:01+00', '1'],
                 '2026-01-01 00:00:05+00', 2, true) as page (one text)"
        )
    };
    let page = "select name from content.item where at > $1 and at < $3 order by at limit $4";
    assert_eq!(text(&mut app, read(page)).await, "item 2,item 3");
    assert_eq!(text(&mut app, read("select concat_ws(''|'', $2, ($5)[2], $6)")).await, "1|1|2026-01-01 00:00:05+00");
    assert_eq!(text(&mut app, read("select current_user::text")).await, "vitrina_query");
    assert_eq!(failure(&mut app, read("select content.write()")).await.0, "25006", "read only");
    assert_eq!(failure(&mut app, read("select name from analytics.genre_dim")).await.0, "42501");
}

#[tokio::test]
async fn an_estimate_is_the_servers_plan_of_a_query_that_is_not_executed() {
    let db = with_source().await;
    let mut app = db.pool().acquire().await.unwrap();
    let estimate = "select etl_page.estimate('select content.write() from content.item', null, null, 10, false) #>> '{0,Plan,Node Type}'";
    assert_eq!(text(&mut app, estimate).await, "Seq Scan");
    let count = "select count(*) from content.item";
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), count).await, "5");
}

#[tokio::test]
async fn a_description_says_what_a_query_returns_and_leaves_nothing_behind() {
    let db = with_source().await;
    let mut app = db.pool().begin().await.unwrap();
    let described = "select (names, type_names, declared, starts_with(tree, '({QUERY'))
        from etl_page.describe('select id, name::varchar(7) as short from content.item')";
    let expected = r#"("{id,short}","{integer,""character varying""}","{integer,""character varying(7)""}",t)"#;
    assert_eq!(text(&mut app, described).await, expected);
    assert_eq!(text(&mut app, "select to_regclass('pg_temp.vitrina_judged')").await, "null");
    let two = failure(&mut app, "select etl_page.describe('select 1 as a) as source; select (2 as b')").await;
    assert_eq!(two.0, "42601");
}

#[tokio::test]
async fn the_schema_for_temporary_objects_stays_and_holds_nothing() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    let schema = "select pg_my_temp_schema()::regnamespace";
    assert_eq!(text(&mut app, schema).await, "-");
    text(&mut app, "select etl_page.keep_temporary_schema()").await;
    let kept = text(&mut app, schema).await;
    assert!(kept.starts_with("pg_temp_"), "{kept}");
    text(&mut app, "select tree from etl_page.describe('select 1 as one')").await;
    assert_eq!(text(&mut app, schema).await, kept);
    assert_eq!(text(&mut app, "select count(*) from pg_class where relnamespace = pg_my_temp_schema()").await, "0");
}

/// A page that was put down, and a statement that writes the rows at the places `$1` to `$2`.
const STAGED: &str = "
    select etl.stage_page(); select etl.stage_page();
    insert into pg_temp.vitrina_page select n, json_build_object('id', case when n in (2, 5) then 'x' else n::text end)
    from generate_series(1, 5) n";
const WRITE: &str = "with written as (
        insert into analytics.numbers select (doc ->> ''id'')::int from pg_temp.vitrina_page where place between $1 and $2 returning 1
    ) select count(*) from written";

#[tokio::test]
async fn rows_that_the_server_refuses_are_put_aside_alone_up_to_a_number() {
    let db = TestDatabase::create().await;
    run(db.admin(), "create table analytics.numbers (id int primary key)").await;
    let write = |most: u32| {
        let statement = format!("select 0::bigint, etl_page.write_rows('{WRITE}', 1, 5, {most}), null::text[], false");
        format!("select rows_written from etl_mart.run('{}', null, null, 1)", statement.replace('\'', "''"))
    };
    let mut tx = db.pool().begin().await.unwrap();
    sqlx::raw_sql(STAGED).execute(&mut *tx).await.unwrap();
    assert_eq!(text(&mut tx, write(2)).await, "3");
    let refused = "select string_agg(place || right(error, 17), ',' order by place) from pg_temp.vitrina_refused";
    assert_eq!(text(&mut tx, refused).await, "2 (SQLSTATE 22P02),5 (SQLSTATE 22P02)");
    tx.commit().await.unwrap();

    let mut tx = db.pool().begin().await.unwrap();
    sqlx::raw_sql(STAGED).execute(&mut *tx).await.unwrap();
    let (code, message) = failure(&mut tx, write(1)).await;
    assert_eq!(code, "VT004", "{message}");
}

#[tokio::test]
async fn a_page_that_was_put_down_ends_with_its_transaction() {
    let db = TestDatabase::create().await;
    let mut app = db.pool().acquire().await.unwrap();
    sqlx::raw_sql(STAGED).execute(&mut *app).await.unwrap();
    assert_eq!(text(&mut app, "select count(*) from pg_temp.vitrina_page").await, "0");
}

#[tokio::test]
async fn a_session_that_was_changed_is_seen_and_one_that_was_not_is_set_back() {
    let db = TestDatabase::create().await;
    let mut tx = db.admin().begin().await.unwrap();
    sqlx::raw_sql("set local statement_timeout = '77s'; create temporary table state as select etl_query.session_state('path') as before")
        .execute(&mut *tx)
        .await
        .unwrap();
    sqlx::raw_sql(
        "set local enable_hashjoin = off; select etl_query.set_back_session(before, 'path', true) from state",
    )
    .execute(&mut *tx)
    .await
    .unwrap();
    let settings = "select concat_ws(' ', current_setting('enable_hashjoin'), current_setting('statement_timeout'), current_setting('search_path'))";
    assert_eq!(text(&mut tx, settings).await, "on 77s path");
    sqlx::raw_sql("set local timezone = 'Asia/Tokyo'; savepoint changed").execute(&mut *tx).await.unwrap();
    for function in
        ["set_back_session(before, 'path', true)", "blame_query(before, 'path', '22012', 'division by zero')"]
    {
        let (code, message) = failure(&mut tx, format!("select etl_query.{function} from pg_temp.state")).await;
        assert_eq!(code, "VT006", "{message}");
        sqlx::raw_sql("rollback to changed").execute(&mut *tx).await.unwrap();
    }
}

#[tokio::test]
async fn a_query_is_blamed_for_a_code_that_is_not_its_own_and_for_no_other() {
    let db = TestDatabase::create().await;
    let mut owner = db.admin().acquire().await.unwrap();
    let blame =
        |code: &str| format!("select etl_query.blame_query(etl_query.session_state('p'), 'p', '{code}', 'the end')");
    for code in ["22012", "42501", "VT006", "VT007", "53200"] {
        assert_eq!(text(&mut owner, blame(code)).await, "", "{code}");
    }
    for code in ["VT001", "08006", "28000", "57P01", "53300"] {
        let (blamed, message) = failure(&mut owner, blame(code)).await;
        assert_eq!((blamed.as_str(), message), ("VT007", format!("the end (raised by the query as {code})")));
    }
}

#[tokio::test]
async fn a_statement_that_was_prepared_in_sql_is_seen_by_the_outermost_function() {
    let db = TestDatabase::create().await;
    let mut tx = db.admin().begin().await.unwrap();
    sqlx::raw_sql("create temporary table state as select etl_query.session_state('path') as before")
        .execute(&mut *tx)
        .await
        .unwrap();
    let has = "select etl_query.has_prepared()";
    assert_eq!(text(&mut tx, has).await, "false", "those of the driver do not count");
    sqlx::raw_sql("prepare mine as select 1; savepoint prepared").execute(&mut *tx).await.unwrap();
    assert_eq!(text(&mut tx, has).await, "true");
    let refused = failure(&mut tx, "select etl_query.refuse_session()").await;
    sqlx::raw_sql("rollback to prepared").execute(&mut *tx).await.unwrap();
    assert_eq!(refused.0, "VT006");
    let outermost =
        failure(&mut tx, "select etl_query.set_back_session(before, 'path', true) from pg_temp.state").await;
    sqlx::raw_sql("rollback to prepared").execute(&mut *tx).await.unwrap();
    assert_eq!(outermost, refused);
    let within = "select etl_query.set_back_session(before, 'path', false)::text from pg_temp.state";
    assert_eq!(text(&mut tx, within).await, "");
    sqlx::raw_sql("deallocate mine").execute(&mut *tx).await.unwrap();
}
