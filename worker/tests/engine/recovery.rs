//! What a crash leaves behind is brought back. Workers die here by being dropped in the middle of whatever they do.

use std::time::Duration;

use rand::RngExt;
use vitrina_shared::{
    domain::{Mode, RunStatus},
    jobs::Held,
    lifecycle::execution::{self, Conclusion},
    store::pipelines,
};

use crate::support::{ITEMS, World, draft, eventually, items};

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_worker_died_after_the_last_batch_is_closed_by_another() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 30)).await;
    world.sql("insert into analytics.item values (999, 'stale', now())").await;
    // A worker that closes the run waits for a lock of this test.
    world
        .sql(
            "create function public.hold() returns trigger language plpgsql as
             'begin perform pg_advisory_xact_lock(4711); return new; end';
             create trigger hold before insert on etl.etl_transitions for each row
             when (new.to_status = 'IDLE') execute function public.hold()",
        )
        .await;
    let mut holder = world.strangers(1).begin().await.unwrap();
    sqlx::raw_sql("select pg_advisory_xact_lock(4711)").execute(&mut *holder).await.unwrap();

    let tasks = alive_tasks();
    let first = world.worker(&[]);
    let run = world.run(pipeline).await;
    eventually("the last batch", || async {
        let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and objid = 4711";
        (world.number(waiting).await > 0).then_some(())
    })
    .await;
    drop(first);
    // Its connection, which still waits for us, is given back by one task more.
    eventually("the end of the worker's tasks", || async { (alive_tasks() <= tasks + 1).then_some(()) }).await;
    holder.rollback().await.unwrap();
    assert_eq!(world.find(run).await.status, RunStatus::Running);

    world.start_worker(&[]);
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written, run.batches), (100, 100, 4));
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_the_death_of_every_worker_it_meets() {
    let mut world = World::new().await;
    world.items(1, 30_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let run = world.run(pipeline).await;
    for _ in 0..6 {
        let worker = world.worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
        let before = world.find(run).await.batches;
        eventually("some batches", || async {
            let run = world.find(run).await;
            (run.batches > before + 3 || run.status.is_final()).then_some(())
        })
        .await;
        tokio::time::sleep(Duration::from_micros(rand::rng().random_range(0..20_000))).await;
        drop(worker);
    }
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (30_000, 30_000));
    assert_eq!(run.batches, world.number("select max(next_batch) from etl.etl_run_ranges").await);
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

/// A job that kills every worker is given up. One whose workers got something done before they died is none.
#[tokio::test(flavor = "multi_thread")]
async fn deaths_before_a_batch_that_was_committed_are_not_counted_against_the_job() {
    let mut world = World::new().await;
    world.items(1, 30_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    let run = world.run(pipeline).await;
    let worker = world.worker(&[]);
    eventually("some batches", || async { (world.find(run).await.batches > 3).then_some(()) }).await;
    drop(worker);
    assert!(!world.find(run).await.status.is_final());
    world.sql("update apalis.jobs set attempts = max_attempts - 1 where status = 'Running'").await;
    world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (30_000, 30_000));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_given_back_after_other_batches_begins_anew() {
    let world = World::with_worker().await;
    world.items(1, 20_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 3).then_some(()) }).await;
    world.sql("update apalis.jobs set attempts = max_attempts - 1 where status = 'Running'").await;
    let ended = format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and application_name = 'vitrina-worker {run}'"
    );
    eventually("a session that ends", || async { (world.number(&ended).await > 0).then_some(()) }).await;
    let anew =
        "select count(*) from apalis.jobs where attempts = 0 and convert_from(job, 'UTF8')::jsonb ->> 'batch' <> '0'
                and convert_from(job, 'UTF8')::jsonb ->> 'queued_us' is null";
    eventually("neither deaths nor a wait of other batches", || async { (world.number(anew).await > 0).then_some(()) })
        .await;
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_killed_its_last_worker_is_given_to_no_other() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let run = world.run(pipeline).await;
    // Counts the transactions that leave such a job to be taken.
    world
        .sql(
            "create sequence content.left_over;
             create function content.look() returns trigger language plpgsql security definer as
             $$ begin
                 if (select j.status = 'Pending' and j.attempts >= j.max_attempts from apalis.jobs j where j.id = new.id) then
                     perform nextval('content.left_over');
                 end if;
                 return null;
             end $$;
             create constraint trigger looked after update on apalis.jobs deferrable initially deferred
                 for each row execute function content.look();
             insert into apalis.workers (id, worker_type, storage_name, started_at, last_seen)
             values ('gone', 'vitrina:batches', 'test', now(), now() - interval '1 minute');
             update apalis.jobs set status = 'Running', lock_by = 'gone', lock_at = now(), attempts = max_attempts - 1",
        )
        .await;
    world.start_worker(&[]);
    let run = world.ended(run).await;
    assert_eq!(run.error.as_deref(), Some("every worker that took this batch died"));
    assert_eq!(world.number("select count(*) from content.left_over where is_called").await, 0);
    assert_eq!(world.number("select count(*) from apalis.jobs where status = 'Killed'").await, 1);
}

/// The jobs of these pipelines are a dead worker's, which was the last of many for those that are `exhausted`.
async fn die(world: &World, exhausted: &str) {
    world
        .sql(&format!(
            "insert into apalis.workers (id, worker_type, storage_name, started_at, last_seen)
             values ('gone', 'vitrina:batches', 'test', now(), now() - interval '1 minute');
             update apalis.jobs j set status = 'Running', lock_by = 'gone', lock_at = now(),
                 attempts = case when p.name in ({exhausted}) then max_attempts - 1 else 0 end
             from etl.etl_run_ranges g join etl.etl_runs r on r.id = g.run_id join etl.etl_pipelines p on p.id = r.pipeline_id
             where g.job_id = j.id"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_given_up_keeps_no_other_from_being_rescued() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let mut runs = Vec::new();
    for name in ["stuck", "lost", "sound"] {
        world.target(name, "id bigint, name text, modified timestamptz", &["id"]).await;
        let pipeline = draft(name, Mode::Full, ITEMS, &format!("analytics.{name}"), 5);
        runs.push(world.run(world.pipeline(&pipeline).await).await);
    }
    world
        .sql(
            "create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
             create trigger refuse before insert on etl.etl_transitions for each row
                 when (new.pipeline = 'stuck' and new.to_status = 'FAILED') execute function public.refuse()",
        )
        .await;
    die(&world, "'stuck', 'lost'").await;
    world.start_worker(&[]);
    assert_eq!(world.ended(runs[1]).await.error.as_deref(), Some("every worker that took this batch died"));
    world.succeeded(runs[2]).await;
    assert!(!world.find(runs[0]).await.status.is_final());
    world.sql("drop trigger refuse on etl.etl_transitions").await;
    assert_eq!(world.ended(runs[0]).await.error.as_deref(), Some("every worker that took this batch died"));
    world.assert_no_litter().await;
}

/// Everything that locks a pipeline and its jobs locks the pipeline first.
#[tokio::test(flavor = "multi_thread")]
async fn a_rescue_and_the_worker_that_it_takes_for_dead_do_not_wait_for_each_other() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let run = world.run(pipeline).await;
    die(&world, "'items'").await;
    let job: (String, Vec<u8>) =
        sqlx::query_as("select id, job from apalis.jobs").fetch_one(world.db.admin()).await.unwrap();
    let job = Held { id: job.0, worker: "gone".to_owned(), queued: serde_json::from_slice(&job.1).unwrap() };
    let mut tx = world.db.pool().begin().await.unwrap();
    // Less than the server takes to find that two wait for each other: it would end either of them.
    sqlx::raw_sql("set local lock_timeout = '300ms'").execute(&mut *tx).await.unwrap();
    pipelines::lock(&mut tx, &pipeline.into()).await.unwrap();
    world.start_worker(&[]);
    let waits = "select count(*) from pg_stat_activity
                 where wait_event_type = 'Lock' and datname = current_database()";
    eventually("a rescue that waits", || async { (world.number(waits).await > 0).then_some(()) }).await;
    // The worker is alive after all, and cannot go on with the job now.
    assert_eq!(execution::give_back(&mut tx, &job, Duration::ZERO).await.unwrap(), Conclusion::GoesOn);
    tx.commit().await.unwrap();
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.attempts), (10, 0));
    world.assert_no_litter().await;
}

/// The job says another batch than its range, and nothing of the run can be read.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_read_fails_though_it_went_on_before() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let run = world.run(pipeline).await;
    world.sql("update etl.etl_run_ranges set next_batch = 3; update etl.etl_runs set inputs = '{}'").await;
    world.start_worker(&[]);
    assert_eq!(world.ended(run).await.status, RunStatus::Failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_job_was_lost_gets_another() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 30)).await;
    let run = world.run(pipeline).await;
    world.sql("delete from apalis.jobs").await;
    world.start_worker(&[]);
    world.succeeded(run).await;
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_survives_that_all_its_connections_are_cut_again_and_again() {
    let mut world = World::new().await;
    world.items(1, 20_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 20)).await;
    for _ in 0..2 {
        world.start_worker(&[("VITRINA_HEARTBEAT_SECONDS", "0.2")]);
    }
    let run = world.run(pipeline).await;
    for _ in 0..8 {
        let before = world.find(run).await.batches;
        eventually("a batch", || async {
            let run = world.find(run).await;
            (run.batches > before || run.status.is_final()).then_some(())
        })
        .await;
        world
            .sql(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and application_name like 'vitrina-worker%'",
            )
            .await;
    }
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (20_000, 20_000));
    assert_eq!(run.batches, world.number("select max(next_batch) from etl.etl_run_ranges").await);
    assert_eq!(run.attempts, 0, "a lost connection is no failed attempt");
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

/// More often than a batch may lose its session: each batch that was committed meanwhile begins anew.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_ended_between_batches_cost_no_attempt_however_many() {
    let world = World::with_worker().await;
    world.items(1, 20_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let run = world.run(pipeline).await;
    let ended = format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and application_name = 'vitrina-worker {run}'"
    );
    for _ in 0..9 {
        let before = world.find(run).await.batches;
        eventually("batches", || async { (world.find(run).await.batches > before + 3).then_some(()) }).await;
        eventually("a session that ends", || async { (world.number(&ended).await > 0).then_some(()) }).await;
    }
    assert_eq!(world.succeeded(run).await.attempts, 0);
    world.assert_same(ITEMS, "analytics.item").await;
}
