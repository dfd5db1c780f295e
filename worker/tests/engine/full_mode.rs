//! Full runs: afterwards the mart equals the query, whatever was in it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use vitrina_shared::domain::{ErrorClass, Mode};

use crate::support::{ITEMS, World, draft, items};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_equals_the_query_and_rewrites_nothing_that_did_not_change() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 100)).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written), (1000, 1000));
    world.assert_same(ITEMS, "analytics.item").await;

    world.sql("delete from content.item where id % 10 = 0; update content.item set name = 'x' where id < 5").await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written), (900, 4));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_replaces_rows_one_for_one_when_as_many_are_gone_as_are_new() {
    let world = World::with_worker().await;
    world.items(1, 300).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 100)).await;
    world.succeeds(pipeline).await;
    world.sql("update content.item set id = id + 1000 where id <= 50").await;
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_refuses_several_rows_for_one_key_in_plain_words() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    let query = "select i.id, i.name, i.modified from content.item i cross join generate_series(1, 2) g";
    let pipeline = world.pipeline(&draft("twice", Mode::Full, query, "analytics.item", 4)).await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Fatal));
    assert!(run.error.unwrap().contains("several rows for one key"));
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_of_keys_alone_loses_stale_rows_though_the_query_repeats_itself() {
    let world = World::with_worker().await;
    world.items(1, 4).await;
    world.target("key", "id bigint", &["id"]).await;
    world.sql("insert into analytics.key values (99)").await;
    // Five rows with four keys, and five rows in the mart.
    let query = "select id from content.item union all select 1";
    let pipeline = world.pipeline(&draft("keys", Mode::Full, query, "analytics.key", 100)).await;
    world.succeeds(pipeline).await;
    world.assert_same("select id from content.item", "analytics.key").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_never_hides_a_row_that_stays() {
    let world = World::with_worker().await;
    world.items(1, 2000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 50)).await;
    world.succeeds(pipeline).await;
    world.sql("insert into analytics.item select n, 'stale', now() from generate_series(5001, 5100) n").await;

    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (done, pool) = (done.clone(), world.strangers(1));
        tokio::spawn(async move {
            let mut looks = 0_u32;
            while !done.load(Ordering::Relaxed) {
                let count: i64 = sqlx::query_scalar("select count(*) from analytics.item where id <= 2000")
                    .fetch_one(&pool)
                    .await
                    .unwrap();
                assert_eq!(count, 2000);
                looks += 1;
            }
            looks
        })
    };
    for round in 0..3 {
        world.sql(&format!("update content.item set name = 'round {round}' where id % 3 = {round}")).await;
        world.succeeds(pipeline).await;
    }
    done.store(true, Ordering::Relaxed);
    assert!(reader.await.unwrap() > 0);
    world.assert_same(ITEMS, "analytics.item").await;
}
