//! A worker that is newer than its database.

use vitrina_shared::domain::{Mode, RunStatus};

use crate::support::{World, eventually, items};

/// When the worker last asked which migrations there are.
const ASKED: &str = "select max(query_start)::text from pg_stat_activity \
                     where datname = current_database() and query like '%from etl._sqlx_migrations%' \
                       and application_name = 'vitrina-worker-control'";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_the_migrations_that_it_needs_and_then_works() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 5)).await;
    let run = world.run(pipeline).await;
    world.sql("create table public.newest as select * from etl._sqlx_migrations order by version desc limit 1").await;
    world.sql("delete from etl._sqlx_migrations where version = (select version from public.newest)").await;

    world.start_worker(&[]);
    let first = eventually("the worker's question", || world.text(ASKED)).await;
    eventually("its second question", || async {
        let again = world.text(ASKED).await;
        again.filter(|at| *at != first)
    })
    .await;
    assert_eq!(world.find(run).await.status, RunStatus::Queued);
    assert_eq!(world.number("select count(*) from apalis.workers").await, 0, "it takes no part yet");

    world.sql("insert into etl._sqlx_migrations select * from public.newest").await;
    world.succeeded(run).await;
}
