//! Full runs that replace everything at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use vitrina_shared::domain::{ErrorClass, FullStrategy, MaxRemoved, Mode, PipelineDraft, Status};

use crate::support::{ITEMS, World, draft, eventually, items};

const GATHERED: &str = "select count(*) from pg_tables where schemaname = 'etl_swap'";

fn swapping(draft: PipelineDraft) -> PipelineDraft {
    let mut draft = draft;
    draft.options.full_strategy = Some(FullStrategy::Swap);
    draft
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_everything_old_or_everything_new() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    let mut draft = swapping(items("items", Mode::Full, 50));
    draft.options.max_removed = Some(MaxRemoved::EVERYTHING);
    let pipeline = world.pipeline(&draft).await;
    world.sql("update content.item set name = 'round 0'").await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 1000);

    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (done, pool) = (done.clone(), world.strangers(1));
        tokio::spawn(async move {
            while !done.load(Ordering::Relaxed) {
                let seen: (i64, i64) = sqlx::query_as("select count(*), count(distinct name) from analytics.item")
                    .fetch_one(&pool)
                    .await
                    .unwrap();
                assert_eq!(seen, (1000, 1));
            }
        })
    };
    for round in 1..4 {
        world.sql(&format!("update content.item set name = 'round {round}', id = id + 5000")).await;
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS, "analytics.item").await;
    }
    done.store(true, Ordering::Relaxed);
    reader.await.unwrap();
    assert_eq!(world.succeeds(pipeline).await.rows_written, 0);
    assert_eq!(world.number(GATHERED).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_survives_the_death_of_its_worker_and_a_pause() {
    let mut world = World::new().await;
    world.items(1, 5000).await;
    let pipeline = world.pipeline(&swapping(items("items", Mode::Full, 20))).await;
    let first = world.worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2")]);
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
    drop(first);
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2")]);
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 0, "something was written before the end");
    world.run(pipeline).await;
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (5000, 5000));
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.number(GATHERED).await, 0);
}

/// The indexes of a mart decide whether it is swapped, and they may change while a run rests.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_as_it_began_though_an_index_comes_or_goes() {
    let unique = "create unique index slug_name on analytics.slug (name)";
    let plain = "drop index if exists analytics.slug_name";
    for (first, then) in [(unique, plain), (plain, unique)] {
        let mut world = World::new().await;
        world.items(1, 1500).await;
        world.target("slug", "id bigint, name text, modified timestamptz", &["id"]).await;
        world.sql(first).await;
        let draft = draft("slugs", Mode::Incremental, ITEMS, "analytics.slug", 5);
        let pipeline = world.pipeline(&draft).await;
        world.start_worker(&[]);
        world.succeeds(pipeline).await;
        world.sql("update content.item set name = 'new ' || name").await;
        let run = world.run_as(pipeline, true, false).await.unwrap();
        eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
        world.pause(pipeline).await.unwrap();
        world.reaches(pipeline, Status::Paused).await;
        world.sql(then).await;
        world.stop_workers().await;
        world.start_worker(&[]);

        assert_eq!(world.run(pipeline).await, run);
        let run = world.succeeded(run).await;

        assert_eq!((run.rows_read, run.rows_written, run.rows_removed), (1500, 1500, 0), "{then}");
        world.assert_same(ITEMS, "analytics.slug").await;
        assert_eq!(world.number(GATHERED).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_with_several_rows_for_one_key_fails_and_the_mart_stays_as_it_was() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    world.sql("insert into analytics.item values (5, 'as it was', now())").await;
    let query = "select i.id, i.name, i.modified from content.item i cross join generate_series(1, 2) g";
    let pipeline = world.pipeline(&swapping(draft("twice", Mode::Full, query, "analytics.item", 4))).await;
    let run = world.fails(pipeline).await;
    let sentence = "the query returns several rows for one key of the target: make the key unique in the query";
    assert_eq!((run.error_class, run.error.as_deref()), (Some(ErrorClass::Fatal), Some(sentence)));
    assert_eq!(world.text("select name from analytics.item").await.as_deref(), Some("as it was"));
}
