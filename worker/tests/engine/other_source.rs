//! Another source than the home database: everything that it needs to be read is in the directory beside this file.

mod listed;
#[allow(dead_code, reason = "shared with the conformance suite, which uses other parts of it")]
#[path = "../conformance/memory/sink.rs"]
mod memory;

use std::sync::Arc;

use serde_json::{Value, json};
use vitrina_shared::{
    domain::{
        ErrorClass, FullStrategy, Mode, OnRowError, PipelineDraft, PipelineId, PipelineOptions, Report, ReportRequest,
        ReportStatus,
        report::{Depth, Repair},
    },
    guard::Describing,
};

use self::{
    listed::{COLUMNS, Listed},
    memory::Memory,
};
use crate::support::{RunningWorker, World, draft, items};

/// A world with a mart for the list, and a worker that reads it besides the home database.
async fn world() -> (World, Listed, RunningWorker) {
    let world = World::new().await;
    world.target("listed", "id bigint, name text, version bigint", &["id"]).await;
    let listed = Listed::new(Describing::new(world.db.pool().clone()));
    for id in 1..=25 {
        listed.put(id, &format!("row {id}"), 100 + id);
    }
    let worker = world.worker_with(&[], |worker| worker.with_source(Arc::new(listed.clone())));
    (world, listed, worker)
}

fn pipeline(name: &str, mode: Mode) -> PipelineDraft {
    let incremental_key = (mode == Mode::Incremental).then(|| "version".to_owned());
    PipelineDraft { incremental_key, ..draft(name, mode, COLUMNS, "analytics.listed", 10) }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_run_reads_another_source_page_by_page_and_goes_on_where_it_stopped() {
    let (world, listed, _worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Incremental)).await;

    let run = world.succeeds(id).await;

    assert_eq!((run.rows_read, run.rows_written, run.batches), (25, 25, 3));
    world.assert_same(&listed.as_query(), "analytics.listed").await;
    assert_eq!(world.checkpoint(id).await, Some(("125".to_owned(), Some("25".to_owned()))));

    listed.put(3, "changed", 126);
    listed.put(26, "new", 127);
    let run = world.succeeds(id).await;

    // The row with the checkpoint's own key comes again.
    assert_eq!((run.rows_read, run.rows_written), (3, 2));
    world.assert_same(&listed.as_query(), "analytics.listed").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_makes_a_mart_equal_to_another_source() {
    let (world, listed, _worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Full)).await;
    world.succeeds(id).await;
    world.assert_same(&listed.as_query(), "analytics.listed").await;

    listed.remove(7);
    listed.put(8, "changed", 1);
    let run = world.succeeds(id).await;

    assert_eq!((run.rows_read, run.rows_written, run.rows_removed), (24, 1, 1));
    world.assert_same(&listed.as_query(), "analytics.listed").await;

    let mut merged = pipeline("listed_and_merged", Mode::Full);
    merged.options.full_strategy = Some(FullStrategy::Merge);
    let id = world.pipeline(&merged).await;
    let run = world.fails(id).await;
    assert!(run.error.unwrap().starts_with("a full run that reads from `listed` gathers its rows"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_of_an_incremental_pipeline_leaves_a_checkpoint_of_the_other_source() {
    let (world, listed, _worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Incremental)).await;
    world.succeeds(id).await;
    listed.remove(7);

    let run = world.succeeds_in_full(id).await;

    assert_eq!((run.rows_read, run.rows_removed), (24, 1));
    world.assert_same(&listed.as_query(), "analytics.listed").await;
    listed.put(26, "new", 126);
    let run = world.succeeds(id).await;
    assert_eq!((run.rows_read, run.rows_written), (2, 1));
    world.assert_same(&listed.as_query(), "analytics.listed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_for_a_moment_is_read_again_and_home_is_read_beside_it() {
    let (world, listed, _worker) = world().await;
    world.items(1, 30).await;
    let (other, home) = (pipeline("listed", Mode::Incremental), items("home", Mode::Incremental, 10));
    let (other, home) = (world.pipeline(&other).await, world.pipeline(&home).await);
    listed.fail(1);

    let run = world.succeeds(other).await;

    assert_eq!((run.attempts, run.error_class), (1, Some(ErrorClass::Transient)));
    assert!(run.error.unwrap().contains("the list is away"));
    world.assert_same(&listed.as_query(), "analytics.listed").await;
    world.succeeds(home).await;
    world.assert_same(crate::support::ITEMS, "analytics.item").await;
}

/// The list into the sink of the tests, in this mode.
async fn into_memory(mode: Mode, options: PipelineOptions) -> (World, Listed, Memory, RunningWorker, PipelineId) {
    let (world, listed, worker) = world().await;
    drop(worker);
    world.sql("insert into etl.etl_targets (target, key) values ('memory:listed', '{id}')").await;
    let memory = Memory::default();
    let worker = world
        .worker_with(&[], |worker| worker.with_source(Arc::new(listed.clone())).with_sink(Arc::new(memory.clone())));
    let mut draft = PipelineDraft { target_table: "memory:listed".to_owned(), ..pipeline("listed", mode) };
    draft.options = PipelineOptions { key_order: draft.options.key_order, ..options };
    let id = world.pipeline(&draft).await;
    (world, listed, memory, worker, id)
}

async fn reconcile(world: &World, pipeline: PipelineId, depth: Depth, repair: Repair) -> Value {
    world.report(pipeline, &ReportRequest::Reconcile { depth, repair }).await
}

/// Rows of both sides, those in flight, and what differs.
fn numbers(found: &Value) -> [Option<i64>; 6] {
    ["source_rows", "target_rows", "in_flight", "missing", "extra", "different"].map(|name| found[name].as_i64())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_source_is_compared_with_an_external_sink_which_is_repaired() {
    for mode in [Mode::Full, Mode::Incremental] {
        let (world, listed, memory, _worker, id) = into_memory(mode, PipelineOptions::default()).await;
        world.succeeds(id).await;
        for (depth, compared) in [
            (Depth::Counts, [None, None, None]),
            (Depth::Keys, [Some(0), Some(0), None]),
            (Depth::Rows, [Some(0), Some(0), Some(0)]),
        ] {
            let found = reconcile(&world, id, depth, Repair::Nothing).await;
            assert_eq!(found["verdict"], "match", "{found}");
            assert_eq!(
                (&numbers(&found)[..3], &numbers(&found)[3..]),
                (&[Some(25), Some(25), Some(0)][..], &compared[..])
            );
        }

        memory.plant("1", |_| None);
        let found = reconcile(&world, id, Depth::Counts, Repair::Nothing).await;
        assert_eq!((&found["verdict"], &found["target_rows"]), (&json!("drift"), &json!(24)), "{found}");
        memory.plant("2", |doc| Some(doc.replace("row 2", "planted")));
        memory.plant("1000", |_| Some(r#"{"id":1000,"name":"extra","version":1}"#.to_owned()));
        let found = reconcile(&world, id, Depth::Keys, Repair::Nothing).await;
        assert_eq!(numbers(&found)[3..], [Some(1), Some(1), None], "{found}");
        let found = reconcile(&world, id, Depth::Rows, Repair::Nothing).await;
        assert_eq!(numbers(&found)[3..], [Some(1), Some(1), Some(1)], "{found}");
        let changed =
            &found["sample"].as_array().unwrap().iter().find(|row| row["kind"] == "different").unwrap()["columns"];
        assert_eq!(changed, &json!({"name": {"source": "row 2", "target": "planted"}}));

        let repaired = reconcile(&world, id, Depth::Rows, Repair::All).await;
        assert_eq!(repaired["repaired"], json!({"written": 2, "removed": 1}), "{repaired}");
        listed.put(26, "after the checkpoint", 126);
        let found = reconcile(&world, id, Depth::Rows, Repair::Nothing).await;
        let expected = match mode {
            Mode::Full => [26, 25, 0, 1, 0, 0],
            Mode::Incremental => [25, 25, 1, 0, 0, 0],
        };
        assert_eq!(numbers(&found), expected.map(Some), "{found}");
        world.assert_no_litter().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_the_first_rows_of_another_source() {
    let (world, listed, _worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Incremental)).await;
    listed.put(25, "first by its version", 1);
    let preview = world.report(id, &ReportRequest::preview(2)).await;
    assert_eq!(
        preview["rows"],
        json!([{"id": 25, "name": "first by its version", "version": 1}, {"id": 1, "name": "row 1", "version": 101}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_writes_the_row_that_another_source_has_now() {
    let options = PipelineOptions { on_row_error: Some(OnRowError::DeadLetter), ..PipelineOptions::default() };
    let (world, listed, memory, _worker, id) = into_memory(Mode::Incremental, options).await;
    listed.put(7, "infinity", 107);
    listed.put(8, "infinity", 108);
    let run = world.succeeds(id).await;
    assert_eq!((run.rows_written, run.rows_rejected), (23, 2));
    listed.put(7, "mended", 200);
    listed.remove(8);
    let replay = world.report(id, &ReportRequest::Replay { ids: None }).await;
    let outcomes: Vec<_> = replay["letters"].as_array().unwrap().iter().map(|letter| &letter["outcome"]).collect();
    assert_eq!((outcomes, &replay["left"]), (vec![&json!("written"), &json!("gone")], &json!(0)), "{replay}");
    assert_eq!(memory.documents()["7"], r#"{"id":7,"name":"mended","version":200}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_say_what_another_source_cannot_do() {
    let (world, mut listed, worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Full)).await;
    let compare = ReportRequest::Reconcile { depth: Depth::Keys, repair: Repair::Nothing };
    let refused = |report: Report, reason: &str| {
        assert_eq!(report.status, ReportStatus::Failed);
        assert!(report.error.as_ref().unwrap().contains(reason), "{:?}", report.error);
    };
    let report = world.ask(id, &compare).await;
    refused(
        world.reported(report).await,
        "a mart is compared inside the home database, and the pipeline reads from `listed`",
    );

    drop(worker);
    listed.pages_only = true;
    let _worker = world.worker_with(&[], |worker| worker.with_source(Arc::new(listed)));
    let report = world.ask(id, &ReportRequest::preview(1)).await;
    refused(world.reported(report).await, "the pipeline's source cannot return rows for a report");
}
