//! What the API tells, as far as commands look at it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A list of things; where it goes on is of no interest here.
#[derive(Debug, Clone, Deserialize)]
pub struct List<T> {
    /// The things.
    pub items: Vec<T>,
}

/// A pipeline.
#[derive(Debug, Clone, Deserialize)]
pub struct Pipeline {
    /// Unique name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// `full` or `incremental`.
    pub mode: String,
    /// The query, unless the plan has it.
    pub source_query: Option<String>,
    /// Where it writes.
    pub target_table: String,
    /// Rows in a batch.
    pub batch_size: i64,
    /// Column that grows with every change.
    pub incremental_key: Option<String>,
    /// Column that tells apart rows with equal keys.
    pub incremental_id_key: Option<String>,
    /// Whether it may run.
    pub enabled: bool,
    /// Where it stands.
    pub status: String,
    /// The plan.
    pub tasks: Vec<Value>,
    /// Further settings.
    pub options: Map<String, Value>,
    /// Grows with every change.
    pub version: i64,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// Where a pipeline stands.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    /// Its status.
    pub status: String,
    /// The unfinished run.
    pub active_run: Option<Run>,
    /// How far that is.
    pub progress: Option<Pace>,
}

/// How far a run is.
#[derive(Debug, Clone, Deserialize)]
pub struct Pace {
    /// Estimate of all rows.
    pub rows_total: Option<i64>,
    /// Mean speed since the first batch.
    pub rows_per_second: Option<f64>,
    /// Estimate of the seconds left.
    pub eta_seconds: Option<f64>,
}

/// One attempt to run a pipeline.
#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    /// Identity.
    pub id: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// How it stands.
    pub status: String,
    /// What asked for it.
    pub trigger: String,
    /// When it was asked for.
    pub requested_at: DateTime<Utc>,
    /// From its first batch to its end, or to now.
    pub duration_ms: Option<i64>,
    /// Rows that its query returned.
    pub rows_read: i64,
    /// Rows that were inserted or changed.
    pub rows_written: i64,
    /// Rows that went to the dead letters.
    #[serde(default)]
    pub rows_rejected: i64,
    /// Rows that were removed.
    #[serde(default)]
    pub rows_removed: i64,
    /// Batches committed.
    pub batches: i64,
    /// Attempts that failed.
    pub attempts: i64,
    /// The last failure.
    pub error: Option<String>,
    /// How far an incremental run came.
    pub checkpoint_to: Option<Checkpoint>,
}

impl Run {
    /// Whether it has ended, well or not.
    pub fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "SUCCESS" | "FAILED" | "CANCELLED")
    }

    /// Whether it ended well.
    pub fn is_success(&self) -> bool {
        self.status == "SUCCESS"
    }

    /// Mean speed; none where nothing was read.
    pub fn rows_per_second(&self) -> Option<i64> {
        if self.rows_read == 0 {
            return None;
        }
        let milliseconds = self.duration_ms.filter(|milliseconds| *milliseconds > 0)?;
        Some(self.rows_read.saturating_mul(1000) / milliseconds)
    }
}

/// How far a pipeline is written.
#[derive(Debug, Clone, Deserialize)]
pub struct Checkpoint {
    /// Value of the incremental key.
    pub key: String,
    /// Value of the id.
    pub id: Option<String>,
}

/// The checkpoint of a pipeline, and what wrote it.
#[derive(Debug, Clone, Deserialize)]
pub struct State {
    /// The last row; none before the first batch.
    pub checkpoint: Option<Checkpoint>,
    /// The run that wrote it.
    pub run_id: Option<String>,
    /// The batch that wrote it.
    pub batch: Option<i64>,
    /// When.
    pub updated_at: Option<DateTime<Utc>>,
}

/// The answer to a run request.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RequestedRun {
    /// The run that was queued, resumed or found.
    pub run_id: String,
    /// Status of the pipeline.
    pub status: String,
    /// Whether an unfinished run was there already.
    pub already_active: bool,
}

/// A live worker.
#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    /// Unique name.
    pub name: String,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it last reported.
    pub last_heartbeat: DateTime<Utc>,
    /// Batches it has in hand.
    pub jobs: i64,
}

/// An entry of the whitelist.
#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// When it was allowed.
    pub created_at: DateTime<Utc>,
}

/// One entry of the log of status changes.
#[derive(Debug, Clone, Deserialize)]
pub struct Transition {
    /// Its place in the log.
    pub id: i64,
    /// The pipeline's name.
    pub pipeline: String,
    /// The run it was about.
    pub run_id: Option<String>,
    /// Status before.
    pub from: String,
    /// Status after.
    pub to: String,
    /// Who did it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// How far a run is, told while it runs.
#[derive(Debug, Clone, Deserialize)]
pub struct Progress {
    /// The pipeline's name.
    pub pipeline: String,
    /// The run.
    pub run_id: String,
    /// Rows read so far.
    pub rows_read: i64,
    /// Estimate of all rows.
    pub rows_total: Option<i64>,
    /// Mean speed since the run began.
    pub rows_per_second: Option<f64>,
    /// Estimate of the seconds left.
    pub eta_seconds: Option<f64>,
}
