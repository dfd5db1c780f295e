//! The list of functions that hooks may call, and what calls them: `etl.hook_problem`, `etl_hook.call` and `etl.call_hooks`.

use sqlx::PgConnection;
use uuid::Uuid;
use vitrina_shared::{
    definitions::{HookListError, allow_function, revoke_function},
    store::hooks,
    testing::TestDatabase,
};

use crate::{failure, run, text};

/// A schema of the operator's, with functions that note what they are called with, and functions that fail.
const SHOP: &str = "
    create schema shop;
    create table shop.noted (id bigint generated always as identity, who text, event jsonb);
    create function shop.note(event jsonb) returns void language sql security definer
        as 'insert into shop.noted (who, event) values (current_user, event)';
    create function shop.whoami(event jsonb) returns text language plpgsql
        as $$ begin raise exception 'I am % with %', current_user, current_setting('search_path'); end $$;
    create function shop.fail(event jsonb) returns void language plpgsql security definer as $$
        begin
            insert into shop.noted (who) values ('undone');
            raise exception using errcode = coalesce(event ->> 'state', 'P0001'), message = 'on purpose';
        end $$;
    create function shop.settle(event jsonb) returns void language plpgsql as $$
        begin perform set_config('timezone', 'Asia/Tokyo', false); end $$;
    create table shop.parents (id int primary key);
    create table shop.children (parent int references shop.parents deferrable initially deferred);
    create function shop.orphan(event jsonb) returns void language sql security definer
        as 'insert into shop.children values (1)';
    create function shop.other(event json) returns void language sql as '';
    create procedure shop.procedure(event jsonb) language sql as '';";

async fn shop(allowed: &[&str]) -> TestDatabase {
    let db = TestDatabase::create().await;
    run(db.admin(), SHOP).await;
    let mut owner = db.admin().acquire().await.unwrap();
    for name in allowed {
        allow_function(&mut owner, name).await.unwrap();
    }
    db
}

async fn problem(connection: &mut PgConnection, name: &str) -> String {
    text(connection, format!("select etl.hook_problem('{name}')")).await
}

#[tokio::test]
async fn only_what_is_on_the_list_as_it_was_then_may_be_called() {
    let db = shop(&["shop.note", "shop.fail", "shop.whoami", "shop.settle"]).await;
    let mut app = db.pool().acquire().await.unwrap();
    assert_eq!(problem(&mut app, "shop.note").await, "null");
    for changed in [
        "drop function shop.fail; create function shop.fail(jsonb) returns void language sql as ''",
        "create role shop_keeper_of_test; alter function shop.note owner to shop_keeper_of_test",
        "revoke execute on function shop.whoami from vitrina_hook, public",
        "alter function shop.settle rename to settled",
    ] {
        run(db.admin(), changed).await;
    }
    for (name, expected) in [
        ("shop.fail", "was dropped, renamed or created anew since it was put on the list"),
        ("shop.note", "has another owner than when it was put on the list"),
        ("shop.whoami", "may not be called by the role vitrina_hook"),
        ("shop.settle", "was dropped, renamed or created anew since it was put on the list"),
        ("shop.settled", "is not on the list of functions that hooks may call"),
        ("no name'' at all", "is not on the list of functions that hooks may call"),
    ] {
        assert_eq!(problem(&mut app, name).await, expected, "{name}");
    }
    run(db.admin(), "reassign owned by shop_keeper_of_test to current_user; drop role shop_keeper_of_test").await;
    let listed = hooks::list(&mut app).await.unwrap();
    let good: Vec<_> = listed.iter().filter(|one| one.problem.is_none()).map(|one| one.name.as_str()).collect();
    assert_eq!((listed.len(), good), (4, vec!["shop.note"]), "its owner is the old one again");
    assert_eq!(listed[0].added_by, "postgres");
}

#[tokio::test]
async fn the_list_is_the_owners_and_says_what_is_wrong_with_a_name() {
    let db = shop(&[]).await;
    let mut owner = db.admin().acquire().await.unwrap();
    for (name, expected) in [
        ("refund", "is no name of a function with its schema"),
        ("shop.note()", "is no name of a function with its schema"),
        ("pg_catalog.jsonb_pretty", "in a schema of Vitrina's or of the server's own"),
        ("etl_hook.call", "in a schema of Vitrina's or of the server's own"),
        ("shop.nothing", "there is no function shop.nothing(jsonb)"),
        ("shop.other", "there is no function shop.other(jsonb)"),
        ("shop.procedure", "there is no function shop.procedure(jsonb)"),
    ] {
        let refused = allow_function(&mut owner, name).await.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(allow_function(&mut owner, "shop.note").await.unwrap(), "postgres", "it is security definer");
    assert_eq!(allow_function(&mut owner, "shop.whoami").await.unwrap(), "vitrina_hook");
    let mut app = db.pool().acquire().await.unwrap();
    let refused = allow_function(&mut app, "shop.fail").await.unwrap_err();
    assert!(matches!(refused, HookListError::Denied(_)), "{refused}");
    let refused = revoke_function(&mut app, "shop.note").await.unwrap_err();
    assert!(matches!(refused, HookListError::Denied(_)), "{refused}");

    let rights = "select concat_ws(' ', has_schema_privilege('vitrina_hook', 'shop', 'usage'),
                      has_function_privilege('vitrina_hook', 'shop.note(jsonb)', 'execute'))";
    run(db.admin(), "revoke execute on function shop.note from public").await;
    assert_eq!(text(&mut owner, rights).await, "t t");
    assert_eq!(revoke_function(&mut owner, "shop.note").await.unwrap(), None);
    assert_eq!(text(&mut owner, rights).await, "t f", "another function of the schema is on the list");
    assert_eq!(revoke_function(&mut owner, "shop.whoami").await.unwrap(), None);
    assert_eq!(text(&mut owner, rights).await, "f f");
    let refused = revoke_function(&mut owner, "shop.note").await.unwrap_err();
    assert!(matches!(refused, HookListError::NotListed(_)), "{refused}");
}

#[tokio::test]
async fn an_account_that_may_not_grant_is_told_who_may_and_what() {
    let db = shop(&[]).await;
    run(
        db.admin(),
        "revoke execute on function shop.fail from public;
         create role keeper_of_the_list login; grant usage on schema etl to keeper_of_the_list;
         grant insert, update, select, delete on etl.etl_hook_functions to keeper_of_the_list;
         grant execute on function etl.hook_problem to keeper_of_the_list",
    )
    .await;
    let mut tx = db.admin().begin().await.unwrap();
    sqlx::raw_sql("set local role keeper_of_the_list").execute(&mut *tx).await.unwrap();
    let refused = allow_function(&mut tx, "shop.fail").await.unwrap_err().to_string();
    drop(tx);
    run(db.admin(), "drop owned by keeper_of_the_list; drop role keeper_of_the_list").await;
    let grants = r#"grant usage on schema "shop" to vitrina_hook; grant execute on function "shop"."fail"(jsonb) to vitrina_hook"#;
    assert!(refused.contains("could not grant it (permission denied") && refused.ends_with(grants), "{refused}");
}

fn call(name: &str, event: &str) -> String {
    format!("select (state, message) from etl_hook.call('{name}', '{event}')")
}

#[tokio::test]
async fn a_function_is_called_under_a_role_of_its_own_and_what_fails_is_undone_and_returned() {
    let db = shop(&["shop.note", "shop.whoami", "shop.fail", "shop.settle", "shop.orphan"]).await;
    let mut app = db.pool().acquire().await.unwrap();
    let called = format!("select count(*) from ({}) c", call("shop.note", "{\"a\": 1}"));
    assert_eq!(text(&mut app, called).await, "0", "no row says that it went well");
    let whoami = text(&mut app, call("shop.whoami", "{}")).await;
    assert_eq!(whoami, r#"(P0001,"I am vitrina_hook with pg_catalog, pg_temp")"#);
    let before = "select concat_ws(' ', current_setting('timezone'), current_setting('search_path'), current_user)";
    let session = text(&mut app, before).await;
    for (hook, event, expected) in [
        ("shop.fail", "{}", "(P0001,\"on purpose\")"),
        // What says something about Vitrina or its connection is only what the function says.
        ("shop.fail", "{\"state\": \"VT001\"}", "(VT001,\"on purpose\")"),
        ("shop.fail", "{\"state\": \"57P01\"}", "(57P01,\"on purpose\")"),
        ("shop.fail", "{\"state\": \"57014\"}", "(57014,\"on purpose\")"),
        ("shop.fail", "{\"state\": \"P0004\"}", "(P0004,\"on purpose\")"),
        (
            "shop.settle",
            "{}",
            "(VT006,\"a function that the query calls, a trigger of the mart, or a hook changed its session",
        ),
        ("pg_catalog.jsonb_pretty", "{}", "(VT008,\"it is not on the list of functions that hooks may call"),
    ] {
        let said = text(&mut app, call(hook, event)).await;
        assert!(said.starts_with(expected), "{hook} {event}: {said}");
        assert_eq!(text(&mut app, before).await, session, "{hook}");
    }
    let deferred = text(&mut app, call("shop.orphan", "{}")).await;
    assert!(deferred.starts_with("(23503,"), "a deferred constraint fails the hook, not the commit: {deferred}");
    let noted = "select string_agg(who || event, ', ') from shop.noted";
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), noted).await, r#"postgres{"a": 1}"#);
}

/// A run whose inputs have these hooks.
async fn run_with(db: &TestDatabase, hooks: &str, started: &str) -> Uuid {
    let id = Uuid::now_v7();
    run(
        db.pool(),
        format!(
            r#"insert into etl.etl_pipelines (id, name, mode, source_query, target_table)
               values ('{id}', 'p{id}', 'full', 'select 1', 'analytics.genre_dim');
               insert into etl.etl_runs (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs, started_at, rows_read,
                                         status, finished_at)
               values ('{id}', '{id}', 'full', 'API', 'test', 'test', '{{"name": "films", "options": {{"hooks": {hooks}}}}}', {started}, 7,
                       'SUCCESS', now())"#,
        ),
    )
    .await;
    id
}

/// What the hooks of an event say.
fn hooks_of(run: Uuid, event: &str, details: &str, letters: &str) -> String {
    format!(
        "select string_agg(concat_ws(' ', hook, state, message), '; ')
         from etl.call_hooks('{run}', '{event}', '{details}', {letters})"
    )
}

#[tokio::test]
async fn the_hooks_of_a_run_get_the_run_and_the_first_that_fails_is_the_last_that_is_called() {
    let db = shop(&["shop.note", "shop.fail"]).await;
    let hooks = r#"{"after_batch": ["shop.note"], "on_success": ["shop.note", "shop.fail", "shop.note"],
                    "on_failure": ["shop.fail", "shop.note", "shop.absent"], "before_run": ["shop.note"]}"#;
    let id = run_with(&db, hooks, "now()").await;
    let mut app = db.pool().acquire().await.unwrap();
    let mut owner = db.admin().acquire().await.unwrap();
    let noted = "select string_agg(coalesce(event::text, who), '; ' order by id) from shop.noted";

    assert_eq!(text(&mut app, hooks_of(id, "after_batch", r#"{"batch": 3}"#, "null")).await, "null");
    let expected = format!(
        r#"{{"mode": "full", "batch": 3, "event": "after_batch", "run_id": "{id}", "status": "SUCCESS", "batches": 0, "trigger": "API", "pipeline": "films", "rows_read": 7, "pipeline_id": "{id}", "rows_removed": 0, "rows_written": 0, "rows_rejected": 0}}"#
    );
    assert_eq!(text(&mut owner, noted).await, expected);
    run(db.admin(), "truncate shop.noted").await;

    assert_eq!(text(&mut app, hooks_of(id, "on_success", "{}", "null")).await, "shop.fail P0001 on purpose");
    assert_eq!(text(&mut owner, "select count(*) from shop.noted").await, "1");
    let said = text(&mut app, hooks_of(id, "on_failure", r#"{"status": "FAILED"}"#, "null")).await;
    assert!(said.starts_with("shop.fail P0001 on purpose; shop.absent VT008 it is not on the list"), "{said}");
    let failed = "select count(*) from shop.noted where event ->> 'status' = 'FAILED'";
    assert_eq!(text(&mut owner, failed).await, "1", "each of them is called");
    // A time-out ends all of them: what follows would have no limit.
    let said = text(&mut app, hooks_of(id, "on_failure", r#"{"state": "57014"}"#, "null")).await;
    assert_eq!(said, "shop.fail 57014 on purpose");

    run(db.admin(), "truncate shop.noted").await;
    assert_eq!(text(&mut app, hooks_of(id, "before_run", "{}", "null")).await, "null");
    assert_eq!(text(&mut owner, "select count(*) from shop.noted").await, "0", "it has begun before");
    let queued = run_with(&db, hooks, "null").await;
    assert_eq!(text(&mut app, hooks_of(queued, "before_run", "{}", "null")).await, "null");
    assert_eq!(text(&mut owner, "select count(*) from shop.noted").await, "1");
    let without = run_with(&db, "{}", "null").await;
    assert_eq!(text(&mut app, hooks_of(without, "after_batch", "{}", "null")).await, "null");
}

#[tokio::test]
async fn a_deadlock_of_a_hook_of_on_failure_is_tried_again_and_of_no_other() {
    let db = shop(&[]).await;
    run(
        db.admin(),
        "create sequence shop.tries; create function shop.stumble(event jsonb) returns void language plpgsql security definer as $$
         begin
             if nextval('shop.tries') % 3 <> 0 then raise exception using errcode = '40P01'; end if;
         end $$",
    )
    .await;
    allow_function(&mut db.admin().acquire().await.unwrap(), "shop.stumble").await.unwrap();
    let id = run_with(&db, r#"{"on_failure": ["shop.stumble"], "on_success": ["shop.stumble"]}"#, "now()").await;
    let mut app = db.pool().acquire().await.unwrap();
    assert_eq!(text(&mut app, hooks_of(id, "on_failure", "{}", "null")).await, "null");
    let said = text(&mut app, hooks_of(id, "on_success", "{}", "null")).await;
    assert!(said.starts_with("shop.stumble 40P01"), "{said}");
}

/// Batches lock the run, and then their hooks whatever they lock. In another order two of one run would wait for each other.
#[tokio::test]
async fn the_run_is_locked_before_its_hooks_lock_anything() {
    let db = shop(&["shop.note"]).await;
    let id = run_with(&db, r#"{"on_failure": ["shop.note"]}"#, "now()").await;
    let mut batch = db.pool().begin().await.unwrap();
    sqlx::raw_sql("update etl.etl_runs set rows_read = 8").execute(&mut *batch).await.unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    sqlx::raw_sql("set lock_timeout = '50ms'").execute(&mut *app).await.unwrap();
    assert_eq!(failure(&mut app, hooks_of(id, "on_failure", "{}", "null")).await.0, "55P03");
}

#[tokio::test]
async fn a_rejected_row_is_given_as_its_letter_has_it() {
    let db = shop(&["shop.note"]).await;
    let id = run_with(&db, r#"{"on_row_rejected": ["shop.note"]}"#, "now()").await;
    let letter = format!(
        r#"insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class)
           select '{id}', '{id}', 4, jsonb_build_object('id', n), jsonb_build_object('id', n, 'price', 1.10), 'too dear', 'Row'
           from generate_series(1, 2) n returning id"#
    );
    let letters: Vec<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(letter)).fetch_all(db.pool()).await.unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    let letters = format!("array{letters:?}");
    assert_eq!(text(&mut app, hooks_of(id, "on_row_rejected", "{}", &letters)).await, "null");
    let noted = "select string_agg((event - 'run_id' - 'pipeline_id')::text, '; ' order by id) from shop.noted";
    let expected = [1, 2].map(|n| {
        format!(
            r#"{{"row": {{"id": {n}, "price": 1.10}}, "batch": 4, "event": "on_row_rejected", "reason": "too dear", "pipeline": "films"}}"#
        )
    });
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), noted).await, expected.join("; "));
}

/// One could have the name of a statement of the services, and be executed with their rights.
#[tokio::test]
async fn a_function_that_prepares_statements_fails_and_they_are_gone() {
    let db = shop(&[]).await;
    run(
        db.admin(),
        "create function shop.plant(event jsonb) returns void language plpgsql as $$
         begin
             execute 'prepare planted as select 1; prepare \"an other\" as select 2';
             insert into shop.noted (who) values ('undone');
             if event ? 'fails' then raise exception 'after that'; end if;
         end $$; alter function shop.plant security definer",
    )
    .await;
    allow_function(&mut db.admin().acquire().await.unwrap(), "shop.plant").await.unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    let planted = "select count(*) from pg_prepared_statements where from_sql";
    for (event, said) in [("{}", "(VT006,"), (r#"{"fails": true}"#, "(P0001,\"after that\")")] {
        let answer = text(&mut app, call("shop.plant", event)).await;
        assert!(answer.starts_with(said), "{answer}");
        assert_eq!(text(&mut app, planted).await, "0", "{event}");
    }
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), "select count(*) from shop.noted").await, "0");
}

/// What calls the functions is owned by the role that they are executed under.
#[tokio::test]
async fn a_function_that_drops_or_leaves_what_is_of_its_role_fails_and_is_undone() {
    let db = shop(&[]).await;
    run(
        db.admin(),
        "grant insert on shop.noted to vitrina_hook;
         create function shop.execute(event jsonb) returns void language plpgsql as $$
         begin
             insert into shop.noted (who) values (event ->> 'sql');
             execute event ->> 'sql';
         end $$",
    )
    .await;
    allow_function(&mut db.admin().acquire().await.unwrap(), "shop.execute").await.unwrap();
    let mut app = db.pool().acquire().await.unwrap();
    for statement in [
        "drop owned by vitrina_hook cascade",
        "alter role vitrina_hook set work_mem = 64",
        "alter default privileges grant select on tables to public",
        "select lo_create(0)",
        "create temporary table kept (id int)",
    ] {
        let said = text(&mut app, call("shop.execute", &format!(r#"{{"sql": "{statement}"}}"#))).await;
        // A code of those that are tried again: somebody may have granted the role something meanwhile.
        let expected = "(40001,\"what the role vitrina_hook owns, may use or has set is not what it was";
        assert!(said.starts_with(expected), "{statement}: {said}");
    }
    let gone = "create temporary table gone (id int); drop table gone";
    let called = format!("select count(*) from ({}) c", call("shop.execute", &format!(r#"{{"sql": "{gone}"}}"#)));
    assert_eq!(text(&mut app, called).await, "0", "nothing is left of it");
    let noted = "select string_agg(who, ', ') from shop.noted";
    assert_eq!(text(&mut db.admin().acquire().await.unwrap(), noted).await, gone);
    let settings = "select count(*) from pg_db_role_setting where setrole = 'vitrina_hook'::regrole";
    assert_eq!(text(&mut app, settings).await, "0");
}
