//! Rows that could not be written, and what became of them.

use chrono::{DateTime, Utc};
use salvo::oapi::ToSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;
use vitrina_shared::{
    domain::{ErrorClass, report::ReplayOutcome},
    store::dead_letters::DeadLetter,
};

use super::{OneOf, Values};

/// A row that could not be written.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "DeadLetter"))]
pub struct DeadLetterView {
    /// Id of the letter.
    pub id: i64,
    /// The pipeline.
    pub pipeline_id: Uuid,
    /// The run that could not write it.
    pub run_id: Uuid,
    /// The batch of that run.
    pub batch: i64,
    /// The key columns of the row; null for viewers, unless they see values.
    #[salvo(schema(value_type = Option<Object>, additional_properties = true))]
    pub key: Option<Box<RawValue>>,
    /// The row as it should have been written; null if it is too wide to be shown, and for viewers as `key` is.
    #[salvo(schema(value_type = Option<Object>, additional_properties = true))]
    pub row: Option<Box<RawValue>>,
    /// Reason of the refusal.
    pub error: String,
    /// Class of that error.
    pub error_class: OneOf<ErrorClass>,
    /// When it was refused.
    pub created_at: DateTime<Utc>,
    /// When it was replayed, or found to be no longer needed.
    pub replayed_at: Option<DateTime<Utc>>,
}

impl DeadLetterView {
    pub fn new(letter: DeadLetter, values: Values) -> Self {
        Self {
            id: letter.id,
            pipeline_id: letter.pipeline_id.0,
            run_id: letter.run_id.0,
            batch: letter.batch,
            key: values.row(letter.key.0),
            row: letter.row.and_then(|row| values.row(row.0)),
            error: values.message(letter.error),
            error_class: letter.error_class.into(),
            created_at: letter.created_at,
            replayed_at: letter.replayed_at,
        }
    }
}

/// Which rows are tried again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayInput {
    /// Ids of dead letters; without them, the oldest thousand open letters.
    #[salvo(schema(required = false, min_items = 1, max_items = 1000))]
    pub ids: Option<Vec<i64>>,
}

/// The outcome of a replay.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Replay"))]
pub struct ReplayView {
    /// The outcome of each letter.
    pub letters: Vec<ReplayedLetterView>,
    /// Rows that were written.
    pub written: u32,
    /// Rows that the target had already.
    pub unchanged: u32,
    /// Rows that the source no longer has.
    pub gone: u32,
    /// Rows that were refused again; their letters stay open.
    pub refused: u32,
    /// Letters that do not exist, or were replayed before.
    pub not_open: u32,
    /// Letters of the pipeline that are open afterwards.
    pub left: i64,
    /// Duration in milliseconds.
    pub took_ms: u64,
}

/// A dead letter and the outcome of its replay.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "ReplayedLetter"))]
pub struct ReplayedLetterView {
    /// Id of the letter.
    pub id: i64,
    /// Outcome of the replay.
    pub outcome: OneOf<ReplayOutcome>,
    /// Reason of the new refusal.
    pub error: Option<String>,
}
