//! The server is restarted in the middle of a run, which completes by itself.

use vitrina_shared::domain::Mode;

use crate::{
    cluster::Cluster,
    support::{ITEMS, World, eventually, items},
    worker_process::WorkerProcess,
};

async fn restart_again_and_again(mode: &str) {
    let cluster = Cluster::start();
    let world = World::on(&cluster.url()).await;
    world.items(1, 60_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let url = world.db.url();
    let _workers = [WorkerProcess::start(&url), WorkerProcess::start(&url)];
    let run = world.run(pipeline).await;
    for _ in 0..3 {
        let before = world.find(run).await.batches;
        eventually("progress", || async { (world.find(run).await.batches > before + 20).then_some(()) }).await;
        cluster.down(mode);
        cluster.up();
    }
    assert!(!world.find(run).await.status.is_final(), "the run was over too soon to show anything");
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written, run.attempts), (60_000, 60_000, 0));
    assert_eq!(run.batches, world.number("select max(next_batch) from etl.etl_run_ranges").await);
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_fast_restarts_of_the_server() {
    restart_again_and_again("fast").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_immediate_restarts_of_the_server() {
    restart_again_and_again("immediate").await;
}

/// As after a failover to a server that is not the primary yet, or while an operator keeps everyone from writing.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_server_that_takes_no_writes_and_goes_on() {
    let cluster = Cluster::start();
    let world = World::on(&cluster.url()).await;
    world.items(1, 40_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let log = || std::fs::read_to_string(&file).unwrap_or_default();
    let _worker = WorkerProcess::start_with(&world.db.url(), &[("VITRINA_LOG_FILE", file.to_str().unwrap())]);
    let run = world.run(pipeline).await;
    eventually("progress", || async { (world.find(run).await.batches > 20).then_some(()) }).await;
    world.sql("alter system set default_transaction_read_only = on").await;
    world.sql("select pg_reload_conf()").await;
    eventually("the worker says why it waits", || async {
        log().contains("the database takes no writes: the server is a standby, or").then_some(())
    })
    .await;
    // A worker that starts meanwhile takes nothing.
    let _another = WorkerProcess::start(&world.db.url());
    let held = world.find(run).await;
    assert!(!held.status.is_final(), "{held:?}");
    world.sql("alter system reset default_transaction_read_only").await;
    world.sql("select pg_reload_conf()").await;
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written, run.attempts), (40_000, 40_000, 0));
    assert!(!log().contains("run failed"), "{}", log());
    world.assert_same(ITEMS, "analytics.item").await;
}
