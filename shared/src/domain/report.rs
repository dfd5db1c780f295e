//! What clients want to know about a pipeline and a worker finds out.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{ErrorClass, PipelineId, ReportId, names::named_enum};

named_enum! {
    /// What a report is about.
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
    /// What becomes of rows that differ.
    Repair {
        /// They stay as they are.
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
        /// They do.
        Match = "match",
        /// They do not.
        Drift = "drift",
    }
}

named_enum! {
    /// How a row differs.
    DifferenceKind {
        /// The target lacks it.
        Missing = "missing",
        /// The target has it and the source does not.
        Extra = "extra",
        /// The target has it with other values.
        Different = "different",
    }
}

named_enum! {
    /// What became of a dead letter.
    ReplayOutcome {
        /// Its row is written.
        Written = "written",
        /// The target has the row already, as the source has it now.
        Unchanged = "unchanged",
        /// The source has no such row any more.
        Gone = "gone",
        /// The row is refused again.
        Refused = "refused",
        /// There is no such letter, or it was replayed before.
        NotOpen = "not_open",
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
    Preview { rows: u32 },
    /// Whether source and target agree.
    Reconcile {
        depth: Depth,
        /// What becomes of rows that differ.
        repair: Repair,
    },
    /// Rows that could not be written are tried again.
    Replay {
        /// The letters; all open ones unless they are named.
        ids: Option<Vec<i64>>,
    },
}

impl ReportRequest {
    /// What the report is about.
    pub fn kind(&self) -> ReportKind {
        match self {
            Self::Preview { .. } => ReportKind::Preview,
            Self::Reconcile { .. } => ReportKind::Reconcile,
            Self::Replay { .. } => ReportKind::Replay,
        }
    }
}

/// Most letters of a replay.
pub const MAX_REPLAYED: usize = 1000;

/// Most rows of a preview.
pub const MAX_PREVIEW_ROWS: u32 = 100;

/// A row of `etl.etl_reports`.
#[derive(Debug)]
pub struct Report {
    pub id: ReportId,
    /// The pipeline it is about.
    pub pipeline_id: PipelineId,
    pub pipeline: String,
    pub request: ReportRequest,
    pub status: ReportStatus,
    /// What was found out, as JSON.
    pub result: Option<Box<RawValue>>,
    pub error: Option<String>,
    pub error_class: Option<ErrorClass>,
    pub attempts: i32,
    /// Who asked for it.
    pub requested_by: String,
    /// When it was asked for.
    pub requested_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
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
    /// Why transforms refuse rows, one reason for each.
    #[serde(default)]
    pub refused: Vec<String>,
    pub took_ms: u64,
}

/// A column of a preview.
#[derive(Debug, Serialize, Deserialize)]
pub struct PreviewColumn {
    pub name: String,
    /// Its type as SQL writes it.
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
    /// The column whose least and greatest values are told.
    pub control_column: String,
    /// Its least value in the source.
    pub source_min: Option<String>,
    /// Its greatest value in the source.
    pub source_max: Option<String>,
    /// Its least value in the target.
    pub target_min: Option<String>,
    /// Its greatest value in the target.
    pub target_max: Option<String>,
    pub verdict: Verdict,
    /// Some of the rows that differ.
    pub sample: Vec<Difference>,
    /// Why rows may differ without having drifted: the query is not deterministic, or another pipeline writes the target too.
    #[serde(default)]
    pub note: Option<String>,
    /// What was repaired, where that was wanted.
    pub repaired: Option<Repaired>,
    pub took_ms: u64,
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// Its key, by column, as the server writes it.
    pub key: BTreeMap<String, Option<String>>,
    /// The columns that differ, with the beginning of both values.
    pub columns: BTreeMap<String, BothValues>,
}

/// A value on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BothValues {
    pub source: Option<String>,
    pub target: Option<String>,
}

/// What a repair did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    pub written: i64,
    pub removed: i64,
}

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// What became of each letter.
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

/// A dead letter and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedLetter {
    pub id: i64,
    pub outcome: ReplayOutcome,
    /// Why it was refused again.
    pub error: Option<String>,
}

impl Replay {
    /// Counts a letter.
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
