//! A step that does what its options say, for tests of everything that a step may and may not do.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use vitrina_shared::domain::{
    ErrorClass, PipelineDraft, SourceColumn, Task, TaskKind,
    transform::{Configured, Transform, TransformKind},
};
use vitrina_worker::step::{Block, Processed, Step, StepContext, StepError, StepRegistry};

/// Writes names in capitals; names that begin with `bad` are what the script is about.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(default)]
    pure: bool,
    #[serde(default)]
    drops: bool,
    /// What happens to the database while the pipeline is reviewed: its address, and statements.
    during_review: Option<(String, String)>,
    /// Whether it says that it called a service for every row, and waited for the limit `tokens`.
    #[serde(default)]
    calls: bool,
    concurrency: Option<usize>,
    does: Does,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Does {
    Nothing,
    Reject,
    LeaveOut,
    Reverse,
    ChangeKeys,
    Fail(String),
    FailOnce(String),
    /// Asks for so many seconds of rest.
    Rest(u64),
}

/// When and for whom the step was executed.
#[derive(Debug, Clone)]
pub struct Execution {
    pub at: Instant,
    pub context: StepContext,
    pub rows: usize,
    /// Batches that were committed by then.
    pub committed: i64,
}

/// What the step has been asked to do.
#[derive(Debug, Clone)]
pub struct Seen {
    executions: Arc<Mutex<Vec<Execution>>>,
    db: PgPool,
}

impl Seen {
    pub fn by(db: PgPool) -> Self {
        Self { executions: Arc::default(), db }
    }

    pub fn executions(&self) -> Vec<Execution> {
        self.executions.lock().unwrap().clone()
    }

    /// The builtin steps and `scripted`.
    pub fn registry(&self) -> StepRegistry {
        let seen = self.clone();
        let construct = move |options: &Map<String, Value>| -> Result<Box<dyn Step>, String> {
            Ok(Box::new(Scripted { script: script(options)?, seen: seen.clone() }))
        };
        StepRegistry::default().with(KIND, Arc::new(construct))
    }

    async fn note(&self, context: &StepContext, rows: usize) -> usize {
        let committed = "select coalesce(sum(batches), 0)::bigint from etl.etl_runs";
        let committed = sqlx::query_scalar(committed).fetch_one(&self.db).await.unwrap();
        let mut executions = self.executions.lock().unwrap();
        executions.push(Execution { at: Instant::now(), context: context.clone(), rows, committed });
        executions.len()
    }
}

const KIND: TransformKind =
    TransformKind { name: "scripted", description: "Does what the test wants", schema: || json!({}), configure };

fn script(options: &Map<String, Value>) -> Result<Script, String> {
    serde_json::from_value(Value::Object(options.clone())).map_err(|error| error.to_string())
}

fn configure(options: &Map<String, Value>) -> Result<Configured, String> {
    Ok(Configured::Worker(Box::new(script(options)?)))
}

impl Transform for Script {
    fn columns(&self, _: &mut Vec<SourceColumn>) -> Result<(), String> {
        let Some((url, statements)) = self.during_review.clone() else { return Ok(()) };
        // In a thread with a runtime of its own: this one executes the worker.
        let changed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&url).await.unwrap();
                sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
            });
        });
        changed.join().map_err(|_| "the database was not changed".to_owned())
    }

    fn concurrency(&self) -> Option<usize> {
        self.concurrency
    }

    fn touches(&self) -> Vec<&str> {
        vec!["name"]
    }

    fn is_pure(&self) -> bool {
        self.pure
    }

    fn drops_rows(&self) -> bool {
        self.drops
    }
}

#[derive(Debug)]
struct Scripted {
    script: Script,
    seen: Seen,
}

#[async_trait]
impl Step for Scripted {
    async fn execute(&self, context: &StepContext, block: Block) -> Result<Processed, StepError> {
        let times = self.seen.note(context, block.len()).await;
        if self.script.calls {
            context.counts.note_calls(block.len() as u64, 1);
            context.counts.note_wait(Duration::from_millis(10), "tokens");
        }
        self.fail(times)?;
        let mut processed = Processed::default();
        for mut row in block {
            let name = row.document.text("name").unwrap().unwrap();
            row.document.set_text("name", &name.to_uppercase()).unwrap();
            match (&self.script.does, name.starts_with("bad")) {
                (Does::Reject, true) => processed.rejected.push(row.reject("it is refused")),
                (Does::LeaveOut, true) => {}
                (Does::ChangeKeys, true) => {
                    row.document.set_text("id", "0").unwrap();
                    processed.rows.push(row);
                }
                _ => processed.rows.push(row),
            }
        }
        if matches!(self.script.does, Does::Reverse) {
            processed.rows.reverse();
        }
        Ok(processed)
    }
}

impl Scripted {
    fn fail(&self, times: usize) -> Result<(), StepError> {
        if let Does::Rest(seconds) = self.script.does {
            return Err(StepError::rate_limited(Duration::from_secs(seconds), "on purpose"));
        }
        let (Does::Fail(class) | Does::FailOnce(class)) = &self.script.does else { return Ok(()) };
        if matches!(self.script.does, Does::FailOnce(_)) && times > 1 {
            return Ok(());
        }
        let class = class.parse().unwrap();
        if class == ErrorClass::RateLimited {
            return Err(StepError::rate_limited(Duration::from_secs(2), "on purpose"));
        }
        Err(StepError::new(class, "on purpose"))
    }
}

/// A pipeline whose rows pass the scripted step.
pub fn scripted(mut draft: PipelineDraft, options: Value) -> PipelineDraft {
    let query = draft.source_query.take().expect("a query");
    let task = |order_index, task_type, body: &str, options: Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().expect("options are an object").clone(),
    };
    draft.tasks = vec![task(1, TaskKind::Sql, &query, json!({})), task(2, TaskKind::Rust, "scripted", options)];
    draft
}
