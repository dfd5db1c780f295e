//! What clients want to know about a pipeline and a worker finds out.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ErrorClass, PipelineId, ReportId, Task, names::named_enum};

named_enum! {
    ReportKind {
        /// The first rows as they would be written.
        Preview = "preview",
        /// Whether source and target agree.
        Reconcile = "reconcile",
        /// Rows that could not be written are tried again.
        Replay = "replay",
    }
}

named_enum! {
    /// How closely source and target are compared.
    Depth {
        /// How many rows, and the least and greatest value of one column.
        Counts = "counts",
        /// Which keys are missing, and which are there without a source.
        Keys = "keys",
        /// Every value of every row.
        Rows = "rows",
    }
}

named_enum! {
    Repair {
        Nothing = "nothing",
        /// Those that are missing or different are written. A pipeline in mode `full` also removes those that are extra.
        Differing = "differing",
        /// Rows that are extra are removed in mode `incremental` too.
        All = "all",
    }
}

named_enum! {
    /// Whether source and target agree.
    Verdict {
        Match = "match",
        Drift = "drift",
    }
}

named_enum! {
    DifferenceKind {
        Missing = "missing",
        /// The target has it and the source does not.
        Extra = "extra",
        Different = "different",
    }
}

named_enum! {
    ReplayOutcome {
        Written = "written",
        /// The target has the row already, as the source has it now.
        Unchanged = "unchanged",
        /// The source has no such row any more.
        Gone = "gone",
        Refused = "refused",
        /// There is no such letter, or it was replayed before.
        NotOpen = "not_open",
    }
}

named_enum! {
    ReportStatus {
        Queued = "QUEUED",
        Running = "RUNNING",
        Done = "DONE",
        Failed = "FAILED",
    }
}

impl ReportStatus {
    pub fn is_final(self) -> bool {
        match self {
            Self::Done | Self::Failed => true,
            Self::Queued | Self::Running => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ReportRequest {
    Preview {
        rows: u32,
        /// Shows rows of the pipeline's query after this step alone, which need not be in its plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Box<Task>>,
    },
    Reconcile {
        depth: Depth,
        repair: Repair,
    },
    Replay {
        /// The letters; all open ones unless they are named.
        ids: Option<Vec<i64>>,
    },
}

impl ReportRequest {
    /// A preview of rows as the pipeline writes them.
    pub const fn preview(rows: u32) -> Self {
        Self::Preview { rows, step: None }
    }

    pub fn kind(&self) -> ReportKind {
        match self {
            Self::Preview { .. } => ReportKind::Preview,
            Self::Reconcile { .. } => ReportKind::Reconcile,
            Self::Replay { .. } => ReportKind::Replay,
        }
    }
}

pub const MAX_REPLAYED: usize = 1000;

pub const MAX_PREVIEW_ROWS: u32 = 100;

#[derive(Debug)]
pub struct Report {
    pub id: ReportId,
    pub pipeline_id: PipelineId,
    pub pipeline: String,
    pub request: ReportRequest,
    pub status: ReportStatus,
    pub result: Option<Box<RawValue>>,
    pub error: Option<String>,
    pub error_class: Option<ErrorClass>,
    pub attempts: i32,
    pub requested_by: String,
    pub requested_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Preview {
    pub columns: Vec<PreviewColumn>,
    pub rows: Vec<Box<RawValue>>,
    /// Rows that are too wide to be shown.
    pub omitted: u32,
    /// Why transforms refuse rows, one reason for each.
    #[serde(default)]
    pub refused: Vec<String>,
    pub took_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PreviewColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

/// The result of a reconciliation. Rows in flight are in none of its numbers but their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reconciliation {
    pub depth: Depth,
    /// Rows of the source that should be in the target.
    pub source_rows: i64,
    pub target_rows: i64,
    /// Rows that the target lacks; none where keys were not compared.
    pub missing: Option<i64>,
    /// Rows that the source does not have; none where keys were not compared.
    pub extra: Option<i64>,
    /// Rows with other values; none where values were not compared.
    pub different: Option<i64>,
    /// Rows of the source that the next batches will bring.
    pub in_flight: i64,
    /// The column whose least and greatest values are reported.
    pub control_column: String,
    pub source_min: Option<String>,
    pub source_max: Option<String>,
    pub target_min: Option<String>,
    pub target_max: Option<String>,
    pub verdict: Verdict,
    pub sample: Vec<Difference>,
    /// Why rows may differ without having drifted: the query is not deterministic, or another pipeline writes the target too.
    #[serde(default)]
    pub note: Option<String>,
    pub repaired: Option<Repaired>,
    pub took_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// Its key, by column, as the server writes it.
    pub key: BTreeMap<String, Option<String>>,
    /// The columns that differ, with the beginning of both values.
    pub columns: BTreeMap<String, BothValues>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BothValues {
    pub source: Option<String>,
    pub target: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    pub written: i64,
    pub removed: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    pub letters: Vec<ReplayedLetter>,
    pub written: u32,
    /// Rows that the target had already.
    pub unchanged: u32,
    /// Rows that the source has no more.
    pub gone: u32,
    /// Rows that were refused again; their letters stay open.
    pub refused: u32,
    /// Letters that are not there, or were replayed before.
    pub not_open: u32,
    /// Letters of the pipeline that are open afterwards.
    pub left: i64,
    pub took_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedLetter {
    pub id: i64,
    pub outcome: ReplayOutcome,
    pub error: Option<String>,
}

impl Replay {
    pub fn note(&mut self, letter: ReplayedLetter) {
        let count = match letter.outcome {
            ReplayOutcome::Written => &mut self.written,
            ReplayOutcome::Unchanged => &mut self.unchanged,
            ReplayOutcome::Gone => &mut self.gone,
            ReplayOutcome::Refused => &mut self.refused,
            ReplayOutcome::NotOpen => &mut self.not_open,
        };
        *count += 1;
        self.letters.push(letter);
    }
}
