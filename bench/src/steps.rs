//! What a step costs: the same films through no step, one in Rust, one in Python over blocks and row by row, and through a plain
//! loop in Python beside them.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio::process::Command;

use crate::{
    Outcome, films,
    report::{
        Goal::{AtLeast, Below},
        Report, Unit, say,
    },
    settings::Settings,
    stage::Stage,
};

const SIZE: u32 = 10_000;

const PUSHED_DOWN: &str = "full, pushed down";
const RUST: &str = "full, through a step in Rust";
const BLOCKS: &str = "full, through a step in Python over blocks";
const ROWS: &str = "full, through a step in Python row by row";
const LOOP: &str = "plain loop in Python, COPY and upsert";

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    let python = python_with_psycopg().await?;
    let steps = concat!(env!("CARGO_MANIFEST_DIR"), "/python/steps");
    stage.worker = stage.program.start_worker_with(&[("VITRINA_PYTHON_PATH", steps)]).await?;
    stage.api.knows_step("strip_row").await?;
    let loads = [
        (PUSHED_DOWN, "steps_none", json!([])),
        (RUST, "steps_rust", json!([{"task_type": "RUST", "body": "trim", "options": {"columns": ["title"]}}])),
        (BLOCKS, "steps_blocks", json!([{"task_type": "PYTHON", "body": "strip_block"}])),
        (ROWS, "steps_rows", json!([{"task_type": "PYTHON", "body": "strip_row"}])),
    ];
    stage.make_mart("steps_loop").await?;
    for (_, name, steps) in &loads {
        stage.make_mart(name).await?;
        stage.api.allow(&mart(name), "film_id").await?;
        stage.api.create(&pipeline(name, steps)).await?;
    }
    let mut round = Round { stage, report, films: settings.films.into() };
    for number in 1..=settings.repeats {
        say(&format!("steps, round {number} of {}", settings.repeats));
        for (title, name, _) in &loads {
            round.load(title, name).await?;
        }
        round.plain_loop(&python, &settings.setup.database_url).await?;
    }
    memory(stage, report)?;
    compare(report);
    Ok(())
}

/// A full load of all films through these steps.
fn pipeline(name: &str, steps: &Value) -> Value {
    let mut pipeline = films::full(name, SIZE);
    pipeline["target_table"] = json!(mart(name));
    let steps = steps.as_array().into_iter().flatten();
    let query = json!({"task_type": "SQL", "body": films::QUERY});
    let mut tasks: Vec<_> = std::iter::once(&query).chain(steps).cloned().collect();
    for (task, place) in tasks.iter_mut().zip(1..) {
        task["order_index"] = json!(place);
    }
    pipeline["source_query"] = Value::Null;
    pipeline["tasks"] = json!(tasks);
    pipeline
}

/// Full pipelines do not share a mart: each would remove the rows of the other.
fn mart(name: &str) -> String {
    format!("analytics.bench_{name}")
}

impl Stage {
    async fn make_mart(&mut self, name: &str) -> Outcome<()> {
        let make = format!("create table {} (like analytics.film_dim including all)", mart(name));
        sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut self.sql).await?;
        Ok(())
    }
}

struct Round<'a> {
    stage: &'a mut Stage,
    report: &'a mut Report,
    films: u64,
}

impl Round<'_> {
    async fn load(&mut self, title: &str, name: &str) -> Outcome<()> {
        self.empty(name).await?;
        let finished = self.stage.api.run(name).await?;
        self.expect_all(finished.run.rows_read, name).await?;
        self.report.speed(title, finished.run.rows_read, finished.took)?;
        for step in &finished.run.steps {
            let took = Duration::from_secs_f64(step.duration_ms / 1000.0);
            self.report.speed(&format!("{title}: the step alone"), step.rows_in, took)?;
        }
        Ok(())
    }

    async fn plain_loop(&mut self, python: &PathBuf, url: &str) -> Outcome<()> {
        #[derive(Deserialize)]
        struct Done {
            rows: u64,
            seconds: f64,
        }
        self.empty("steps_loop").await?;
        let mart = mart("steps_loop");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/plain_loop.py");
        let size = SIZE.to_string();
        let work = [script, url, films::QUERY, films::COLUMNS, films::ON_CONFLICT, &mart, &size];
        let output = Command::new(python).args(work).kill_on_drop(true).output().await?;
        if !output.status.success() {
            return Err(format!("the plain loop failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let done: Done = serde_json::from_slice(&output.stdout)?;
        self.expect_all(done.rows, "steps_loop").await?;
        self.report.speed(LOOP, done.rows, Duration::from_secs_f64(done.seconds))
    }

    async fn empty(&mut self, name: &str) -> Outcome<()> {
        let empty = format!("truncate {}", mart(name));
        sqlx::raw_sql(AssertSqlSafe(empty)).execute(&mut self.stage.sql).await?;
        self.stage.execute(&["checkpoint"]).await
    }

    /// All were read, and what was written is the same whichever way it went.
    async fn expect_all(&mut self, rows: u64, name: &str) -> Outcome<()> {
        let right = format!(
            "select count(*) from {} m join content.film_work f on f.id = m.film_id and f.title = m.title and f.modified = m.modified",
            mart(name)
        );
        let written: i64 = sqlx::query_scalar(AssertSqlSafe(right)).fetch_one(&mut self.stage.sql).await?;
        match rows == self.films && written.unsigned_abs() == self.films {
            true => Ok(()),
            false => Err(format!("{} films, {rows} read, {written} in the mart", self.films).into()),
        }
    }
}

/// The interpreter of `scripts/setup psycopg`, if it has psycopg.
async fn python_with_psycopg() -> Outcome<PathBuf> {
    let python = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/psycopg/bin/python"));
    let imported = Command::new(&python).args(["-c", "import psycopg"]).status().await;
    if imported.is_ok_and(|status| status.success()) {
        return Ok(python);
    }
    Err("the plain loop needs psycopg, which is not there: run `scripts/setup psycopg`; nothing of `steps` was measured".into())
}

fn memory(stage: &Stage, report: &mut Report) -> Outcome<()> {
    let worker = "worker's memory after steps";
    report.sample(worker, Unit::Mebibytes, stage.worker.peak_memory()?)?;
    report.goal(worker, Below(60.0));
    for child in stage.worker.peak_memory_of_children()? {
        report.sample("a child's memory after steps", Unit::Mebibytes, child)?;
    }
    Ok(())
}

fn compare(report: &mut Report) {
    report.goal(BLOCKS, AtLeast(100_000.0));
    report.ratio(RUST, PUSHED_DOWN, Some(AtLeast(0.5)));
    report.ratio(BLOCKS, PUSHED_DOWN, None);
    report.ratio(ROWS, PUSHED_DOWN, None);
    report.ratio(BLOCKS, LOOP, Some(AtLeast(1.0)));
    report.ratio(ROWS, LOOP, None);
}
