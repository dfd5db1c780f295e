//! Repairing what differs between a mart and its source.

use serde_json::json;
use vitrina_shared::{
    domain::{
        MaxRemoved, Mode, OnRowError, ReportRequest, ReportStatus, Status, Trigger,
        report::{Depth, Repair},
    },
    lifecycle::{self, WantedRun},
};

use crate::{
    reconcile::{assert_match, differences, reconcile, repair},
    support::{ITEMS, TESTER, World, draft, eventually, items},
};

/// One row changed, one lost and one too many.
const DRIFT: &str = "update analytics.item set name = 'changed' where id = 7;
    delete from analytics.item where id = 8;
    insert into analytics.item values (99999, 'extra', '2026-01-02')";

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_was_just_loaded_matches_at_every_depth() {
    let world = World::with_worker().await;
    world.items(1, 500).await;
    for (name, mode) in [("full", Mode::Full), ("incremental", Mode::Incremental)] {
        let pipeline = world.pipeline(&items(name, mode, 100)).await;
        world.succeeds(pipeline).await;
        for (depth, compared) in [
            (Depth::Counts, [None, None, None]),
            (Depth::Keys, [Some(0), Some(0), None]),
            (Depth::Rows, [Some(0), Some(0), Some(0)]),
        ] {
            let found = reconcile(&world, pipeline, depth).await;
            assert_match(&found);
            assert_eq!((found["source_rows"].as_i64(), differences(&found)), (Some(500), compared));
            assert_eq!((&found["source_max"], &found["source_min"]), (&found["target_max"], &found["target_min"]));
        }
        let control = reconcile(&world, pipeline, Depth::Counts).await;
        let (column, least) = match mode {
            Mode::Full => ("id", "1"),
            Mode::Incremental => ("modified", "2026-01-01 00:00:01+00"),
        };
        assert_eq!((&control["control_column"], &control["source_min"]), (&json!(column), &json!(least)));
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_drifted_is_named_and_repaired_and_then_matches() {
    let world = World::with_worker().await;
    world.items(1, 5000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 1000)).await;
    world.succeeds(pipeline).await;
    world.sql(DRIFT).await;

    let found = reconcile(&world, pipeline, Depth::Rows).await;
    assert_eq!((&found["verdict"], differences(&found)), (&json!("drift"), [Some(1); 3]));
    assert_eq!((&found["source_rows"], &found["target_rows"]), (&json!(5000), &json!(5000)));
    let both = json!({"name": {"source": "item 7", "target": "changed"}});
    assert_eq!(
        found["sample"],
        json!([
            {"kind": "different", "key": {"id": "7"}, "columns": both},
            {"kind": "missing", "key": {"id": "8"}, "columns": {}},
            {"kind": "extra", "key": {"id": "99999"}, "columns": {}},
        ])
    );
    assert_eq!(differences(&reconcile(&world, pipeline, Depth::Keys).await), [Some(1), Some(1), None]);
    assert_eq!(reconcile(&world, pipeline, Depth::Counts).await["verdict"], "drift");

    let repaired = repair(&world, pipeline, Repair::Differing).await;
    assert_eq!(repaired["repaired"], json!({"written": 2, "removed": 1}));
    assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(repair(&world, pipeline, Repair::All).await["repaired"], json!({"written": 0, "removed": 0}));
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_differences_are_counted_sampled_and_repaired() {
    let world = World::with_worker().await;
    world.items(1, 4000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 1000)).await;
    world.succeeds(pipeline).await;
    world
        .sql("update analytics.item set name = 'x' where id <= 1500; delete from analytics.item where id > 2500")
        .await;
    let found = reconcile(&world, pipeline, Depth::Rows).await;
    assert_eq!(differences(&found), [Some(1500), Some(0), Some(1500)]);
    assert_eq!(found["sample"].as_array().unwrap().len(), 20);
    repair(&world, pipeline, Repair::Differing).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_mart_keeps_rows_without_a_source_unless_all_is_to_be_repaired() {
    let world = World::with_worker().await;
    world.items(1, 200).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.item where id = 50; delete from analytics.item where id = 60").await;
    let found = repair(&world, pipeline, Repair::Differing).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(1), Some(1), Some(0)], &json!({"written": 1, "removed": 0}))
    );
    let found = repair(&world, pipeline, Repair::All).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(0), Some(1), Some(0)], &json!({"written": 0, "removed": 1}))
    );
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_begins_while_rows_are_repaired() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 50)).await;
    world.succeeds(pipeline).await;
    world.sql("update analytics.item set name = 'x' where id = 3").await;
    let mut lock = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("select from analytics.item where id = 3 for update").execute(&mut *lock).await.unwrap();
    let asked = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    let report = world.ask(pipeline, &asked).await;
    eventually("a repair that waits for the row", || async {
        let waiting = "select count(*) from pg_stat_activity
                       where wait_event_type = 'Lock' and datname = current_database() and application_name like 'vitrina-worker %'";
        (world.number(waiting).await > 0).then_some(())
    })
    .await;
    let requested = tokio::spawn({
        let db = world.db.pool().clone();
        let wanted = WantedRun::by(Trigger::Api);
        async move { lifecycle::request_run(&db, &pipeline.into(), wanted, TESTER).await }
    });
    eventually("a request that waits for the repair", || async {
        let waiting = "select count(*) from pg_stat_activity
                       where wait_event_type = 'Lock' and datname = current_database()
                         and query like '%etl_pipelines%for no key update%'";
        (world.number(waiting).await > 0).then_some(())
    })
    .await;
    assert_eq!(world.show(pipeline).await.status, Status::Idle);
    lock.rollback().await.unwrap();
    assert_eq!(world.result(report).await["repaired"], json!({"written": 1, "removed": 0}));
    let run = requested.await.unwrap().unwrap().run.id;
    world.succeeded(run).await;
}

/// Rows that hold each other's unique values: none can be written while the other one is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_of_a_row_that_the_mart_refuses_says_so_and_writes_nothing() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world.target("small", "id bigint check (id < 20), name text, modified timestamptz", &["id"]).await;
    let mut draft = draft("small", Mode::Incremental, ITEMS, "analytics.small", 50);
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    let pipeline = world.pipeline(&draft).await;
    assert_eq!(world.succeeds(pipeline).await.rows_rejected, 1);
    world.sql("delete from analytics.small where id = 7").await;

    let request = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    let report = world.ask(pipeline, &request).await;
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    let error = report.error.unwrap();
    assert!(error.starts_with("nothing was repaired, the mart refuses a row of the source: "), "{error}");
    assert_eq!(world.number("select count(*) from analytics.small").await, 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_values_that_changed_places_are_repaired_or_named() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world.target("slug", "id bigint, name text unique, modified timestamptz", &["id"]).await;
    let pipeline = world.pipeline(&draft("slugs", Mode::Incremental, ITEMS, "analytics.slug", 50)).await;
    world.succeeds(pipeline).await;
    world
        .sql("alter table content.item disable trigger user; update content.item set name = 'item ' || id % 20 + 1")
        .await;

    let request = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    let report = world.ask(pipeline, &request).await;
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    let error = report.error.unwrap();
    assert!(error.starts_with("nothing was repaired, another row of the mart has a value that is unique"), "{error}");

    assert_eq!(repair(&world, pipeline, Repair::All).await["repaired"], json!({"written": 20, "removed": 0}));
    world.assert_same(ITEMS, "analytics.slug").await;
}

/// The source is loaded anew while a repair of it waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_removes_no_more_than_may_be_though_rows_went_after_they_were_compared() {
    let world = World::with_worker().await;
    world.items(1, 3000).await;
    let mut careful = items("items", Mode::Full, 5000);
    careful.options.max_removed = Some(MaxRemoved::Rows(50));
    let pipeline = world.pipeline(&careful).await;
    world.succeeds(pipeline).await;
    world.sql("update analytics.item set name = 'drift'").await;
    let mut lock = world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("select from etl.etl_pipelines for no key update").execute(&mut *lock).await.unwrap();
    let asked = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
    let report = world.ask(pipeline, &asked).await;
    eventually("a repair that waits for the pipeline", || async {
        let waiting = "select count(*) from pg_stat_activity
                       where wait_event_type = 'Lock' and datname = current_database() and application_name like 'vitrina-worker %'";
        (world.number(waiting).await > 0).then_some(())
    })
    .await;
    world.sql("delete from content.item where id > 100").await;
    lock.rollback().await.unwrap();
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    assert!(report.error.as_ref().unwrap().starts_with("2900 of the 3000 rows"), "{:?}", report.error);
    assert_eq!(world.number("select count(*) from analytics.item").await, 3000);
}
