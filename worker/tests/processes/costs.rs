//! What idle workers, many waiting jobs and a far-away database cost.

use std::time::Duration;

use vitrina_shared::domain::Mode;

use crate::{
    proxy::Proxy,
    support::{World, eventually, items},
    worker_process::WorkerProcess,
};

/// Jobs that no run and no report waits for.
async fn litter(world: &World, jobs: i64, due: &str) {
    world
        .sql(&format!(
            "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
             select '01' || translate(upper(lpad(to_hex(n), 24, '0')), 'ILOU', '0000'), 'vitrina:batches',
                    convert_to(json_build_object('pipeline_id', gen_random_uuid(), 'run_id', gen_random_uuid(), 'range', 0,
                        'batch', 0, 'after', null, 'correlation_id', 'litter')::text, 'UTF8'),
                    'Pending', 0, 10, {due}, 0
             from generate_series(1, {jobs}) n; analyze apalis.jobs"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_nobody_waits_for_are_discarded_together_and_keep_no_run_waiting() {
    let world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    litter(&world, 30_000, "now() - interval '1 minute'").await;
    let run = world.run(pipeline).await;
    let _worker = WorkerProcess::start_with(&world.db.url(), &[("VITRINA_CONCURRENCY", "1")]);
    world.succeeded(run).await;
    let together = "select count(*) from apalis.jobs where last_result::text like '%has ended%'";
    let alone = "select count(*) from apalis.jobs where status = 'Done'";
    let (together, alone) = (world.number(together).await, world.number(alone).await);
    assert!(together > 25_000 && alone < 5_000, "{together} together, {alone} one by one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_does_not_read_the_jobs_that_wait() {
    let world = World::new().await;
    litter(&world, 20_000, "now() + interval '50 seconds'").await;
    let _workers = [WorkerProcess::start(&world.db.url()), WorkerProcess::start(&world.db.url())];
    let read = "select coalesce(seq_tup_read + idx_tup_fetch, 0) from pg_stat_user_tables
                where schemaname = 'apalis' and relname = 'jobs'";
    let beats =
        "select coalesce(n_tup_upd, 0) from pg_stat_user_tables where schemaname = 'apalis' and relname = 'workers'";
    eventually("heartbeats", || async { (world.number(beats).await > 4).then_some(()) }).await;
    let (before, begun) = (world.number(read).await, world.number(beats).await);
    eventually("more heartbeats", || async { (world.number(beats).await > begun + 10).then_some(()) }).await;
    let read = world.number(read).await - before;
    // What is old is looked for once a minute, and may be just then.
    assert!(read < 50_000, "ten heartbeats of two workers read {read} rows of 20,000 jobs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_asks_the_database_little_more_than_once_per_heartbeat() {
    let world = World::new().await;
    let proxy = Proxy::start(&world.db.url()).await;
    let _first = WorkerProcess::start_with(&world.db.url(), &[("VITRINA_WORKER_NAME", "a-leader")]);
    eventually("a leader", || async {
        (world.number("select count(*) from apalis.workers where started_at is not null").await == 1).then_some(())
    })
    .await;
    let _second = WorkerProcess::start_with(&proxy.url(&world.db.url()), &[("VITRINA_WORKER_NAME", "follower")]);
    let beats = || async {
        let seen = "select count(*) from apalis.workers where id like 'follower%' and started_at is not null";
        world.number(seen).await
    };
    eventually("a follower", || async { (beats().await == 1).then_some(()) }).await;
    // Past its beginning.
    let started = proxy.round_trips("vitrina-worker");
    eventually("some heartbeats", || async { (proxy.round_trips("vitrina-worker") > started + 10).then_some(()) })
        .await;
    let seen = "select last_seen from apalis.workers where id like 'follower%'";
    let (begun, mut last, mut heartbeats) = (proxy.round_trips("vitrina-worker"), world.text(seen).await, 0);
    while heartbeats < 30 {
        last = eventually("a heartbeat", || async { world.text(seen).await.filter(|now| Some(now) != last.as_ref()) })
            .await
            .into();
        heartbeats += 1;
    }
    let asked = proxy.round_trips("vitrina-worker") - begun;
    // The worker's heartbeat and the queue's own, and each time the questions whether the connection is well when it is given back.
    assert!(asked < 30 * 12, "30 heartbeats asked {asked} times");
}

/// How many round trips an empty run lasts, after so many others of the same worker.
async fn round_trips_of_a_run(after: usize) -> f64 {
    let world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let proxy = Proxy::start(&world.db.url()).await;
    // One that beats so seldom that its heartbeats do not count.
    let _worker = WorkerProcess::start_with(
        &proxy.url(&world.db.url()),
        &[("VITRINA_HEARTBEAT_SECONDS", "60"), ("VITRINA_CONCURRENCY", "1"), ("VITRINA_POLL_SECONDS", "10")],
    );
    // Its connections were used once and came back.
    let ready = "select count(*) from pg_stat_activity
                 where application_name in ('vitrina-worker', 'vitrina-worker-describing') and datname = current_database()
                   and state = 'idle' and query like '%reset all%'";
    eventually("a worker", || async { (world.number(ready).await == 2).then_some(()) }).await;
    for _ in 0..after {
        world.succeeds(pipeline).await;
    }
    // Long beside whatever else the machine does.
    let round_trip = Duration::from_millis(200);
    proxy.delay(round_trip / 2);
    let begun = std::time::Instant::now();
    world.succeeds(pipeline).await;
    begun.elapsed().as_secs_f64() / round_trip.as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_run_waits_for_few_answers_of_the_database() {
    let round_trips = round_trips_of_a_run(2).await;
    assert!(round_trips < 30.0, "an empty run took as long as {round_trips:.0} round trips");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_run_of_a_worker_waits_for_few_answers_of_the_database_too() {
    let round_trips = round_trips_of_a_run(0).await;
    assert!(round_trips < 38.0, "a worker's first run took as long as {round_trips:.0} round trips");
}
