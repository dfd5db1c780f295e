//! Hooks of workers that are killed, and of one that comes back: what they did happened once, with what it belongs to.

use rustix::process::Signal;
use vitrina_shared::{
    definitions::allow_function,
    domain::{Hooks, Mode, PipelineDraft, RunId, RunStatus, Status},
};

use crate::{
    crashes::progresses,
    support::{ITEMS, World, draft, eventually, items},
    worker_process::WorkerProcess,
};

/// Credits, and what becomes of those that a run takes: the run's end settles them or gives them back, once.
const SHOP: &str = "
    create schema shop;
    create table shop.account (credits numeric not null check (credits >= 0));
    insert into shop.account values (1000);
    create table shop.reservation (run_id uuid primary key, credits numeric not null, batches int not null default 0, ended text);
    create table shop.gate (open boolean);
    insert into shop.gate values (true);
    create function shop.reserve(event jsonb) returns void language plpgsql security definer as $$
        begin
            update shop.account set credits = credits - 1.10;
            insert into shop.reservation values ((event ->> 'run_id')::uuid, 1.10);
        end $$;
    create function shop.count(event jsonb) returns void language sql security definer as
        'update shop.reservation set batches = batches + 1 where run_id = (event ->> ''run_id'')::uuid';
    create function shop.settle(event jsonb) returns void language plpgsql security definer as $$
        begin
            perform from shop.gate for share;
            update shop.reservation set ended = concat(ended, 'settled') where run_id = (event ->> 'run_id')::uuid;
        end $$;
    create function shop.refund(event jsonb) returns void language plpgsql security definer as $$
        begin
            perform from shop.gate for share;
            update shop.account a set credits = a.credits + r.credits
            from shop.reservation r where r.run_id = (event ->> 'run_id')::uuid;
            update shop.reservation set ended = concat(ended, 'refunded') where run_id = (event ->> 'run_id')::uuid;
        end $$;";

async fn shop() -> World {
    let world = World::new().await;
    world.sql(SHOP).await;
    let mut owner = world.db.admin().acquire().await.unwrap();
    for name in ["shop.reserve", "shop.count", "shop.settle", "shop.refund"] {
        allow_function(&mut owner, name).await.unwrap();
    }
    world
}

fn with_credits(mut draft: PipelineDraft) -> PipelineDraft {
    let one = |name: &str| vec![name.to_owned()];
    draft.options.hooks = Hooks {
        before_run: one("shop.reserve"),
        after_batch: one("shop.count"),
        on_success: one("shop.settle"),
        on_failure: one("shop.refund"),
        on_row_rejected: Vec::new(),
    };
    draft
}

/// Every reservation was ended once as its run did, every batch was counted once, and the credits add up to the cent.
async fn assert_credits_add_up(world: &World, runs: i64) {
    let wrong = "select count(*) from etl.etl_runs r full join shop.reservation s on s.run_id = r.id
                 where (case r.status when 'SUCCESS' then 'settled' when 'FAILED' then 'refunded' end) is distinct from s.ended
                    or s.batches <> r.batches";
    assert_eq!(world.number(wrong).await, 0);
    assert_eq!(world.number("select count(*) from shop.reservation").await, runs);
    let total = "select (select credits from shop.account)
                     + (select coalesce(sum(credits), 0) from shop.reservation where ended = 'settled')";
    assert_eq!(world.text(total).await.as_deref(), Some("1000.00"));
}

#[tokio::test(flavor = "multi_thread")]
async fn credits_add_up_whatever_is_killed_and_however_runs_end() {
    let world = shop().await;
    world.items(1, 400).await;
    let url = world.db.url();
    // Every second run meets a row that it cannot read, at another place each time.
    let query = "select id, name, modified from content.item where 1 / (case when name = 'bad' then 0 else 1 end) = 1";
    let pipeline = world.pipeline(&with_credits(draft("orders", Mode::Full, query, "analytics.item", 4))).await;
    let mut workers = [WorkerProcess::start(&url), WorkerProcess::start(&url)];
    let (mut kills, rounds) = (0, 12);
    for round in 0..rounds {
        let bad = if round % 2 == 0 { 0 } else { 30 * round };
        world
            .sql(&format!("update content.item set name = case when id = {bad} then 'bad' else 'item ' || id end"))
            .await;
        let run = world.run(pipeline).await;
        // Early, in the middle, and near the end.
        progresses(&world, run, 1 + (round % 4) * 8).await;
        if !world.find(run).await.status.is_final() {
            workers[0].kill();
            workers[0] = WorkerProcess::start(&url);
            kills += 1;
        }
        let expected = if bad == 0 { RunStatus::Success } else { RunStatus::Failed };
        assert_eq!(world.ended(run).await.status, expected, "round {round}");
    }
    assert!(kills * 2 >= rounds, "only {kills} of {rounds} runs had a worker killed");
    assert_credits_add_up(&world, rounds).await;
}

/// A world whose runs wait in the hooks of their end, and a worker that does.
async fn at_the_end(query: &str) -> (World, RunId, WorkerProcess, sqlx::Transaction<'static, sqlx::Postgres>) {
    let world = shop().await;
    world.items(1, 20).await;
    let mut gate = world.db.admin().begin().await.unwrap();
    sqlx::query("update shop.gate set open = false").execute(&mut *gate).await.unwrap();
    let pipeline = world.pipeline(&with_credits(draft("orders", Mode::Full, query, "analytics.item", 7))).await;
    let worker = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    waits_in_a_hook(&world).await;
    (world, run, worker, gate)
}

async fn waits_in_a_hook(world: &World) {
    let waiting = "select count(*) from pg_locks l join pg_stat_activity a using (pid)
                   where not l.granted and a.usename = 'vitrina_app' and a.query like '%etl.call_hooks%'";
    eventually("a hook that waits", || async { (world.number(waiting).await > 0).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_in_the_hooks_of_a_success_has_not_called_them() {
    let (world, run, mut first, gate) = at_the_end(ITEMS).await;
    first.kill();
    let second = WorkerProcess::start(&world.db.url());
    eventually("the rescue of the job", || async {
        second.counter("vitrina_recovered_jobs_total").await.filter(|jobs| *jobs > 0.0)
    })
    .await;
    gate.rollback().await.unwrap();
    world.succeeded(run).await;
    assert_credits_add_up(&world, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_in_the_hooks_of_a_failure_has_not_called_them() {
    let query = "select id, name, modified from content.item where 1 / (case when id = 15 then 0 else 1 end) = 1";
    let (world, run, mut first, gate) = at_the_end(query).await;
    assert_eq!(world.find(run).await.status, RunStatus::Running);
    first.kill();
    let _second = WorkerProcess::start(&world.db.url());
    gate.rollback().await.unwrap();
    assert_eq!(world.ended(run).await.status, RunStatus::Failed);
    assert_credits_add_up(&world, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_comes_back_after_its_job_was_given_away_calls_nothing() {
    let world = shop().await;
    world.items(1, 300).await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from generate_series(1, 30000) g where g <> i.id) > 0";
    let pipeline = world.pipeline(&with_credits(draft("slow", Mode::Incremental, query, "analytics.item", 20))).await;
    let first = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    first.signal(Signal::STOP);
    let second = WorkerProcess::start(&world.db.url());
    world.succeeded(run).await;
    first.signal(Signal::CONT);
    drop(second);
    // By its next run it has dropped the batch.
    world.reset(pipeline).await.unwrap();
    world.succeeds(pipeline).await;
    assert_credits_add_up(&world, 2).await;
}

/// What a run does before its first batch is repeated by the next worker, and its hooks with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_in_the_hooks_of_a_beginning_has_not_begun() {
    let world = shop().await;
    world.items(1, 20).await;
    let mut account = world.db.admin().begin().await.unwrap();
    sqlx::query("update shop.account set credits = credits").execute(&mut *account).await.unwrap();
    let pipeline = world.pipeline(&with_credits(items("items", Mode::Full, 7))).await;
    let mut first = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    waits_in_a_hook(&world).await;
    assert_eq!((world.find(run).await.started_at, world.show(pipeline).await.status), (None, Status::RunRequested));
    first.kill();
    let _second = WorkerProcess::start(&world.db.url());
    account.rollback().await.unwrap();
    world.succeeded(run).await;
    assert_credits_add_up(&world, 1).await;
}
