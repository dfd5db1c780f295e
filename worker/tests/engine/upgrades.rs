//! A worker that is newer than its database.

use vitrina_shared::domain::{Mode, RunStatus};

use crate::support::{World, eventually, items};

/// How often anybody has asked which migrations there are. A session says so when it ends, so this cannot be missed as the
/// statement of a session can.
const ASKED: &str =
    "select seq_scan from pg_stat_user_tables where schemaname = 'etl' and relname = '_sqlx_migrations'";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_the_migrations_that_it_needs_and_then_works() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 5)).await;
    let run = world.run(pipeline).await;
    world.sql("create table public.newest as select * from etl._sqlx_migrations order by version desc limit 1").await;
    world.sql("delete from etl._sqlx_migrations where version = (select version from public.newest)").await;

    let before = world.number(ASKED).await;

    world.start_worker(&[]);
    // Two of them may be this test's own, told late.
    eventually("the worker's second question", || async { (world.number(ASKED).await >= before + 4).then_some(()) })
        .await;
    assert_eq!(world.find(run).await.status, RunStatus::Queued);
    assert_eq!(world.number("select count(*) from apalis.workers").await, 0, "it takes no part yet");

    world.sql("insert into etl._sqlx_migrations select * from public.newest").await;
    world.succeeded(run).await;
}
