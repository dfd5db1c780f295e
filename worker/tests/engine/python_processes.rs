//! Further processes of a worker's steps in Python.

use std::{path::Path, process::Command};

use serde_json::json;
use vitrina_shared::domain::{Mode, RunStatus};

use crate::support::{STEPS_IN_PYTHON, World, eventually, in_python, items};

/// What a module connects to was there when the worker started, and is away when a further process starts.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_lacks_a_step_of_the_first_one_executes_no_block() {
    let directory = tempfile::tempdir().unwrap();
    let (away, pid) = (directory.path().join("away"), directory.path().join("pid"));
    let module = "import os, vitrina\n\
                  here = os.path.dirname(__file__)\n\
                  if os.path.exists(os.path.join(here, 'away')): raise ImportError('the model is away')\n\
                  @vitrina.step(columns={'name': 'text'})\n\
                  def fickle(rows):\n    \
                      with open(os.path.join(here, 'pid'), 'w') as file: file.write(str(os.getpid()))\n    \
                      return rows\n";
    std::fs::write(directory.path().join("fickle.py"), module).unwrap();
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", directory.path().to_str().unwrap())]);
    world.items(1, 10).await;
    eventually("the step", || world.text("select name from etl.etl_worker_steps")).await;
    let fickle = world.pipeline(&in_python(items("fickle", Mode::Full, 20), "fickle", json!({}))).await;
    assert_eq!(world.succeeds(fickle).await.attempts, 0);

    std::fs::write(&away, "").unwrap();
    assert!(Command::new("kill").args(["-9", &std::fs::read_to_string(&pid).unwrap()]).status().unwrap().success());
    let run = world.run(fickle).await;
    let error = "select error from etl.etl_runs where attempts > 0 and finished_at is null";
    let error = eventually("a failed attempt", || world.text(error)).await;
    assert!(error.contains("has other steps than the first one"), "{error}");
    std::fs::remove_file(&away).unwrap();
    let run = world.succeeded(run).await;
    assert!(run.attempts >= 1 && run.rows_read == 10, "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_has_started_is_killed_when_it_is_found_dead() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON)]);
    world.items(1, 10).await;
    let options = json!({"file": file.to_str().unwrap()});
    let pipeline = world.pipeline(&in_python(items("child", Mode::Full, 20), "leaves_child", options)).await;
    world.succeeds(pipeline).await;
    let pids = std::fs::read_to_string(&file).unwrap();
    let (python, child) = pids.split_once(' ').unwrap();
    let is_alive =
        |pid: &str| std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|line| !line.is_empty());
    assert!(is_alive(child));
    assert!(Command::new("kill").args(["-9", python]).status().unwrap().success());
    eventually("the end of Python", || async { (!is_alive(python)).then_some(()) }).await;
    assert_eq!(world.succeeds(pipeline).await.attempts, 0);
    eventually("the end of its child", || async { (!is_alive(child)).then_some(()) }).await;
}

/// Importing a model takes longer than many runs.
#[tokio::test(flavor = "multi_thread")]
async fn while_python_is_imported_other_pipelines_run_and_those_with_its_steps_wait() {
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    let module = format!(
        "import os, time, vitrina\n\
         while not os.path.exists({gate:?}): time.sleep(0.01)\n\
         @vitrina.step(columns={{'name': 'text'}}, pure=True)\n\
         def model(rows): return rows\n"
    );
    std::fs::write(directory.path().join("model.py"), module).unwrap();
    let mut world = World::new().await;
    world.items(1, 10).await;
    let path = directory.path().to_str().unwrap();
    // Without patience: while it imports, no worker counts as one that lacks the step.
    world.start_worker(&[("VITRINA_PYTHON_PATH", path), ("VITRINA_HEARTBEAT_SECONDS", "0.1")]);
    world.target("modelled", "id bigint, name text, modified timestamptz", &["id"]).await;
    let mut modelled = in_python(items("modelled", Mode::Full, 20), "model", json!({}));
    modelled.target_table = "analytics.modelled".to_owned();
    let waits = world.run(world.pipeline(&modelled).await).await;
    let given_back = "select 1 from apalis.jobs where convert_from(job, 'UTF8')::jsonb ? 'needs'";
    eventually("a job that was given back", || world.text(given_back)).await;
    let plain = world.pipeline(&items("plain", Mode::Full, 20)).await;
    assert_eq!(world.succeeds(plain).await.rows_written, 10);
    assert_eq!(world.find(waits).await.status, RunStatus::Queued);
    std::fs::write(&gate, "").unwrap();
    let run = world.succeeded(waits).await;
    assert_eq!((run.rows_written, run.attempts), (10, 0));
}

/// A worker that lost its connections starts anew under another name, and need not import again what has not changed.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_imported_outlasts_a_life_of_the_worker_until_the_code_changes() {
    let directory = tempfile::tempdir().unwrap();
    let (module, imports) = (directory.path().join("counted.py"), directory.path().join("imports"));
    let write = |version: &str| {
        let code = format!(
            "import vitrina\n\
             with open({imports:?}, 'a') as file: file.write('{version} ')\n\
             @vitrina.step(columns={{'name': 'text'}})\n\
             def counted(rows): return [dict(row, name='{version}') for row in rows]\n"
        );
        std::fs::write(&module, code).unwrap();
    };
    write("one");
    let mut world = World::new().await;
    world.items(1, 10).await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", directory.path().to_str().unwrap()), ("VITRINA_CONCURRENCY", "1")]);
    let lives = "select count(distinct worker) from etl.etl_worker_steps where name = 'counted'";
    let pipeline = world.pipeline(&in_python(items("counted", Mode::Full, 20), "counted", json!({}))).await;
    for (life, version, imported) in [(1, "one", "one "), (2, "one", "one "), (3, "two", "one two ")] {
        if life > 1 {
            write(version);
            world
                .sql(
                    "select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and application_name like 'vitrina-worker-queue%'",
                )
                .await;
        }
        eventually("the life's steps", || async { (world.number(lives).await == life).then_some(()) }).await;
        world.succeeds(pipeline).await;
        let named = format!("select count(*) from analytics.item where name = '{version}'");
        assert_eq!(world.number(&named).await, 10, "life {life}");
        assert_eq!(std::fs::read_to_string(&imports).unwrap(), imported, "life {life}");
    }
}

/// Idle workers without the step take the waiting job whenever it is due and give it back. Here the test does what they do: the job is
/// never due when the busy worker looks.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_only_a_busy_worker_can_do_has_its_turn_while_others_are_idle() {
    let mut world = World::new().await;
    world.items(1, 150).await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON), ("VITRINA_CONCURRENCY", "1")]);
    eventually("the steps", || world.text("select name from etl.etl_worker_steps where name = 'naps'")).await;
    let long = world.pipeline(&in_python(items("long", Mode::Incremental, 10), "naps", json!({}))).await;
    let long = world.run(long).await;
    eventually("the first batch", || async { (world.find(long).await.rows_read > 0).then_some(()) }).await;
    world.target("short", "id bigint, name text, modified timestamptz", &["id"]).await;
    let mut short = in_python(items("short", Mode::Full, 200), "talks", json!({}));
    short.target_table = "analytics.short".to_owned();
    let short = world.run(world.pipeline(&short).await).await;
    let give_back = format!(
        "update apalis.jobs set run_at = now() + interval '0.9 s',
             job = convert_to((convert_from(job, 'UTF8')::jsonb || '{{\"needs\": [\"step `talks`\"]}}')::text, 'UTF8')
         where status = 'Pending' and convert_from(job, 'UTF8')::jsonb ->> 'run_id' = '{short}'"
    );
    let taken = eventually("the end of a run", || async {
        world.sql(&give_back).await;
        let (short, long) = (world.find(short).await, world.find(long).await);
        (short.status.is_final() || long.status.is_final()).then_some(short)
    });
    let run = taken.await;
    assert_eq!((run.status, run.rows_written, run.attempts), (RunStatus::Success, 150, 0));
    assert_eq!(world.succeeded(long).await.rows_written, 150);
    world.assert_no_litter().await;
}

/// One answer too many would be taken for that of the next block, and so on for as long as the process lives.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_not_asked_for_is_never_taken_for_that_of_a_block() {
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_PYTHON_PATH", STEPS_IN_PYTHON), ("VITRINA_CONCURRENCY", "1")]);
    world.items(1, 40).await;
    for (step, attempts) in [("forks", 0..=0), ("answers_before", 1..=1), ("answers_twice", 0..=1)] {
        world.sql("truncate analytics.item").await;
        let file = directory.path().join(step);
        let options = json!({"file": file.to_str().unwrap()});
        let pipeline = world.pipeline(&in_python(items(step, Mode::Incremental, 10), step, options)).await;
        let run = world.succeeds(pipeline).await;
        assert!(file.exists(), "{step} did what it is there for");
        world.assert_same("select id, upper(name), modified from content.item", "analytics.item").await;
        assert!(run.rows_written == 40 && attempts.contains(&run.attempts), "{step}: {run:?}");
    }
}
