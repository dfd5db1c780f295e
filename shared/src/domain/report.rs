//! What clients want to know about a pipeline and a worker finds out.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ErrorClass, PipelineId, ReportId, names::named_enum};

named_enum! {
    /// What a report is about.
    ReportKind {
        /// The first rows as they would be written.
        Preview = "preview",
    }
}

named_enum! {
    /// How a report stands.
    ReportStatus {
        /// Waits for a worker.
        Queued = "QUEUED",
        /// A worker is at it.
        Running = "RUNNING",
        /// The result is there.
        Done = "DONE",
        /// Gave up; the error says why.
        Failed = "FAILED",
    }
}

impl ReportStatus {
    /// Whether the report will change no more.
    pub fn is_final(self) -> bool {
        match self {
            Self::Done | Self::Failed => true,
            Self::Queued | Self::Running => false,
        }
    }
}

/// What is wanted of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ReportRequest {
    /// The first rows as they would be written.
    Preview {
        /// How many.
        rows: u32,
    },
}

impl ReportRequest {
    /// What the report is about.
    pub fn kind(&self) -> ReportKind {
        match self {
            Self::Preview { .. } => ReportKind::Preview,
        }
    }
}

/// Most rows of a preview.
pub const MAX_PREVIEW_ROWS: u32 = 100;

/// A row of `etl.etl_reports`.
#[derive(Debug)]
pub struct Report {
    /// Identity.
    pub id: ReportId,
    /// The pipeline it is about.
    pub pipeline_id: PipelineId,
    /// That pipeline's name.
    pub pipeline: String,
    /// What is wanted.
    pub request: ReportRequest,
    /// How it stands.
    pub status: ReportStatus,
    /// What was found out, as JSON.
    pub result: Option<Box<RawValue>>,
    /// Why it failed, truncated.
    pub error: Option<String>,
    /// Class of that error.
    pub error_class: Option<ErrorClass>,
    /// Attempts that failed.
    pub attempts: i32,
    /// Who asked for it.
    pub requested_by: String,
    /// When it was asked for.
    pub requested_at: DateTime<Utc>,
    /// When a worker began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// The result of a preview.
#[derive(Debug, Serialize, Deserialize)]
pub struct Preview {
    /// The columns that would be written, in their order.
    pub columns: Vec<PreviewColumn>,
    /// The rows: objects with these columns.
    pub rows: Vec<Box<RawValue>>,
    /// Rows that are too wide to be shown.
    pub omitted: u32,
    /// How long it took.
    pub took_ms: u64,
}

/// A column of a preview.
#[derive(Debug, Serialize, Deserialize)]
pub struct PreviewColumn {
    /// Its name.
    pub name: String,
    /// Its type as SQL writes it.
    #[serde(rename = "type")]
    pub type_name: String,
}
