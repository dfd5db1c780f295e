//! Dead letters, tried again.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    KeyOrder, Mode, NullKeys, OnRowError, PipelineDraft, PipelineId, ReportRequest, ReportStatus,
};

use crate::{
    bounds::masked,
    support::{ITEMS, World, draft, eventually},
};

/// A mart that refuses long names, and the pipeline that puts them aside.
async fn strict(world: &World, mode: Mode) -> PipelineId {
    world.target("strict", "id bigint, name varchar(10), modified timestamptz", &["id"]).await;
    let mut draft = draft("strict", mode, ITEMS, "analytics.strict", 50);
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    world.pipeline(&draft).await
}

async fn replay(world: &World, pipeline: PipelineId, ids: Option<Vec<i64>>) -> Value {
    world.report(pipeline, &ReportRequest::Replay { ids }).await
}

fn outcomes(replay: &Value) -> Vec<&str> {
    replay["letters"].as_array().unwrap().iter().map(|letter| letter["outcome"].as_str().unwrap()).collect()
}

const LONG: &str = "update content.item set name = 'much too long a name' where id in (3, 5, 7, 9)";

#[tokio::test(flavor = "multi_thread")]
async fn the_row_of_now_is_written_and_never_the_one_that_was_put_aside() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    world.sql(LONG).await;
    let pipeline = strict(&world, Mode::Incremental).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_rejected, run.rows_written), (4, 96));

    // One is mended, one is gone, one came by another way meanwhile, and one is as bad as before.
    world
        .sql(
            "update content.item set name = 'mended' where id = 3;
             delete from content.item where id = 5;
             update content.item set name = 'by hand' where id = 7;
             insert into analytics.strict select id, name, modified from content.item where id = 7",
        )
        .await;
    let first = replay(&world, pipeline, None).await;
    assert_eq!(outcomes(&first), ["written", "gone", "unchanged", "refused"], "{first}");
    assert!(first["letters"][3]["error"].as_str().unwrap().contains("too long"), "{first}");
    assert_eq!((&first["left"], &first["written"]), (&json!(1), &json!(1)));
    assert_eq!(world.text("select name from analytics.strict where id = 3").await.as_deref(), Some("mended"));
    assert_eq!(world.number("select count(*) from analytics.strict where id in (5, 9)").await, 0);

    // A closed letter stays closed, whichever request repeats it; an open one is tried again.
    let ids: Vec<i64> =
        first["letters"].as_array().unwrap().iter().map(|letter| letter["id"].as_i64().unwrap()).collect();
    world.sql("update content.item set name = 'short' where id = 9").await;
    let second = replay(&world, pipeline, Some(ids)).await;
    assert_eq!(outcomes(&second), ["written", "not_open", "not_open", "not_open"], "{second}");
    assert_eq!(outcomes(&replay(&world, pipeline, None).await), Vec::<&str>::new());
    world.assert_same(ITEMS, "analytics.strict").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_waits_for_the_run_and_then_does_not_go_back_behind_it() {
    let mut world = World::new().await;
    world.items(1, 20).await;
    let pipeline = strict(&world, Mode::Full).await;
    world
        .sql(&format!(
            r#"insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class)
               values ('{pipeline}', '{pipeline}', 0, '{{"id": 3}}', '{{"id": 3, "name": "stale"}}', 'x', 'Row')"#
        ))
        .await;
    let run = world.run(pipeline).await;
    let report = world.ask(pipeline, &ReportRequest::Replay { ids: None }).await;
    world.start_worker(&[]);
    world.succeeded(run).await;
    assert_eq!(outcomes(&world.result(report).await), ["unchanged"]);
    assert_eq!(world.text("select name from analytics.strict where id = 3").await.as_deref(), Some("item 3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_whose_worker_dies_before_its_end_has_written_nothing() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    world.sql(LONG).await;
    let pipeline = strict(&world, Mode::Incremental).await;
    world.succeeds(pipeline).await;
    world.sql("update content.item set name = 'mended'").await;
    let mut lock = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table analytics.strict in share mode").execute(&mut *lock).await.unwrap();
    let report = world.ask(pipeline, &ReportRequest::Replay { ids: None }).await;
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
               where wait_event_type = 'Lock' and datname = current_database() and application_name like 'vitrina-worker %'";
    eventually("a replay that was cut off", || async { (world.number(cut).await > 0).then_some(()) }).await;
    lock.rollback().await.unwrap();
    let replayed = world.result(report).await;
    assert_eq!(outcomes(&replayed), ["written"; 4]);
    assert_eq!(world.find_report(report).await.status, ReportStatus::Done);
    assert_eq!(world.number("select count(*) from etl.etl_dead_letters where replayed_at is null").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_with_what_no_jsonb_can_hold_is_put_aside_like_any_other() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world
        .sql(
            r#"alter table content.item add raw json; update content.item set raw = '{"zero": "\u0000"}' where id = 3"#,
        )
        .await;
    world.target("raw", "id bigint, raw jsonb, modified timestamptz", &["id"]).await;
    let query = "select id, raw, modified from content.item";
    let mut raw = draft("raw", Mode::Incremental, query, "analytics.raw", 7);
    raw.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&raw).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_rejected, run.rows_written), (1, 19));
    let letter = "select key || (row -> 'raw') from etl.etl_dead_letters";
    assert_eq!(world.text(letter).await.as_deref(), Some(r#"{"id": 3, "zero": "\\u0000"}"#));
    assert_eq!(outcomes(&replay(&world, pipeline, None).await), ["refused"]);
    world.sql("update content.item set raw = '{}' where id = 3").await;
    assert_eq!(outcomes(&replay(&world, pipeline, None).await), ["written"]);
}

/// A pipeline from `content.odd` to a mart of the same columns, which refuses names that are too long.
async fn odd(world: &World, key: &str, rows: &str) -> PipelineDraft {
    world
        .sql(&format!(
            "create table content.odd (id {key}, name text, modified timestamptz default now());
             insert into content.odd (id, name) {rows}"
        ))
        .await;
    world.target("odd", &format!("id {key} not null, name varchar(10), modified timestamptz"), &["id"]).await;
    let query = "select id, name, modified from content.odd";
    let mut draft = draft("odd", Mode::Full, query, "analytics.odd", 100);
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    draft.options.max_rejects = Some(1000);
    draft
}

/// Puts every row aside, mends them all, and writes them by a replay.
async fn all_come_back(key: &str, rows: &str) {
    let world = World::with_worker().await;
    let draft = odd(&world, key, rows).await;
    let pipeline = world.pipeline(&draft).await;
    let run = world.succeeds(pipeline).await;
    let count = world.number("select count(*) from content.odd").await;
    assert_eq!((run.rows_rejected, run.rows_written), (count, 0));
    world.sql("update content.odd set name = 'mended'").await;
    let replayed = replay(&world, pipeline, None).await;
    assert_eq!((&replayed["written"], &replayed["left"]), (&json!(count), &json!(0)), "{replayed}");
    world.assert_same("select id, name, modified from content.odd", "analytics.odd").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_no_float_can_hold_is_found_as_it_is() {
    let rows = "select id, 'much too long a name' from unnest(array[36893488147419103233, 123456789012345678.123,
                -0.10000000000000000000000001, 1.50, 10::numeric ^ 400 + 1, 'NaN']) as id";
    all_come_back("numeric", rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_takes_no_row_whose_key_is_near() {
    let world = World::with_worker().await;
    let rows = "values (123456789012345678.123, 'much too long a name'), (123456789012345660, 'near'), (18446744073709551617, 'near')";
    let draft = odd(&world, "numeric", rows).await;
    let pipeline = world.pipeline(&draft).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.odd where name <> 'near'; delete from analytics.odd").await;
    assert_eq!(outcomes(&replay(&world, pipeline, None).await), ["gone"]);
    assert_eq!(world.number("select count(*) from analytics.odd").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_float_is_found_by_all_of_its_digits() {
    let rows = "select distinct (random() - 0.5) * 10::float8 ^ (n % 40 - 20), 'much too long a name' from generate_series(1, 300) n
                union all values (5e-324::float8, 'much too long a name'), (1.7976931348623157e308, 'much too long a name'),
                ('-Infinity', 'much too long a name')";
    all_come_back("float8", rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_without_a_key_is_found_and_refused_again_until_it_is_gone() {
    let world = World::with_worker().await;
    let rows = "values (null, 'none'), (1, 'much too long a name'), (2, 'fine'), (3, 'another name that is too long')";
    let mut draft = odd(&world, "bigint", rows).await;
    draft.mode = Mode::Incremental;
    (draft.incremental_key, draft.incremental_id_key) = (Some("modified".to_owned()), Some("name".to_owned()));
    (draft.options.null_keys, draft.options.key_order) = (Some(NullKeys::Error), Some(KeyOrder::Commit));
    let pipeline = world.pipeline(&draft).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_rejected, run.rows_written), (3, 1));
    world.sql("update content.odd set name = 'mended' where id = 1; delete from content.odd where id = 3").await;
    let first = replay(&world, pipeline, None).await;
    assert_eq!((&first["refused"], &first["written"], &first["gone"]), (&json!(1), &json!(1), &json!(1)), "{first}");
    assert_eq!(
        world.text("select key from etl.etl_dead_letters where replayed_at is null").await.as_deref(),
        Some(r#"{"id": null}"#)
    );
    world.sql("delete from content.odd where id is null").await;
    assert_eq!(outcomes(&replay(&world, pipeline, None).await), ["gone"]);
}

/// Neither the row with a key that was cut nor one whose key is its beginning may be taken for the letter's.
#[tokio::test(flavor = "multi_thread")]
async fn a_letter_whose_row_cannot_be_looked_for_stays_open() {
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_MAX_ROW_BYTES", "1048576")]);
    let rows = "values (repeat('k', 9000), repeat('x', 2 * 1024 * 1024)), (repeat('k', 200), 'beginning')";
    // Rows have a limit where they pass through the worker.
    let pipeline = world.pipeline(&masked(odd(&world, "text", rows).await)).await;
    assert_eq!(world.succeeds(pipeline).await.rows_rejected, 1);
    world.sql("update content.odd set name = 'short' where length(id) > 200; delete from analytics.odd").await;
    let cut = replay(&world, pipeline, None).await;
    assert_eq!((outcomes(&cut), &cut["left"]), (vec!["refused"], &json!(1)), "{cut}");
    assert!(cut["letters"][0]["error"].as_str().unwrap().contains("only the beginning of `id`"), "{cut}");
    assert_eq!(world.number("select count(*) from analytics.odd").await, 0);

    // Nor may a letter of another key be closed.
    world.sql(r#"update etl.etl_dead_letters set key = '{"code": 1}'"#).await;
    let other = replay(&world, pipeline, None).await;
    assert_eq!((outcomes(&other), &other["left"]), (vec!["refused"], &json!(1)), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_whose_rows_take_too_much_memory_are_not_replayed_at_once() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    world.sql("update content.item set name = 'much too long a name' where id <= 5").await;
    let pipeline = strict(&world, Mode::Incremental).await;
    assert_eq!(world.succeeds(pipeline).await.rows_rejected, 5);
    world.sql("update content.item set name = repeat('x', 15000000) where id <= 5").await;

    let report = world.ask(pipeline, &ReportRequest::Replay { ids: None }).await;
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    let error = report.error.unwrap();
    assert!(error.contains("more than 64 MiB together: replay fewer of them at once"), "{error}");
    assert_eq!(world.number("select count(*) from etl.etl_dead_letters where replayed_at is null").await, 5);
}
