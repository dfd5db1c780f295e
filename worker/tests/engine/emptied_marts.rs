//! Marts that were created anew, truncated or rewritten: what a checkpoint says of them may not be true any more.

use vitrina_shared::domain::{Mode, PipelineId, RunStatus, Status};

use crate::support::{World, draft, eventually};

const QUERY: &str = "select id, name, modified from content.item";
const CHANGES: [&str; 3] = [
    "truncate analytics.item",
    "vacuum full analytics.item",
    "alter table analytics.item rename to old; create table analytics.item (like analytics.old including all);
     alter table analytics.item owner to vitrina_mart",
];

async fn items(world: &World, count: i32) {
    world
        .sql(&format!(
            "insert into content.item
             select n, 'n', '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, {count}) n"
        ))
        .await;
}

async fn filled(pipelines: &[&str]) -> (World, Vec<PipelineId>) {
    let world = World::with_worker().await;
    items(&world, 50).await;
    let mut ids = Vec::new();
    for name in pipelines {
        let pipeline = world.pipeline(&draft(name, Mode::Incremental, QUERY, "analytics.item", 7)).await;
        world.succeeds(pipeline).await;
        ids.push(pipeline);
    }
    (world, ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_was_made_anew_is_filled_again_by_every_pipeline_of_it() {
    for change in CHANGES {
        let (world, pipelines) = filled(&["one", "two"]).await;
        world.sql(change).await;
        // It is not empty any more when the pipelines run.
        world.sql("insert into analytics.item values (99999, 'other', now()) on conflict do nothing").await;
        for pipeline in &pipelines {
            let run = world.succeeds(*pipeline).await;
            assert_eq!((run.rows_read, run.checkpoint_from), (50, None), "{change}");
        }
        assert_eq!(world.number("select count(*) from analytics.item").await, 51, "{change}");
        // Once: the next run goes on from its checkpoint.
        for pipeline in pipelines {
            assert!(world.succeeds(pipeline).await.checkpoint_from.is_some(), "{change}");
        }
    }
}

/// Paused in the middle, and before its first batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_rested_while_its_mart_was_truncated_fails_and_the_next_one_reads_everything() {
    for batches in [0, 5] {
        let (world, pipelines) = filled(&["items"]).await;
        let pipeline = pipelines[0];
        world.sql("truncate content.item").await;
        items(&world, 2_000).await;
        world.sql("update content.item set modified = modified + interval '1 day'").await;
        let mut lock = world.db.admin().acquire().await.unwrap();
        if batches == 0 {
            sqlx::raw_sql("begin; lock table analytics.item").execute(&mut *lock).await.unwrap();
        }
        let run = world.run(pipeline).await;
        eventually("a run that is under way", || async {
            let found = world.find(run).await;
            (found.started_at.is_some() && found.batches >= batches).then_some(())
        })
        .await;
        world.pause(pipeline).await.unwrap();
        world.reaches(pipeline, Status::Paused).await;
        if batches == 0 {
            sqlx::raw_sql("rollback").execute(&mut *lock).await.unwrap();
            assert_eq!(world.find(run).await.batches, 0);
        }
        world.sql("truncate analytics.item").await;
        assert_eq!(world.run(pipeline).await, run);
        let ended = world.ended(run).await;
        assert_eq!(ended.status, RunStatus::Failed);
        let error = ended.error.unwrap();
        assert!(error.contains("was created anew, truncated or rewritten since the run began"), "{error}");
        world.succeeds(pipeline).await;
        world.assert_same(QUERY, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_is_truncated_while_a_run_writes_it_is_filled_by_the_next_run() {
    let world = World::with_worker().await;
    items(&world, 2_000).await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, QUERY, "analytics.item", 3)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
    world.sql("truncate analytics.item").await;
    world.ended(run).await;
    world.succeeds(pipeline).await;
    world.assert_same(QUERY, "analytics.item").await;
}
