//! Connections that fall silent, workers that are cut off, clocks that are set back, and workers that are ill.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::domain::{
    Mode, ReportRequest, RunId, Status, Task, TaskKind,
    report::{Depth, Repair},
};

use crate::{
    crashes::{active, assert_exactly_once, endless_world, progresses, slow_world},
    proxy::Proxy,
    support::{ITEMS, World, eventually, items},
    worker_process::WorkerProcess,
};

/// What a worker's connections for batches call themselves.
const BATCHES: &[&str] = &["vitrina-worker"];
/// Those over which a worker says that it is alive, and takes jobs.
const CONTROL: &[&str] = &["vitrina-worker-control", "vitrina-worker-queue"];

async fn under_way(world: &World, run: RunId) {
    eventually("a batch under way", || async { (active(world, run).await > 0).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_connection_falls_silent_is_done_again_and_that_is_no_attempt() {
    let (world, pipeline) = slow_world().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    let run = world.run(pipeline).await;
    for _ in 0..2 {
        progresses(&world, run, 2).await;
        assert!(proxy.freeze(Some(BATCHES)) > 0, "there is no connection to lose");
    }
    assert_exactly_once(&world, run, 300).await;
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_loses_all_its_connections_opens_others_and_goes_on() {
    let (world, pipeline) = slow_world().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    proxy.freeze(None);
    assert_exactly_once(&world, run, 300).await;
    assert_eq!(world.find(run).await.attempts, 0);
    // Whatever it was that did not come back, this process takes up the next run too.
    world.items(301, 310).await;
    let next = world.succeeds(pipeline).await;
    assert_eq!(next.rows_read, 10);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_run_whose_connection_fell_silent_frees_its_slot() {
    let (world, pipeline) = endless_world().await;
    let other = world.pipeline(&items("items", Mode::Full, 50)).await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start_with(&proxy.url(&world.db.url()), &[("VITRINA_CONCURRENCY", "1")]);
    let run = world.run(pipeline).await;
    under_way(&world, run).await;
    proxy.freeze(Some(BATCHES));
    world.cancel(pipeline).await.unwrap();
    assert_eq!(world.show(pipeline).await.status, Status::Idle);
    world.succeeds(other).await;
    assert_eq!(active(&world, run).await, 0, "the server still executes it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_connections_fell_silent_ends_when_it_is_told_to() {
    let (world, pipeline) = endless_world().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let mut worker = WorkerProcess::start_with(&proxy.url(&world.db.url()), &[("VITRINA_DRAIN_SECONDS", "1")]);
    let run = world.run(pipeline).await;
    under_way(&world, run).await;
    proxy.freeze(None);
    worker.signal(Signal::TERM);
    assert!(worker.ended(Duration::from_secs(25)).await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_executes_for_a_lost_worker_is_ended_and_its_run_goes_on_elsewhere() {
    let (world, pipeline) = endless_world().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let mut lost = WorkerProcess::start(&proxy.url(&world.db.url()));
    let run = world.run(pipeline).await;
    under_way(&world, run).await;
    // The server is not told that the worker is gone.
    proxy.freeze(None);
    lost.kill();
    world.sql("update content.gate set shut = false").await;
    let _successor = WorkerProcess::start(&world.db.url());
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_control_connections_are_reset_loses_no_batch_and_no_attempt() {
    let (world, pipeline) = slow_world().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    let run = world.run(pipeline).await;
    for _ in 0..3 {
        progresses(&world, run, 2).await;
        assert!(proxy.cut(CONTROL) > 0, "there is no connection to cut");
        // A wake-up lets the queue use its connection.
        world.sql("select pg_notify('apalis::job::insert', '')").await;
    }
    assert_exactly_once(&world, run, 300).await;
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_waits_for_the_statement_of_a_lost_worker_without_counting_attempts() {
    let world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let run = world.run(pipeline).await;
    // A session executes the run's first batch, and no worker holds its job: as after a rescue that could not end it.
    let mut orphan = world.db.pool().begin().await.unwrap();
    let name = format!("select set_config('application_name', 'vitrina-worker {run}', true)");
    sqlx::raw_sql(sqlx::AssertSqlSafe(name)).execute(&mut *orphan).await.unwrap();
    sqlx::query("update etl.etl_run_ranges set next_batch = next_batch where run_id = $1")
        .bind(run.0)
        .execute(&mut *orphan)
        .await
        .unwrap();
    let _worker = WorkerProcess::start(&world.db.url());
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(world.find(run).await.attempts, 0);
    drop(orphan);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_job_was_given_away_leaves_the_sessions_of_its_run_alone() {
    let world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let run = world.run(pipeline).await;
    // The worker that has the job now executes a batch.
    let executing = format!(
        "begin; select set_config('application_name', 'vitrina-worker {run}', true);
         update etl.etl_run_ranges set next_batch = next_batch; select pg_sleep(60)"
    );
    let pool = world.db.pool().clone();
    let successor =
        tokio::spawn(async move { sqlx::raw_sql(sqlx::AssertSqlSafe(executing)).execute(&pool).await.map(|_| ()) });
    eventually("a batch of the successor", || async { (active(&world, run).await > 0).then_some(()) }).await;
    let worker = WorkerProcess::start(&world.db.url());
    let waits = "select count(*) from pg_stat_activity
                 where wait_event_type = 'Lock' and application_name = 'vitrina-worker' and datname = current_database()";
    eventually("a batch that waits", || async { (world.number(waits).await > 0).then_some(()) }).await;
    world.sql("update apalis.jobs set status = 'Done', done_at = now()").await;
    eventually("the end of its wait", || async {
        worker.counter("vitrina_jobs_in_flight").await.filter(|jobs| *jobs == 0.0)
    })
    .await;
    assert_eq!(active(&world, run).await, 1, "the statement of the successor was ended");
    successor.abort();
    world.sql("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()").await;
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_workers_job_is_rescued_although_the_clock_was_set_back() {
    let (world, pipeline) = endless_world().await;
    let mut killed = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    under_way(&world, run).await;
    killed.kill();
    world
        .sql("update content.gate set shut = false; update apalis.workers set last_seen = now() + interval '1 hour'")
        .await;
    let successor = WorkerProcess::start(&world.db.url());
    assert_exactly_once(&world, run, 100).await;
    // A job that waits for its time does not wait for the hour either.
    drop(successor);
    let waiting = world.run(pipeline).await;
    world.sql("update apalis.jobs set run_at = now() + interval '1 hour' where status = 'Pending'").await;
    let _another = WorkerProcess::start(&world.db.url());
    world.succeeded(waiting).await;
    // Who was there in the future is gone.
    let listed = "select count(*) from apalis.workers where last_seen > now()";
    assert_eq!(world.number(listed).await, 1);
    let mut connection = world.db.pool().acquire().await.unwrap();
    let live = vitrina_shared::store::workers::live(&mut connection, "vitrina:batches").await.unwrap();
    assert!(live.iter().all(|worker| worker.last_heartbeat <= chrono::Utc::now()), "{live:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_open_connections_leaves_its_jobs_to_one_that_can() {
    let world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let proxy = Proxy::start(&world.db.url()).await;
    let ill = WorkerProcess::start(&proxy.url(&world.db.url()));
    let beats =
        "select count(*) from apalis.workers where last_seen > now() - interval '2 seconds' and started_at is not null";
    eventually("a worker", || async {
        (world.number(beats).await == 1 && proxy.opened("vitrina-worker-queue") > 0).then_some(())
    })
    .await;
    proxy.refuse(true);
    let run = world.run(pipeline).await;
    eventually("a job in its hands", || async {
        (world.number("select count(*) from apalis.jobs where lock_by is not null").await > 0).then_some(())
    })
    .await;
    let _healthy = WorkerProcess::start(&world.db.url());
    assert_exactly_once(&world, run, 100).await;
    // The ill one still beats.
    eventually("two workers that beat", || async { (world.number(beats).await == 2).then_some(()) }).await;
    proxy.refuse(false);
    drop(ill);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_heartbeats_do_not_get_through_takes_no_more_jobs_under_its_name() {
    let world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    let name =
        "select min(id) from apalis.workers where last_seen > now() - interval '2 seconds' and started_at is not null";
    let first = eventually("a worker", || world.text(name)).await;
    proxy.unheard(Some("vitrina-worker-control"));
    // It begins anew, and waits for a heartbeat before it takes a job.
    eventually("another life", || async {
        (proxy.opened("vitrina-worker-probe") > 0 && world.text(name).await.is_none()).then_some(())
    })
    .await;
    let run = world.run(pipeline).await;
    proxy.unheard(None);
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(world.find(run).await.attempts, 0);
    assert_ne!(world.text(name).await, Some(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_cannot_be_removed_keeps_no_worker_from_beating() {
    let world = World::new().await;
    let table = format!("etl_swap.swap_{}", Uuid::now_v7().simple());
    world.sql(&format!("set role vitrina_mart; create table {table} (id int); reset role")).await;
    let strangers = world.strangers(1);
    let mut reader = strangers.begin().await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("lock table {table} in access share mode")))
        .execute(&mut *reader)
        .await
        .unwrap();
    let _worker = WorkerProcess::start(&world.db.url());
    eventually("a removal that waits", || async {
        let waits =
            "select count(*) from pg_stat_activity where query like '%drop_gathering%' and wait_event_type = 'Lock'";
        (world.number(waits).await > 0).then_some(())
    })
    .await;
    let seen = "select max(last_seen) from apalis.workers";
    for _ in 0..3 {
        let before = world.text(seen).await;
        eventually("a heartbeat", || async { (world.text(seen).await != before).then_some(()) }).await;
        let waits =
            "select count(*) from pg_stat_activity where query like '%drop_gathering%' and wait_event_type = 'Lock'";
        assert_eq!(world.number(waits).await, 1, "the removal waits no more: the test shows nothing");
    }
    drop(reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_page_whose_connection_falls_silent_is_read_again() {
    for names in [&["vitrina-worker-reading"][..], BATCHES] {
        let (world, pipeline) = slow_world().await;
        let mut draft = world.show(pipeline).await.draft;
        let query = draft.source_query.take().unwrap();
        let step = |order_index, task_type, body: &str, options: Value| Task {
            order_index,
            task_type,
            body: body.to_owned(),
            target_table: None,
            options: options.as_object().unwrap().clone(),
        };
        let query = query.replace("i.name", "i.name as title");
        let renamed = json!({"columns": {"title": "name"}});
        draft.tasks = vec![step(1, TaskKind::Sql, &query, json!({})), step(2, TaskKind::Rust, "rename", renamed)];
        draft.name = "streamed".to_owned();
        let pipeline = world.pipeline(&draft).await;
        let proxy = Proxy::start(&world.db.url()).await;
        let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
        let run = world.run(pipeline).await;
        progresses(&world, run, 2).await;
        assert!(proxy.freeze(Some(names)) > 0, "there is no connection to lose");
        assert_exactly_once(&world, run, 300).await;
        assert_eq!(world.find(run).await.attempts, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_whose_connection_falls_silent_is_done_again() {
    let world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 50)).await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _worker = WorkerProcess::start(&proxy.url(&world.db.url()));
    world.succeeds(pipeline).await;
    world
        .sql(
            "delete from analytics.item where id = 60;
             create function analytics.hold() returns trigger language plpgsql as
             'begin perform pg_advisory_xact_lock_shared(60); return new; end';
             create trigger hold before insert on analytics.item for each row execute function analytics.hold()",
        )
        .await;
    let mut holder = world.strangers(1).begin().await.unwrap();
    sqlx::query("select pg_advisory_xact_lock(60)").execute(&mut *holder).await.unwrap();
    let report = world.ask(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing }).await;
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and objid = 60
                   and database = (select oid from pg_database where datname = current_database())";
    eventually("a repair that writes", || async { (world.number(waiting).await == 1).then_some(()) }).await;
    assert!(proxy.freeze(Some(&["vitrina-worker-reports"])) > 0, "there is no connection to lose");
    // The server is done soon, and its answer is lost.
    holder.rollback().await.unwrap();
    let repaired = world.result(report).await;
    assert_eq!(repaired["repaired"]["written"], 1, "{repaired}");
    assert_eq!(world.find_report(report).await.attempts, 0);
    world.assert_same(ITEMS, "analytics.item").await;
}
