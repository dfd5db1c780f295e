//! Another source than the home database: everything that it needs to be read is in the directory beside this file.

mod listed;

use std::sync::Arc;

use vitrina_shared::{
    domain::{ErrorClass, FullStrategy, Mode, PipelineDraft, ReportRequest, ReportStatus},
    guard::Describing,
};

use self::listed::{COLUMNS, Listed};
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

#[tokio::test(flavor = "multi_thread")]
async fn reports_say_that_they_read_the_home_database_alone() {
    let (world, _, _worker) = world().await;
    let id = world.pipeline(&pipeline("listed", Mode::Full)).await;
    let report = world.ask(id, &ReportRequest::Preview { rows: 1 }).await;
    let report = world.reported(report).await;
    assert_eq!(report.status, ReportStatus::Failed);
    assert!(report.error.unwrap().contains("reads from `listed`"));
}
