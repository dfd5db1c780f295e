//! A run is executed by one version of its steps' code, and with one key, whichever workers take its jobs.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use vitrina_shared::domain::{ErrorClass, Mode, PipelineDraft, PipelineId, RunId, RunStatus, Status, Task, TaskKind};

use crate::support::{RunningWorker, World, eventually, in_python, items};

const OLD: &str = "select id, 'old ' || name, modified from content.item";
const KEY: (&str, &str) = ("VITRINA_KEYS_PEOPLE", "one key of the pool");
const OTHER_KEY: (&str, &str) = ("VITRINA_KEYS_PEOPLE", "another key of the pool");

/// Two directories with the step `mark` in two versions. It rests at the item 15 while the file `gate` is not there.
struct Code {
    old: TempDir,
    new: TempDir,
    files: TempDir,
}

impl Code {
    fn new() -> Self {
        let (old, new, files) = (tempfile::tempdir(), tempfile::tempdir(), tempfile::tempdir());
        let code = Self { old: old.unwrap(), new: new.unwrap(), files: files.unwrap() };
        for (directory, version) in [(&code.old, "old"), (&code.new, "new")] {
            let step = format!(
                "import os, time, vitrina\n\
                 GATE = {gate:?}\n\
                 @vitrina.step(columns={{'name': 'text'}})\n\
                 def mark(rows):\n    \
                     while any(row['id'] == 15 for row in rows) and not os.path.exists(GATE): time.sleep(0.01)\n    \
                     return [dict(row, name='{version} ' + row['name']) for row in rows]\n",
                gate = code.gate(),
            );
            std::fs::write(directory.path().join("mark.py"), step).unwrap();
        }
        code
    }

    fn gate(&self) -> std::path::PathBuf {
        self.files.path().join("gate")
    }

    fn open_gate(&self) {
        std::fs::write(self.gate(), "").unwrap();
    }
}

fn worker(world: &World, code: &Path, more: &[(&str, &str)]) -> RunningWorker {
    let base = [
        ("VITRINA_PYTHON_PATH", code.to_str().unwrap()),
        ("VITRINA_CONCURRENCY", "1"),
        ("VITRINA_HEARTBEAT_SECONDS", "0.1"),
        ("VITRINA_PAUSE_SECONDS", "0.1"),
    ];
    world.worker(&[&base, more].concat())
}

/// A run that rests after its first batch.
async fn begun(world: &World, draft: &PipelineDraft) -> (PipelineId, RunId) {
    let pipeline = world.pipeline(draft).await;
    let run = world.run(pipeline).await;
    eventually("the first batch", || async { (world.find(run).await.rows_read == 10).then_some(()) }).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    (pipeline, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_rested_goes_on_where_its_code_is_and_never_in_another_version() {
    let (world, code) = (World::new().await, Code::new());
    world.items(1, 30).await;
    let has_old = worker(&world, code.old.path(), &[]);
    let (pipeline, run) = begun(&world, &in_python(items("marks", Mode::Incremental, 10), "mark", json!({}))).await;
    let noted = "select code[1] from etl.etl_runs";
    assert!(world.text(noted).await.unwrap().starts_with("step `mark` ("));

    // The old code's worker is taken up with another run, so that the new code's has all the time to take this one.
    world.target("other", "id bigint, name text, modified timestamptz", &["id"]).await;
    let mut other = in_python(items("busy", Mode::Full, 30), "mark", json!({}));
    other.target_table = "analytics.other".to_owned();
    let busy = world.run(world.pipeline(&other).await).await;
    eventually("the other run", || async { (world.find(busy).await.status == RunStatus::Running).then_some(()) }).await;
    let _has_new = worker(&world, code.new.path(), &[]);
    world.run(pipeline).await;
    let resumed_at = world.text("select clock_timestamp()").await.unwrap();
    let given_back = format!("select 1 from apalis.jobs where status = 'Pending' and run_at > '{resumed_at}'");
    eventually("a job that was given back", || world.text(&given_back)).await;
    code.open_gate();
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_written, run.attempts), (30, 0));
    world.assert_same(OLD, "analytics.item").await;
    drop(has_old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_code_no_worker_has_any_more_fails_and_says_what_keeps_its_old_form() {
    let (world, code) = (World::new().await, Code::new());
    world.items(1, 30).await;
    let has_old = worker(&world, code.old.path(), &[]);
    let (pipeline, run) = begun(&world, &in_python(items("marks", Mode::Incremental, 10), "mark", json!({}))).await;
    has_old.stop.cancel();
    has_old.ended().await;
    let _has_new = worker(&world, code.new.path(), &[]);
    code.open_gate();
    world.run(pipeline).await;
    let run = world.ended(run).await;
    let error = run.error.unwrap();
    assert!(
        error.starts_with("the code or the key has changed since the run began: it began with step `mark` ("),
        "{error}"
    );
    assert!(error.contains("keep their old form; with `--full` all rows are written anew"), "{error}");
    assert_eq!((run.rows_read, run.error_class), (10, Some(ErrorClass::Fatal)));
    assert_eq!(world.number("select count(*) from analytics.item where name like 'old %'").await, 10);

    assert_eq!(world.succeeds(pipeline).await.rows_read, 20);
    world.succeeds_in_full(pipeline).await;
    world.assert_same("select id, 'new ' || name, modified from content.item", "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_makes_its_pseudonyms_with_one_key_and_the_key_is_noted_nowhere() {
    let (world, code) = (World::new().await, Code::new());
    world.items(1, 30).await;
    let has_key = worker(&world, code.old.path(), &[KEY]);
    let mut draft = in_python(items("hashed", Mode::Incremental, 10), "mark", json!({}));
    let Value::Object(options) = json!({"columns": ["name"], "pool": "PEOPLE"}) else { unreachable!() };
    let hash = Task { order_index: 3, task_type: TaskKind::Rust, body: "hash".to_owned(), target_table: None, options };
    draft.tasks.push(hash);
    let (pipeline, run) = begun(&world, &draft).await;
    let first = "select string_agg(name, ' ' order by id) from analytics.item where id <= 10";
    let before = world.text(first).await;
    has_key.stop.cancel();
    has_key.ended().await;
    let other = worker(&world, code.old.path(), &[OTHER_KEY]);
    code.open_gate();
    world.run(pipeline).await;
    let failed = world.ended(run).await;
    let error = failed.error.unwrap();
    assert!(error.contains("VITRINA_KEYS_PEOPLE (") && !error.contains("one key of"), "{error}");
    assert_eq!((failed.rows_read, world.text(first).await), (10, before));
    let notes = "select (select string_agg(r::text, '') from etl.etl_runs r) || (select string_agg(k::text, '') from \
                 etl.etl_worker_keys k)";
    assert!(!world.text(notes).await.unwrap().contains("key of the pool"));
    drop(other);
}

/// Nothing is noted for a plan whose code every worker has.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_such_steps_notes_no_code() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    let mut draft = in_python(items("trimmed", Mode::Full, 10), "trim", json!({"columns": ["name"]}));
    (draft.kind, draft.tasks[1].task_type) = (TaskKind::Rust, TaskKind::Rust);
    world.succeeds(world.pipeline(&draft).await).await;
    assert_eq!(world.text("select code from etl.etl_runs").await, None);
}
