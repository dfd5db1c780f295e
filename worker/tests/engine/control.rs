//! Pause, resume, cancel, disable; and that pipelines take turns.

use std::time::{Duration, Instant};

use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{Mode, PipelineId, RunStatus, Status},
};

use crate::support::{ITEMS, TESTER, World, draft, eventually, eventually_within, items};

/// A page of this takes most of a second.
const SLOW: &str = "select i.id, i.name, i.modified from content.item i
                    where (select count(*) from generate_series(1, 200000) g where g <> i.id) > 0";

async fn slow_world() -> (World, PipelineId) {
    let world = World::with_worker().await;
    world.items(1, 200).await;
    let pipeline = world.pipeline(&draft("slow", Mode::Incremental, SLOW, "analytics.item", 10)).await;
    (world, pipeline)
}

/// Waits until a page is being read.
async fn in_a_batch(world: &World) {
    eventually("a batch under way", || async {
        let active = "select count(*) from pg_stat_activity where datname = current_database()
                      and application_name like 'vitrina-worker%' and state = 'active' and query like '%run_batch%'
                      and clock_timestamp() - query_start > interval '20 ms'";
        (world.number(active).await > 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_asked_for_during_a_batch_and_effective_right_after_it() {
    let (world, pipeline) = slow_world().await;
    let run = world.run(pipeline).await;
    in_a_batch(&world).await;
    let before = world.find(run).await.batches;
    assert_eq!(world.pause(pipeline).await.unwrap(), Status::PauseRequested);
    assert_eq!(world.find(run).await.batches, before, "the request waited for the batch");
    world.reaches(pipeline, Status::Paused).await;
    let paused = world.find(run).await;
    assert_eq!(paused.status, RunStatus::Paused);
    assert_eq!(paused.batches, before + 1, "the batch in hand ends, and no other begins");
    assert_eq!(world.number("select count(*) from analytics.item").await, paused.batches * 10);
    world.assert_no_litter().await;

    assert_eq!(world.run(pipeline).await, run, "a resumed run is the same run");
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written, run.batches), (200, 200, 21));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_is_withdrawn_during_the_batch_changes_nothing() {
    let (world, pipeline) = slow_world().await;
    let run = world.run(pipeline).await;
    for _ in 0..3 {
        in_a_batch(&world).await;
        world.pause(pipeline).await.unwrap();
        assert_eq!(world.run(pipeline).await, run);
    }
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.batches), (200, 21));
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_paused_before_it_began_rests_and_can_be_resumed() {
    let mut world = World::new().await;
    world.items(1, 50).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let run = world.run(pipeline).await;
    world.pause(pipeline).await.unwrap();
    world.start_worker(&[]);
    world.reaches(pipeline, Status::Paused).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
    world.run(pipeline).await;
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_at_once_and_its_batch_is_not_committed() {
    let (world, pipeline) = slow_world().await;
    let run = world.run(pipeline).await;
    in_a_batch(&world).await;
    let committed = world.find(run).await.batches;
    assert_eq!(world.cancel(pipeline).await.unwrap(), Status::Idle);
    assert_eq!(world.find(run).await.status, RunStatus::Cancelled);
    world.assert_no_litter().await;
    assert_eq!(world.find(run).await.batches, committed);
    assert_eq!(world.number("select count(*) from analytics.item").await, committed * 10);
    assert_eq!(
        world.text("select checkpoint_id from etl.etl_state").await.unwrap_or_default(),
        if committed == 0 { String::new() } else { (committed * 10).to_string() }
    );

    // What was written stays, and the next run goes on from there.
    let next = world.succeeds(pipeline).await;
    assert_ne!(next.id, run);
    assert_eq!(next.rows_read, 200 - committed * 10);
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_before_it_began_leaves_nothing_behind() {
    let mut world = World::new().await;
    world.items(1, 50).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    // As if a worker had taken the job the moment before, and died.
    let run = world.run(pipeline).await;
    world
        .sql(
            "insert into apalis.workers (id, worker_type, storage_name, layers, last_seen)
               values ('dead', 'vitrina:batches', 'PostgresStorage', '', now() - interval '1 minute');
               update apalis.jobs set status = 'Queued', lock_by = 'dead', lock_at = now()",
        )
        .await;
    world.cancel(pipeline).await.unwrap();
    world.start_worker(&[]);
    world.assert_no_litter().await;
    assert_eq!(world.find(run).await.status, RunStatus::Cancelled);
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_is_disabled_while_it_runs_pauses() {
    let (world, pipeline) = slow_world().await;
    let run = world.run(pipeline).await;
    in_a_batch(&world).await;
    let shown = world.show(pipeline).await;
    let mut disabled = shown.draft.clone();
    disabled.enabled = false;
    definitions::change(world.db.pool(), pipeline, shown.version, &disabled, OnCheckpoint::Keep, TESTER).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    assert!(world.try_run(pipeline).await.is_err());
    let version = world.show(pipeline).await.version;
    disabled.enabled = true;
    definitions::change(world.db.pool(), pipeline, version, &disabled, OnCheckpoint::Keep, TESTER).await.unwrap();
    assert_eq!(world.run(pipeline).await, run);
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pipelines_share_one_slot() {
    let mut world = World::new().await;
    world.items(1, 100_000).await;
    world.target("other", "id bigint, name text, modified timestamptz", &["id"]).await;
    let one = world.pipeline(&items("one", Mode::Incremental, 5)).await;
    let two = world.pipeline(&draft("two", Mode::Incremental, ITEMS, "analytics.other", 5)).await;
    world.start_worker(&[("VITRINA_CONCURRENCY", "1")]);
    let one = world.run(one).await;
    let two = world.run(two).await;
    for _ in 0..2 {
        let before = (world.find(one).await.batches, world.find(two).await.batches);
        eventually("progress of both", || async {
            let (one, two) = (world.find(one).await, world.find(two).await);
            assert!(!one.status.is_final() && !two.status.is_final(), "one was over before both progressed");
            (one.batches > before.0 && two.batches > before.1).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_a_hundred_pipelines_is_done_without_a_poll() {
    let world = World::with_worker().await;
    world.items(1, 30).await;
    let mut pipelines = Vec::new();
    for number in 0..100 {
        world.target(&format!("burst{number}"), "id bigint, name text, modified timestamptz", &["id"]).await;
        let target = format!("analytics.burst{number}");
        pipelines.push(world.pipeline(&draft(&format!("burst{number}"), Mode::Incremental, ITEMS, &target, 10)).await);
    }
    let requested = futures_util::future::join_all(pipelines.iter().map(|pipeline| world.run(*pipeline))).await;
    eventually_within(Duration::from_secs(40), "the end of all runs", || async {
        (world.number("select count(*) from etl.etl_runs where status = 'SUCCESS'").await == 100).then_some(())
    })
    .await;
    for (number, run) in requested.into_iter().enumerate() {
        world.succeeded(run).await;
        world.assert_same(ITEMS, &format!("analytics.burst{number}")).await;
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_wake_up_is_lost_in_fifty_runs() {
    let world = World::with_worker().await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 10)).await;
    world.succeeds(pipeline).await;
    for round in 0..50 {
        let asked = Instant::now();
        let run = world.run(pipeline).await;
        eventually("a begun run", || async { world.find(run).await.started_at }).await;
        let waited = asked.elapsed();
        assert!(waited < Duration::from_secs(5), "round {round} waited {waited:?}: it was found by a poll");
        world.succeeded(run).await;
    }
}
