//! The server is restarted in the middle of a run, which completes by itself.

use vitrina_shared::domain::{Mode, PipelineId, RunId};

use crate::{
    cluster::Cluster,
    proxy::Proxy,
    support::{ITEMS, World, draft, eventually, items},
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

/// A run whose one batch does not end while the gate is shut.
async fn gated_world(cluster: &Cluster) -> (World, PipelineId) {
    let world = World::on(&cluster.url()).await;
    world.items(1, 100).await;
    world.sql("create table content.gate as select true as shut").await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from content.item a, content.item b, content.item c, content.item d, content.item e,
                               content.item f, content.item g where (select shut from content.gate)) >= 0";
    let pipeline = world.pipeline(&draft("gated", Mode::Incremental, query, "analytics.item", 500)).await;
    (world, pipeline)
}

/// When the session began that executes something for the run, once it is another one than `before`.
async fn next_session(world: &World, run: RunId, before: i64) -> i64 {
    let began = format!(
        "select coalesce(max(extract(epoch from backend_start) * 1000000), 0)::bigint from pg_stat_activity
         where state = 'active' and wait_event_type is distinct from 'Lock' and application_name = 'vitrina-worker {run}'"
    );
    eventually("a batch under way", || async { Some(world.number(&began).await).filter(|began| *began > before) }).await
}

/// More often than a batch may crash the server, and in one and the same batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_batch_that_loses_its_server_or_its_network_again_and_again_has_no_failed_attempt() {
    let cluster = Cluster::start();
    let (world, pipeline) = gated_world(&cluster).await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    let run = world.run(pipeline).await;
    let mut session = next_session(&world, run, 0).await;
    for mode in ["immediate", "fast", "immediate", "fast", "immediate"] {
        cluster.down(mode);
        cluster.up();
        session = next_session(&world, run, session).await;
    }
    for left in (0..5).rev() {
        if left == 0 {
            world.sql("update content.gate set shut = false").await;
        }
        assert!(proxy.cut(&["vitrina-worker"]) > 0, "there is no connection to cut");
        if left > 0 {
            session = next_session(&world, run, session).await;
        }
    }
    let ended = world.succeeded(run).await;
    assert_eq!((ended.rows_written, ended.attempts), (100, 0));
}

/// A trigger that kills its own session takes all others with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_crashes_the_server_each_time_fails_its_run_soon() {
    let cluster = Cluster::start();
    let world = World::on(&cluster.url()).await;
    world.items(1, 5).await;
    let crashes = tempfile::NamedTempFile::new().unwrap();
    std::fs::set_permissions(crashes.path(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    world
        .sql(&format!(
            "create function public.crash() returns trigger language plpgsql security definer as $$
             begin
                 execute format('copy (select 1) to program %L', 'echo >> {}; kill -9 ' || pg_backend_pid());
                 return new;
             end $$;
             create trigger crash before insert on analytics.item for each row execute function public.crash()",
            crashes.path().display(),
        ))
        .await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let _worker = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    let error = "select error from etl.etl_runs where id = $1 and status = 'FAILED'";
    let end = async || sqlx::query_scalar::<_, String>(error).bind(run.0).fetch_optional(world.db.pool()).await.ok()?;
    let crashed = || std::fs::read_to_string(crashes.path()).unwrap().lines().count();
    let ended = loop {
        let before = crashed();
        let next = eventually("another crash, or the end of the run", async || match end().await {
            Some(error) => Some(Some(error)),
            None => (crashed() > before).then_some(None),
        });
        if let Some(error) = next.await {
            break error;
        }
    };
    // The worker counts crashes where it gets to that, and the rescue of its job where the worker starts anew before.
    let reasons = ["the server crashed 3 times while it executed", "every worker that took this batch died"];
    assert!(reasons.iter().any(|reason| ended.contains(reason)), "{ended}");
    assert!(crashed() <= 17, "{} crashes", crashed());
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
