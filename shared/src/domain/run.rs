//! A run: one walk from source to target, from its request to its end.

use chrono::{DateTime, Utc};

use serde::Deserialize;

use super::{Checkpoint, Command, ErrorClass, Mode, Pipeline, PipelineId, RunId, RunStep, names::named_enum};

named_enum! {
    RunStatus {
        Queued = "QUEUED",
        Running = "RUNNING",
        /// Rests at its checkpoint.
        Paused = "PAUSED",
        Success = "SUCCESS",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
    }
}

impl RunStatus {
    pub fn is_final(self) -> bool {
        match self {
            Self::Success | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Paused => false,
        }
    }

    /// How an unfinished run stands after a command to its pipeline.
    pub fn after(self, command: Command) -> Self {
        match command {
            Command::RequestRun if self == Self::Paused => Self::Queued,
            // A worker may be writing a batch: a pause that is wished or withdrawn meanwhile changes nothing about that.
            Command::RequestRun | Command::RequestPause | Command::Reset => self,
            Command::Claim => Self::Running,
            Command::ConfirmPause => Self::Paused,
            Command::Finish => Self::Success,
            Command::Fail => Self::Failed,
            Command::Cancel => Self::Cancelled,
        }
    }
}

named_enum! {
    Trigger {
        Api = "API",
        /// A client that wants an earlier run repeated.
        Again = "AGAIN",
        /// Recovery, for a status that was set by hand.
        Recovery = "RECOVERY",
        /// A time that has come.
        Schedule = "SCHEDULE",
        Change = "CHANGE",
        /// The end of another pipeline's run.
        Chain = "CHAIN",
        /// A range of keys that is to be read again.
        Backfill = "BACKFILL",
        Sql = "SQL",
    }
}

/// What is read of an unfinished run together with its pipeline.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct UnfinishedRun {
    pub id: RunId,
    pub status: RunStatus,
    pub mode: Mode,
}

#[derive(Debug, Clone)]
pub struct Run {
    pub id: RunId,
    pub pipeline_id: PipelineId,
    pub pipeline: String,
    pub mode: Mode,
    pub status: RunStatus,
    pub trigger: Trigger,
    pub requested_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    /// Rows that its query returned.
    pub rows_read: i64,
    /// Rows that were inserted or changed in the target.
    pub rows_written: i64,
    /// Rows that went to the dead letters.
    pub rows_rejected: i64,
    pub rows_removed: i64,
    /// Estimate of the rows to read.
    pub rows_total: Option<i64>,
    pub batches: i64,
    pub attempts: i32,
    pub error: Option<String>,
    pub error_class: Option<ErrorClass>,
    pub checkpoint_from: Option<Checkpoint>,
    /// Where it stands or ended.
    pub checkpoint_to: Option<Checkpoint>,
    /// What the steps of its plan did, in their order; those that have got no page yet are not among them.
    pub steps: Vec<RunStep>,
}

impl Run {
    /// A run as it is when it has just been queued.
    pub fn queued(
        id: RunId,
        pipeline: &Pipeline,
        mode: Mode,
        trigger: Trigger,
        requested_at: DateTime<Utc>,
        checkpoint_from: Option<Checkpoint>,
    ) -> Self {
        Self {
            id,
            pipeline_id: pipeline.id,
            pipeline: pipeline.draft.name.clone(),
            mode,
            status: RunStatus::Queued,
            trigger,
            requested_at,
            started_at: None,
            finished_at: None,
            rows_read: 0,
            rows_written: 0,
            rows_rejected: 0,
            rows_removed: 0,
            rows_total: None,
            batches: 0,
            attempts: 0,
            error: None,
            error_class: None,
            checkpoint_from,
            checkpoint_to: None,
            steps: Vec::new(),
        }
    }
}
