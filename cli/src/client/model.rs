//! The parts of the API's answers that commands use.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

/// A list, or a page of a longer one.
#[derive(Debug, Clone, Deserialize)]
pub struct List<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct InstalledApi {
    pub id: Uuid,
    /// The schemas that the API lets queries read.
    pub source_schemas: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Pipeline {
    pub name: String,
    pub description: String,
    pub mode: String,
    /// The query, unless the plan has it.
    pub source_query: Option<String>,
    pub target_table: String,
    pub batch_size: i64,
    pub incremental_key: Option<String>,
    pub incremental_id_key: Option<String>,
    pub enabled: bool,
    pub status: String,
    pub tasks: Vec<Value>,
    pub options: Map<String, Value>,
    pub version: i64,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    pub id: String,
    pub pipeline: String,
    pub status: String,
    pub requested_at: DateTime<Utc>,
    /// From its first batch to its end, or to now.
    pub duration_ms: Option<i64>,
    pub rows_read: i64,
    pub rows_written: i64,
    #[serde(default)]
    pub rows_rejected: i64,
    #[serde(default)]
    pub rows_removed: i64,
    pub batches: i64,
    pub attempts: i64,
    pub error: Option<String>,
    pub checkpoint_to: Option<Checkpoint>,
    /// What the steps of its plan did; an older API does not say it.
    #[serde(default)]
    pub steps: Vec<RunStep>,
    #[serde(default)]
    pub advice: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RunStep {
    pub step: String,
    pub rows_out: i64,
    pub rejected: i64,
    pub dropped: i64,
    pub duration_ms: f64,
    pub mean_ms_per_block: Option<f64>,
    pub calls_made: i64,
    pub calls_saved: i64,
    pub waited_ms: f64,
    pub waited_for: Option<String>,
}

impl Run {
    pub fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "SUCCESS" | "FAILED" | "CANCELLED")
    }

    pub fn is_success(&self) -> bool {
        self.status == "SUCCESS"
    }

    /// Mean speed; none if nothing was read.
    pub fn rows_per_second(&self) -> Option<i64> {
        if self.rows_read == 0 {
            return None;
        }
        let milliseconds = self.duration_ms.filter(|milliseconds| *milliseconds > 0)?;
        Some(self.rows_read.saturating_mul(1000) / milliseconds)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Checkpoint {
    /// Value of the incremental key.
    pub key: String,
    pub id: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct State {
    /// The last row; none before the first batch.
    pub checkpoint: Option<Checkpoint>,
    pub run_id: Option<String>,
    pub batch: Option<i64>,
    pub updated_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct RequestedRun {
    /// The run that was queued, resumed or found.
    pub run_id: String,
    pub status: String,
    pub already_active: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    pub name: String,
    pub started_at: Option<DateTime<Utc>>,
    pub last_heartbeat: DateTime<Utc>,
    pub jobs: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RegisteredStep {
    pub name: String,
    pub description: String,
    /// JSON schema of its options.
    pub options_schema: Value,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    pub key: Vec<String>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Limits {
    pub items: Vec<Limit>,
    pub keys: Vec<Key>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Limit {
    pub name: String,
    pub tokens: i64,
    pub period_seconds: f64,
    pub burst: i64,
    pub free_at: Option<DateTime<Utc>>,
    pub rests_until: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Key {
    pub pool: String,
    pub fingerprint: String,
    pub used_at: Option<DateTime<Utc>>,
    pub rests_until: Option<DateTime<Utc>>,
    pub refused_at: Option<DateTime<Utc>>,
    pub refused_reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    pub pipeline: String,
    pub state: String,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub attempts: i64,
    pub sent_at: Option<DateTime<Utc>>,
    pub answered_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Transition {
    pub pipeline: String,
    pub run_id: Option<String>,
    pub from: String,
    pub to: String,
    pub actor: String,
    pub reason: String,
    pub at: DateTime<Utc>,
}
