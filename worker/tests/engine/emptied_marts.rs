//! Marts that were dropped and created again, or truncated: what a checkpoint says of them is not true any more.

use vitrina_shared::domain::{Mode, RunStatus, Status};

use crate::support::{World, draft};

const QUERY: &str = "select id, name, modified from content.item";
const MADE_ANEW: [&str; 2] = [
    "truncate analytics.item",
    "alter table analytics.item rename to old; create table analytics.item (like analytics.old including all);
     alter table analytics.item owner to vitrina_mart",
];

async fn filled(pipelines: &[&str]) -> (World, Vec<vitrina_shared::domain::PipelineId>) {
    let world = World::with_worker().await;
    world.sql("insert into content.item select n, 'n', '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 50) n").await;
    let mut ids = Vec::new();
    for name in pipelines {
        let pipeline = world.pipeline(&draft(name, Mode::Incremental, QUERY, "analytics.item", 7)).await;
        world.succeeds(pipeline).await;
        ids.push(pipeline);
    }
    (world, ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_was_made_anew_is_filled_again_and_by_every_pipeline_of_it() {
    for change in MADE_ANEW {
        let (world, pipelines) = filled(&["one", "two"]).await;
        world.sql(change).await;
        for pipeline in &pipelines {
            let run = world.succeeds(*pipeline).await;
            assert_eq!((run.rows_read, run.checkpoint_from), (50, None), "{change}");
            world.assert_same(QUERY, "analytics.item").await;
        }
        // Once: the next run goes on from its checkpoint.
        for pipeline in pipelines {
            assert!(world.succeeds(pipeline).await.checkpoint_from.is_some(), "{change}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_was_rewritten_with_its_rows_keeps_its_checkpoint() {
    let (world, pipelines) = filled(&["one"]).await;
    world.sql("vacuum full analytics.item").await;
    assert!(world.succeeds(pipelines[0]).await.checkpoint_from.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_rested_while_its_mart_was_truncated_fails_and_the_next_one_reads_everything() {
    let world = World::with_worker().await;
    world.sql("insert into content.item select n, 'n', '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 2000) n").await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, QUERY, "analytics.item", 3)).await;
    let run = world.run(pipeline).await;
    crate::support::eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    world.sql("truncate analytics.item").await;
    assert_eq!(world.run(pipeline).await, run);
    let ended = world.ended(run).await;
    assert_eq!(ended.status, RunStatus::Failed);
    let error = ended.error.unwrap();
    assert!(error.contains("was created anew or truncated since the run began"), "{error}");
    world.succeeds(pipeline).await;
    world.assert_same(QUERY, "analytics.item").await;
}
