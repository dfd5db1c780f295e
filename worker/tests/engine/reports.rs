//! Reports as jobs of the queue, and previews.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    ErrorClass, Mode, ReportRequest, ReportStatus, Task, TaskKind,
    report::{Depth, Repair},
};

use crate::support::{ITEMS, World, draft, eventually, items};

const PREVIEW: ReportRequest = ReportRequest::preview(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_the_first_rows_as_they_would_be_written_and_writes_nothing() {
    let world = World::with_worker().await;
    world.items(1, 50).await;
    world.target("short", "id bigint, name text, score numeric(4, 1)", &["id"]).await;
    let query = "select id, name, id / 3.0 as score, modified from content.item";
    let pipeline = world.pipeline(&draft("short", Mode::Incremental, query, "analytics.short", 10)).await;

    let preview = world.report(pipeline, &PREVIEW).await;
    // Cast as the mart casts, in the order of the walk, without the key that only carries the walk.
    assert_eq!(
        preview["rows"],
        json!([{"id": 1, "name": "item 1", "score": 0.3}, {"id": 2, "name": "item 2", "score": 0.7}])
    );
    let columns: Vec<_> = preview["columns"].as_array().unwrap().iter().map(|c| (&c["name"], &c["type"])).collect();
    assert_eq!(columns[2], (&json!("score"), &json!("numeric(4,1)")));
    assert_eq!(preview["omitted"], 0);
    assert_eq!(world.number("select count(*) from analytics.short").await, 0);
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_pages_by_itself_can_be_previewed() {
    let world = World::with_worker().await;
    world.items(1, 50).await;
    let query = "select id, name, modified from content.item
                 where (:after_key::timestamptz is null or (modified, id) > (:after_key, :after_id)) and modified < :upper
                 order by modified, id limit :limit";
    let pipeline = world.pipeline(&draft("pages", Mode::Incremental, query, "analytics.item", 10)).await;
    let preview = world.report(pipeline, &PREVIEW).await;
    assert_eq!(preview["rows"][1]["name"], "item 2");
    assert_eq!(preview["rows"].as_array().unwrap().len(), 2);
}

/// The step is in no plan, its columns are none of the mart's, and the pipeline's own steps are not executed.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_tried_on_rows_of_a_pipelines_query_without_its_plan() {
    let world = World::with_worker().await;
    world.items(1, 3).await;
    let pipeline = world.pipeline(&items("plain", Mode::Incremental, 10)).await;
    let trial = |body: &str, options| ReportRequest::Preview {
        rows: 2,
        step: Some(Box::new(step(2, TaskKind::Rust, body, options))),
    };
    let shown = world.report(pipeline, &trial("rename", json!({"columns": {"name": "title"}}))).await;
    assert_eq!((&shown["rows"][1]["title"], &shown["rows"][1]["name"]), (&json!("item 2"), &Value::Null));
    let columns: Vec<_> = shown["columns"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(columns, ["id", "title", "modified"]);
    let shown = world.report(pipeline, &trial("cast", json!({"columns": {"name": "integer"}}))).await;
    assert_eq!(shown["rows"], json!([]));
    assert_eq!(shown["refused"].as_array().map(Vec::len), Some(2), "{shown}");
    for (body, options, expected) in [
        ("rename", json!({"columns": {"other": "title"}}), "there is no column `other`"),
        ("nothing", json!({}), "nothing"),
        ("mask", json!({"columns": []}), "name at least one column"),
    ] {
        let report = world.ask(pipeline, &trial(body, options)).await;
        let report = world.reported(report).await;
        assert_eq!(report.status, ReportStatus::Failed);
        assert!(report.error.as_ref().unwrap().contains(expected), "{body}: {:?}", report.error);
    }
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_what_transforms_make_of_rows() {
    let world = World::with_worker().await;
    world.items(1, 3).await;
    world.target("masked", "id bigint, title text, modified timestamptz", &["id"]).await;
    let mut masked = draft("masked", Mode::Incremental, "unused", "analytics.masked", 10);
    masked.source_query = None;
    masked.tasks = vec![
        step(1, TaskKind::Sql, ITEMS, json!({})),
        step(2, TaskKind::Rust, "rename", json!({"columns": {"name": "title"}})),
        step(3, TaskKind::Rust, "mask", json!({"columns": ["title"], "show_last": 1})),
    ];
    let pipeline = world.pipeline(&masked).await;
    let preview = world.report(pipeline, &PREVIEW).await;
    assert_eq!(preview["rows"][1]["title"], "*****2", "{preview}");
    let keys = ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::Nothing };
    assert_eq!(world.report(pipeline, &keys).await["missing"], 3);
    world.succeeds(pipeline).await;
    for depth in [Depth::Counts, Depth::Keys] {
        let found = world.report(pipeline, &ReportRequest::Reconcile { depth, repair: Repair::Nothing }).await;
        assert_eq!(found["verdict"], "match", "{found}");
    }
    let rows = world.ask(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing }).await;
    assert_eq!(world.reported(rows).await.status, ReportStatus::Failed);
}

fn step(order_index: i32, task_type: TaskKind, body: &str, options: Value) -> Task {
    let Value::Object(options) = options else { panic!("options are an object") };
    Task { order_index, task_type, body: body.to_owned(), target_table: None, options }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_too_wide_are_counted_and_do_not_leave_the_server() {
    let world = World::with_worker().await;
    world.items(1, 3).await;
    world.sql("update content.item set name = repeat('x', 70000) where id = 1").await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 10)).await;
    let preview = world.report(pipeline, &PREVIEW).await;
    assert_eq!((&preview["omitted"], &preview["rows"][0]["id"]), (&json!(1), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_about_a_query_that_is_wrong_by_now_fails_with_the_reason() {
    let world = World::with_worker().await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 10)).await;
    world.sql("alter table content.item drop column name").await;
    let report = world.ask(pipeline, &PREVIEW).await;
    let report = world.reported(report).await;
    assert_eq!((report.status, report.error_class), (ReportStatus::Failed, Some(ErrorClass::Fatal)));
    assert!(report.error.unwrap().contains("name"), "the message names the column");
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_cut_off_is_tried_again() {
    let world = World::with_worker().await;
    world.items(1, 3).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 10)).await;
    let mut lock = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table content.item").execute(&mut *lock).await.unwrap();
    let report = world.ask(pipeline, &PREVIEW).await;
    eventually("a failed attempt", || async { (world.find_report(report).await.attempts > 0).then_some(()) }).await;
    let waiting = world.find_report(report).await;
    assert_eq!((waiting.status, waiting.error_class), (ReportStatus::Running, Some(ErrorClass::Transient)));
    lock.rollback().await.unwrap();
    let result = world.result(report).await;
    assert_eq!(result["rows"].as_array().unwrap().len(), 2);
    assert_eq!(world.find_report(report).await.error, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_survives_the_death_of_its_worker_and_the_loss_of_its_job() {
    let mut world = World::new().await;
    world.items(1, 3).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 10)).await;
    let report = world.ask(pipeline, &PREVIEW).await;
    // What a worker leaves behind that was killed in the middle of it.
    world
        .sql(
            "insert into apalis.workers (id, worker_type, storage_name, last_seen)
             values ('dead', 'vitrina:batches', 'x', now() - interval '1 hour');
             update apalis.jobs set status = 'Running', lock_by = 'dead', lock_at = now();
             update etl.etl_reports set status = 'RUNNING', started_at = now()",
        )
        .await;
    let lost = world.ask(pipeline, &PREVIEW).await;
    world.sql("delete from apalis.jobs where status = 'Pending'").await;
    world.start_worker(&[]);
    for report in [report, lost] {
        assert_eq!(world.result(report).await["rows"].as_array().unwrap().len(), 2);
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_kills_every_worker_is_given_up_and_no_run_is() {
    let mut world = World::new().await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 10)).await;
    let report = world.ask(pipeline, &PREVIEW).await;
    // Not due, so that maintenance finds it and no worker does. What is due later than jobs ever are is taken for a step of the clock.
    world.sql("update apalis.jobs set attempts = max_attempts, run_at = now() + interval '50 seconds'").await;
    world.start_worker(&[]);
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    assert_eq!(report.error.as_deref(), Some("every worker that took this report died"));
    assert_eq!(world.number("select count(*) from etl.etl_runs").await, 0);
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_take_no_slot_from_batches_and_wait_for_slots_of_their_own() {
    let mut world = World::new().await;
    world.items(1, 3).await;
    world.sql("create table content.other as table content.item").await;
    world.target("other", "id bigint, name text, modified timestamptz", &["id"]).await;
    // Of one pipeline there is one preview at a time.
    let blocked = world.pipeline(&items("blocked", Mode::Full, 10)).await;
    let blocked_too = world.pipeline(&items("blocked_too", Mode::Full, 10)).await;
    let query = "select id, name, modified from content.other";
    let free = world.pipeline(&draft("free", Mode::Full, query, "analytics.other", 10)).await;
    world.start_worker(&[("VITRINA_CONCURRENCY", "1")]);
    let mut lock = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table content.item").execute(&mut *lock).await.unwrap();
    let mut reports = Vec::new();
    for pipeline in [blocked, blocked_too, blocked, blocked_too, blocked] {
        reports.push(world.ask(pipeline, &PREVIEW).await);
    }
    eventually("reports in hand", || async {
        let begun = world.number("select count(*) from etl.etl_reports where status = 'RUNNING'").await;
        (begun == 2).then_some(())
    })
    .await;
    world.succeeds(free).await;
    lock.rollback().await.unwrap();
    for report in reports {
        world.result(report).await;
    }
    world.assert_no_litter().await;
}
