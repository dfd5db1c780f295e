//! Workers that die, hang and come back: nothing is lost, nothing is written twice.

use std::time::Duration;

use rand::RngExt;
use rustix::process::Signal;
use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, PipelineDraft, PipelineId, Run, RunId, RunStep, Status, Task, TaskKind};

use crate::{
    support::{ITEMS, World, draft, eventually, items},
    worker_process::WorkerProcess,
};

/// Jobs that a worker brought back after another one had died.
const RECOVERED: &str = "vitrina_recovered_jobs_total";

/// Nothing was counted twice, and the mart equals the source.
pub async fn assert_exactly_once(world: &World, run: RunId, rows: i64) {
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (rows, rows));
    let batches = world.number("select max(next_batch) from etl.etl_run_ranges").await;
    assert_eq!(run.batches, batches, "a batch was counted twice or not at all");
    world.assert_same(ITEMS, "analytics.item").await;
    world.assert_no_litter().await;
}

pub async fn progresses(world: &World, run: RunId, batches: i64) {
    let before = world.find(run).await.batches;
    eventually("progress", || async {
        let run = world.find(run).await;
        (run.batches >= before + batches || run.status.is_final()).then_some(())
    })
    .await;
}

/// Kills a worker `times` times while three of them write `rows` rows. Returns the run as it ended.
async fn kill_again_and_again(draft: PipelineDraft, rows: i64, times: u32) -> Run {
    let world = World::new().await;
    world.items(1, rows).await;
    let pipeline = world.pipeline(&draft).await;
    let url = world.db.url();
    let mut workers: Vec<_> = (0..3).map(|_| WorkerProcess::start(&url)).collect();
    let run = world.run(pipeline).await;
    let mut kills = 0;
    for _ in 0..times {
        progresses(&world, run, 1).await;
        tokio::time::sleep(Duration::from_micros(rand::rng().random_range(0..60_000))).await;
        if world.find(run).await.status.is_final() {
            break;
        }
        // Two times out of three the worker that holds the job, else a random one.
        let busy =
            world.text("select split_part(lock_by, '-', -2) from apalis.jobs where status = 'Running' limit 1").await;
        let busy = busy.and_then(|pid| workers.iter().position(|worker| worker.id().to_string() == pid));
        let anybody = rand::rng().random_range(0..workers.len());
        let victim = busy.filter(|_| rand::rng().random_range(0..3) > 0).unwrap_or(anybody);
        workers[victim].kill();
        kills += 1;
        workers[victim] = WorkerProcess::start(&url);
    }
    assert!(kills * 3 >= times * 2, "the run was over after {kills} kills");
    assert_exactly_once(&world, run, rows).await;
    world.find(run).await
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_kills_during_an_incremental_run_lose_and_repeat_nothing() {
    kill_again_and_again(items("items", Mode::Incremental, 80), 200_000, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dozen_kills_during_a_full_run_lose_and_repeat_nothing() {
    kill_again_and_again(items("items", Mode::Full, 80), 80_000, 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_during_a_run_with_steps_count_every_row_once_in_each_of_them() {
    let draft = items("items", Mode::Incremental, 80);
    let trim = || (TaskKind::Rust, "trim".to_owned(), json!({"columns": ["name"]}));
    let query = (TaskKind::Sql, draft.source_query.clone().unwrap(), json!({}));
    let task = |(order_index, (task_type, body, options)): (i32, (TaskKind, String, Value))| Task {
        order_index,
        task_type,
        body,
        target_table: None,
        options: options.as_object().unwrap().clone(),
    };
    let tasks = (1..).zip([query, trim(), trim()]).map(task).collect();
    let draft = PipelineDraft { kind: TaskKind::Rust, source_query: None, tasks, ..draft };
    let run = kill_again_and_again(draft, 20_000, 6).await;
    let counted = |step: &RunStep| (step.place, step.rows_in, step.rows_out, step.rejected, step.dropped);
    let counted: Vec<_> = run.steps.iter().map(counted).collect();
    assert_eq!(counted, [(2, 20_000, 20_000, 0, 0), (3, 20_000, 20_000, 0, 0)]);
}

/// A world whose one page takes about as long as the rows it reads are many.
pub async fn slow_world() -> (World, PipelineId) {
    let world = World::new().await;
    world.items(1, 300).await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from generate_series(1, 30000) g where g <> i.id) > 0";
    let pipeline = world.pipeline(&draft("slow", Mode::Incremental, query, "analytics.item", 20)).await;
    (world, pipeline)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_that_comes_back_drops_its_batch() {
    let (world, pipeline) = slow_world().await;
    let url = world.db.url();
    let first = WorkerProcess::start(&url);
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    first.signal(Signal::STOP);
    let _second = WorkerProcess::start(&url);
    world.succeeded(run).await;
    first.signal(Signal::CONT);
    eventually("a refused batch", || async {
        first.counter("vitrina_fenced_batches_total").await.filter(|fenced| *fenced >= 1.0)
    })
    .await;
    assert_exactly_once(&world, run, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_worker_ends_soon_and_its_run_goes_on_elsewhere() {
    let (world, pipeline) = slow_world().await;
    let url = world.db.url();
    let mut first = WorkerProcess::start(&url);
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    let second = WorkerProcess::start(&url);
    first.signal(Signal::TERM);
    assert!(first.ended(Duration::from_secs(10)).await.success());
    assert!(!world.find(run).await.status.is_final(), "the run was over too soon to show anything");
    assert_exactly_once(&world, run, 300).await;
    assert_eq!(second.counter(RECOVERED).await, Some(0.0), "its job was not given back, and had to be rescued");
    assert_eq!(world.show(pipeline).await.status, Status::Idle);
}

/// The same with batches that take longer than it takes to find a connection again.
async fn slower_world() -> (World, PipelineId) {
    let world = World::new().await;
    world.items(1, 300).await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from generate_series(1, 150000) g where g <> i.id) > 0";
    let pipeline = world.pipeline(&draft("slower", Mode::Incremental, query, "analytics.item", 20)).await;
    (world, pipeline)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_lost_its_session_goes_on_in_one_task_of_its_worker() {
    let (world, pipeline) = slower_world().await;
    let worker = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    let ended = format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where state = 'active' and application_name = 'vitrina-worker {run}'"
    );
    eventually("a session that ends", || async { (world.number(&ended).await > 0).then_some(()) }).await;
    assert_exactly_once(&world, run, 300).await;
    assert_eq!(world.find(run).await.attempts, 0);
    assert_eq!(worker.counter("vitrina_fenced_batches_total").await, Some(0.0), "two tasks had the job");
    let orphaned = worker.counter(r#"vitrina_cancelled_statements_total{reason="orphaned"}"#).await;
    assert_eq!(orphaned, Some(0.0), "one task ended the session of the other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_worker_begins_no_further_batch() {
    let (world, pipeline) = slower_world().await;
    let mut first = WorkerProcess::start(&world.db.url());
    let run = world.run(pipeline).await;
    progresses(&world, run, 2).await;
    let before = world.find(run).await.batches;
    first.signal(Signal::TERM);
    assert!(first.ended(Duration::from_secs(30)).await.success());
    let after = world.find(run).await;
    assert!(!after.status.is_final() && after.batches <= before + 1, "{before} batches, then {}", after.batches);
    let held = "select count(*) from apalis.jobs where status in ('Queued', 'Running')";
    assert_eq!(world.number(held).await, 0, "the job was not given back");
    let _second = WorkerProcess::start(&world.db.url());
    assert_exactly_once(&world, run, 300).await;
}

/// A world with a run whose batch never ends while the gate is shut.
pub async fn endless_world() -> (World, PipelineId) {
    let world = World::new().await;
    world.items(1, 100).await;
    world.sql("create table content.gate as select true as shut").await;
    let query = "select i.id, i.name, i.modified from content.item i
                 where (select count(*) from content.item a, content.item b, content.item c, content.item d, content.item e,
                               content.item f, content.item g where (select shut from content.gate)) >= 0";
    let pipeline = world.pipeline(&draft("endless", Mode::Incremental, query, "analytics.item", 20)).await;
    (world, pipeline)
}

/// How many sessions execute something for the run.
pub async fn active(world: &World, run: RunId) -> i64 {
    let sessions = "select count(*) from pg_stat_activity where state = 'active' and application_name =";
    world.number(&format!("{sessions} 'vitrina-worker {run}'")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_worker_cancels_a_batch_that_does_not_end() {
    let (world, pipeline) = endless_world().await;
    let url = world.db.url();
    let mut first = WorkerProcess::start_with(&url, &[("VITRINA_DRAIN_SECONDS", "1")]);
    let run = world.run(pipeline).await;
    eventually("a batch under way", || async { (active(&world, run).await > 0).then_some(()) }).await;
    first.signal(Signal::TERM);
    assert!(first.ended(Duration::from_secs(15)).await.success());
    assert_eq!(active(&world, run).await, 0, "the statement outlived its worker");
    world.sql("update content.gate set shut = false").await;
    let _second = WorkerProcess::start(&url);
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(world.find(run).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_of_a_killed_worker_ends_soon_and_its_run_goes_on_elsewhere() {
    let (world, pipeline) = endless_world().await;
    let url = world.db.url();
    let mut first = WorkerProcess::start(&url);
    let run = world.run(pipeline).await;
    eventually("a batch under way", || async { (active(&world, run).await > 0).then_some(()) }).await;
    first.kill();
    world.sql("update content.gate set shut = false").await;
    let second = WorkerProcess::start(&url);
    assert_exactly_once(&world, run, 100).await;
    assert_eq!(active(&world, run).await, 0);
    assert!(
        second.counter(RECOVERED).await.is_some_and(|jobs| jobs >= 1.0),
        "the job of the killed worker was not rescued"
    );
}
