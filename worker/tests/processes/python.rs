//! Steps in Python in a worker of its own process: its end, and its log.

use std::path::Path;

use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, Run};

use crate::{
    support::{STEPS_IN_PYTHON, World, eventually, in_python, items},
    worker_process::WorkerProcess,
};

fn start(world: &World, settings: &[(&str, &str)]) -> WorkerProcess {
    let path = std::env::var("PATH").unwrap();
    let base = [("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON), ("PATH", path.as_str())];
    WorkerProcess::start_with(&world.db.url(), &[&base, settings].concat())
}

fn is_alive(pid: &str) -> bool {
    // A process that has ended and that init has not reaped yet has no command line.
    std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|line| !line.is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn python_ends_with_its_worker_and_another_worker_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let world = World::new().await;
    world.items(1, 30).await;
    let mut worker = start(&world, &[]);
    let options = json!({"file": file.to_str().unwrap()});
    let pipeline = world.pipeline(&in_python(items("hangs", Mode::Incremental, 10), "hangs", options)).await;
    let run = world.run(pipeline).await;
    let pid = eventually("the step hangs", || async { std::fs::read_to_string(&file).ok() }).await;
    assert!(is_alive(&pid));
    worker.kill();
    eventually("the end of Python", || async { (!is_alive(&pid)).then_some(()) }).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 10, "the batch before is whole");

    let _other = start(&world, &[]);
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written), (30, 30));
    world.assert_same("select id, upper(name), modified from content.item", "analytics.item").await;
}

/// A step that never lets go of Python's lock keeps Python from seeing that its worker is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_step_has_started_ends_with_a_worker_that_is_killed_while_python_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let world = World::new().await;
    world.items(1, 10).await;
    let mut worker = start(&world, &[]);
    let options = json!({"file": file.to_str().unwrap()});
    let pipeline = world.pipeline(&in_python(items("locked", Mode::Full, 10), "keeps_lock", options)).await;
    let run = world.run(pipeline).await;
    let pids = eventually("the step sleeps", || async { std::fs::read_to_string(&file).ok() }).await;
    assert!(pids.split(' ').all(is_alive), "{pids}");
    worker.kill();
    eventually("the end of all", || async { (!pids.split(' ').any(is_alive)).then_some(()) }).await;

    let _other = start(&world, &[]);
    assert_eq!(world.succeeded(run).await.rows_written, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_of_a_step_is_a_line_of_the_log_and_a_slow_one_for_everyone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let world = World::new().await;
    world.items(1, 30).await;
    let settings = [
        ("VITRINA_LOG_FILE", file.to_str().unwrap()),
        ("VITRINA_LOG_FORMAT", "json"),
        ("VITRINA_LOG", "info,vitrina_worker=debug"),
    ];
    let _worker = start(&world, &settings);
    let entity = |step| {
        let mut draft = in_python(items(step, Mode::Incremental, 10), step, json!({}));
        draft.target_table = "analytics.item".to_owned();
        draft
    };
    let quick = world.pipeline(&entity("talks")).await;
    let quick = world.succeeds(quick).await;
    world.sql("truncate analytics.item").await;
    let slow = world.pipeline(&entity("naps")).await;
    let slow = world.succeeds(slow).await;
    let is_over =
        || async { std::fs::read_to_string(&file).ok().filter(|log| log.matches("run finished").count() == 2) };
    let log = eventually("both runs in the log", is_over).await;
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |run: &Run| -> Vec<_> {
        let is_block =
            |line: &&Value| line["run_id"] == run.id.to_string() && line["msg"].as_str().unwrap().contains("block");
        lines.iter().filter(is_block).cloned().collect()
    };
    for (run, step, level) in [(&quick, "talks", "DEBUG"), (&slow, "naps", "INFO")] {
        let blocks = of(run);
        assert_eq!(blocks.len(), 3, "a page is one block here: {blocks:?}");
        for block in &blocks {
            assert_eq!(
                (&block["step"], &block["level"], &block["rows_out"]),
                (&json!(step), &json!(level), &json!(10))
            );
            assert_eq!(block["correlation_id"], "test");
            assert!(block["job_id"].is_string() && block["duration_ms"].is_f64(), "{block}");
            assert!(block.get("entity").is_none(), "the step names none: {block}");
        }
    }
    let etas: Vec<_> = of(&slow).iter().map(|block| block["eta"].as_f64()).collect();
    assert!(etas[0].is_none() && etas[2].is_some(), "known once the run's progress is: {etas:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_step_says_is_in_the_log_with_its_run_and_an_exception_without_its_values() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let log = || std::fs::read_to_string(&file).unwrap_or_default();
    let world = World::new().await;
    world.items(1, 10).await;
    world.sql("update content.item set name = 'secret of ' || id").await;
    let settings =
        [("VITRINA_LOG_FILE", file.to_str().unwrap()), ("VITRINA_LOG_FORMAT", "json"), ("VITRINA_LOG", "info")];
    let _worker = start(&world, &settings);
    let talks = world.pipeline(&in_python(items("talks", Mode::Full, 20), "talks", json!({}))).await;
    let run = world.succeeds(talks).await;
    let fails = world.pipeline(&in_python(items("fails", Mode::Full, 20), "fails", json!({}))).await;
    let failed = world.fails(fails).await;
    assert_eq!(failed.error.as_deref(), Some("step `fails` says: never secret of 1"));
    eventually("the failure in the log", || async { log().contains("run failed").then_some(()) }).await;

    let log = log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |run: String, words: &str| {
        let is_it = |line: &&Value| line.to_string().contains(&run) && line.to_string().contains(words);
        lines.iter().find(is_it).unwrap_or_else(|| panic!("no `{words}` with {run} in {log}")).clone()
    };
    let printed = said(run.id.to_string(), "printed for");
    assert!(printed.to_string().contains("\"step\":\"talks\""), "{printed}");
    assert!(said(run.id.to_string(), "warned").to_string().to_lowercase().contains("warn"));
    said(failed.id.to_string(), "bad.py");
    assert!(!log.contains("secret"), "the log quotes a row: {log}");
}
