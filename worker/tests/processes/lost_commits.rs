//! A server that lost commits gives no id of the log again: a client that resumes by the last id it saw misses nothing.

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use vitrina_shared::{
    domain::{Cut, Mode, RunStatus, Status, Trigger},
    lifecycle::{self, WantedRun},
    store,
};

use crate::{
    cluster::Cluster,
    support::{ITEMS, TESTER, World, eventually, items},
    worker_process::WorkerProcess,
};

const ENTRY: &str = "insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
                     values (gen_random_uuid(), 'items', 'IDLE', 'RUN_REQUESTED', 'tester', 'run requested')";
const NEWEST: &str = "select coalesce(max(id), 0) from etl.etl_transitions";

/// Appends entries, each in a transaction of its own, and returns the newest id: what a client has seen.
async fn log(url: &str, entries: u32) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    for _ in 0..entries {
        sqlx::query(ENTRY).execute(&mut connection).await.unwrap();
    }
    sqlx::query_scalar(NEWEST).fetch_one(&mut connection).await.unwrap()
}

/// The newest id, once the server answers.
async fn newest(url: &str) -> i64 {
    eventually("the server answers", || async {
        let mut connection = PgConnection::connect(url).await.ok()?;
        sqlx::query_scalar(NEWEST).fetch_one(&mut connection).await.ok()
    })
    .await
}

/// Another server under the database of this one.
fn moved(url: &str, from: &Cluster, to: &Cluster) -> String {
    let (from, to) = (from.url(), to.url());
    let address = |url: &str| url.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
    url.replace(&address(&from), &address(&to))
}

/// Commits that do not wait for the disk do not get there by themselves soon.
async fn world_on(cluster: &Cluster) -> World {
    let world = World::on(&cluster.url()).await;
    world.sql("alter system set wal_writer_delay = '10s'").await;
    world.sql("alter system set wal_writer_flush_after = '1GB'").await;
    world.sql("select pg_reload_conf()").await;
    world
}

/// Kills the server and the worker, and waits until the server answers again.
async fn crash(cluster: &Cluster, worker: &mut WorkerProcess, world: &World) {
    cluster.down("immediate");
    worker.kill();
    cluster.up();
    eventually("the server answers", || async { sqlx::query("select 1").execute(world.db.pool()).await.ok() }).await;
}

/// Crashes the server until entries were lost that had been seen. Returns the newest id that was seen.
async fn lose_entries(url: &str, crash: impl AsyncFn()) -> i64 {
    for _ in 0..10 {
        let seen = log(url, 60).await;
        crash().await;
        if newest(url).await < seen {
            return seen;
        }
    }
    panic!("the server lost nothing in ten crashes");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_of_the_log_is_given_again_after_a_crash_of_the_server() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    let url = world.db.url();
    assert!(log(&url, 1).await < 1_000, "a server that lost nothing begins no epoch");

    let kill_a_backend = async || {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let mut other = PgConnection::connect(&url).await.unwrap();
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut connection).await.unwrap();
        kill_process(Pid::from_raw(backend).unwrap(), Signal::KILL).unwrap();
        // The server ends the others once it has noticed: until then it answers as if nothing had happened.
        sqlx::query("select pg_sleep(60)").execute(&mut other).await.unwrap_err();
    };
    let seen = lose_entries(&url, kill_a_backend).await;
    assert!(log(&url, 1).await > seen, "an id was given again after a backend was killed");

    let kill_the_server = async || {
        cluster.down("immediate");
        cluster.up();
    };
    let seen = lose_entries(&url, kill_the_server).await;
    let next = log(&url, 1).await;
    assert!(next > seen, "an id was given again after the server was killed");

    cluster.down("fast");
    cluster.up();
    assert!(log(&url, 1).await < next + 1_000, "a server that lost nothing begins no epoch");
}

/// Its batches do not wait for the disk, and the last one has no row.
#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_a_run_that_succeeded_survive_a_crash_of_the_server() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    world.items(1, 200).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let mut worker = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    world.succeeded(run).await;
    crash(&cluster, &mut worker, &world).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

/// One worker walks both ranges, and leaves the first one before the run ends. The second one has no row.
#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_ranges_that_were_left_survive_a_crash_of_the_server_too() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    world.items(1, 20).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 500)).await;
    let mut worker = WorkerProcess::start_with(&world.db.url(), &[("VITRINA_CONCURRENCY", "1")]);
    let behind = world.text("select (max(modified) + interval '1 second')::text from content.item").await.unwrap();
    let cuts = [Cut::before(&behind)];
    let wanted = WantedRun { cuts: &cuts, ..WantedRun::by(Trigger::Api) };
    let run = lifecycle::request_run(world.db.pool(), &pipeline.into(), wanted, TESTER).await.unwrap().run.id;
    world.succeeded(run).await;
    assert_eq!(world.number("select count(*) from etl.etl_run_ranges").await, 2);
    crash(&cluster, &mut worker, &world).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

/// The worker that has noted it does not look back further.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_that_was_noted_survives_a_crash_of_the_server() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    let mut worker = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    world.succeeded(run).await;
    let behind = "create or replace function etl.clock() returns timestamptz language sql as
        $$ select clock_timestamp() - interval '60 s' $$";
    world.sql(behind).await;
    let noted = "select count(*) from etl.etl_rereads";
    eventually("a noted step", || async { (world.number(noted).await == 1).then_some(()) }).await;
    crash(&cluster, &mut worker, &world).await;
    assert_eq!(world.number(noted).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_survives_a_crash_of_the_server() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    for _ in 0..3 {
        let run = world.run(pipeline).await;
        cluster.down("immediate");
        cluster.up();
        eventually("the server answers", || async { sqlx::query("select 1").execute(world.db.pool()).await.ok() })
            .await;
        assert_eq!(world.find(run).await.status, RunStatus::Queued);
        assert_eq!(world.show(pipeline).await.status, Status::RunRequested);
        world.cancel(pipeline).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_of_the_log_is_given_again_by_a_replica_that_lagged() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    log(&world.db.url(), 10).await;
    let replica = cluster.replica();
    let seen = log(&world.db.url(), 60).await;
    cluster.down("fast");
    replica.up();
    replica.promote();
    let url = moved(&world.db.url(), &cluster, &replica);
    assert!(newest(&url).await < seen, "the replica has everything and shows nothing");
    assert!(log(&url, 1).await > seen, "an id was given again after a failover");
    cluster.up();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_of_the_log_is_given_again_in_a_database_that_was_restored() {
    let cluster = Cluster::start();
    let world = world_on(&cluster).await;
    log(&world.db.url(), 10).await;
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let dump = directory.path().join("dump");
    let dump = dump.to_str().unwrap();
    cluster.call("pg_dump", &["--format=custom", "--file", dump, "--dbname", &world.db.owner_url()]);
    let seen = log(&world.db.url(), 60).await;
    let restored = format!("{}/restored", cluster.url().trim_end_matches("/postgres"));
    sqlx::raw_sql("create database restored").execute(world.db.admin()).await.unwrap();
    cluster.call("pg_restore", &["--dbname", &restored, dump]);
    assert!(newest(&restored).await < seen, "the dump has everything and shows nothing");
    assert!(log(&restored, 1).await > seen, "an id was given again in a restored database");
}

/// Its own disk has everything, and yet the flush waits.
#[tokio::test(flavor = "multi_thread")]
async fn what_commits_wait_for_on_a_standby_is_waited_for_although_the_disk_has_it() {
    let cluster = Cluster::start();
    let world = World::on(&cluster.url()).await;
    let mut connection = PgConnection::connect(&world.db.url()).await.unwrap();
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut connection).await.unwrap();
    world.sql("alter system set synchronous_standby_names = 'nobody'").await;
    world.sql("select pg_reload_conf()").await;
    let stuck = commits_until_one_waits(&world).await;
    // Commits of sessions that want the local disk alone.
    sqlx::raw_sql("set synchronous_commit = local").execute(&mut connection).await.unwrap();
    store::flush(&mut connection).await.unwrap();
    sqlx::raw_sql("set synchronous_commit = on").execute(&mut connection).await.unwrap();
    let flushing = tokio::spawn(async move { store::flush(&mut connection).await });
    let has_waited = waits(&world, &flushing, &format!("pid = {backend}")).await;
    world.sql("alter system reset synchronous_standby_names").await;
    world.sql("select pg_reload_conf()").await;
    flushing.await.unwrap().unwrap();
    stuck.await.unwrap().unwrap();
    assert!(has_waited, "it did not wait for the standby");
}

/// The server takes a moment until it knows of a new setting.
async fn commits_until_one_waits(world: &World) -> JoinHandle<sqlx::Result<()>> {
    loop {
        let pool = world.db.pool().clone();
        let commit = async move {
            sqlx::raw_sql("select pg_logical_emit_message(true, 'vitrina', '')").execute(&pool).await.map(drop)
        };
        let committing = tokio::spawn(commit);
        if waits(world, &committing, "true").await {
            return committing;
        }
    }
}

/// Whether a task ends, or a session waits for a standby before.
async fn waits<T>(world: &World, task: &JoinHandle<T>, session: &str) -> bool {
    let waiting = format!("select count(*) from pg_stat_activity where wait_event = 'SyncRep' and {session}");
    eventually("a commit that waits, or its end", || async {
        if task.is_finished() { Some(false) } else { (world.number(&waiting).await > 0).then_some(true) }
    })
    .await
}
