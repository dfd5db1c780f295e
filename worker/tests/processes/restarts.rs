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
