//! A pipeline: what should be read, where it is written, and how to walk from one to the other.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Hooks, PipelineId, Status, Task, TaskKind, names::named_enum, removal::MaxRemoved};

named_enum! {
    /// How a pipeline walks its source.
    Mode {
        /// Reads everything; afterwards the target equals the query's result.
        Full = "full",
        /// Reads what is new or changed since the checkpoint.
        Incremental = "incremental",
    }
}

named_enum! {
    /// What to do with rows whose incremental key is NULL: no keyset page would ever reach them.
    NullKeys {
        /// Refuse them.
        Error = "error",
        /// Read them before all others.
        First = "first",
    }
}

named_enum! {
    /// What the user says of keys that come neither from the clock nor from a sequence.
    KeyOrder {
        /// Rows become visible in the order of their keys, but for those of transactions that are writing just now.
        Commit = "commit",
    }
}

named_enum! {
    /// How a full run replaces the target's rows.
    FullStrategy {
        /// Upsert page by page, remove stale rows at the end.
        Merge = "merge",
        /// Build beside the target and replace everything at once.
        Swap = "swap",
    }
}

named_enum! {
    /// What to do with a row that the sink refuses.
    OnRowError {
        /// End the run.
        Fail = "fail",
        /// Put the row aside with the reason, and go on without it.
        DeadLetter = "dead_letter",
    }
}

/// Settings beyond the columns of `etl.etl_pipelines`. Unknown ones are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PipelineOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_keys: Option<NullKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_strategy: Option<FullStrategy>,
    /// Re-read this many seconds before the checkpoint, where late commits cannot be known otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookback_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_order: Option<KeyOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_row_error: Option<OnRowError>,
    /// How many rows of a run may be put aside before it fails after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rejects: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_removed: Option<MaxRemoved>,
    #[serde(skip_serializing_if = "Hooks::is_empty")]
    pub hooks: Hooks,
}

impl PipelineOptions {
    /// How many rows of a run may be put aside; none where the first one ends it.
    pub fn rejects_allowed(&self) -> Option<u32> {
        match self.on_row_error {
            Some(OnRowError::DeadLetter) => Some(self.max_rejects.unwrap_or(DEFAULT_MAX_REJECTS)),
            Some(OnRowError::Fail) | None => None,
        }
    }
}

/// Everything a client decides about a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineDraft {
    pub name: String,
    pub description: String,
    pub kind: TaskKind,
    pub mode: Mode,
    /// The query, unless the plan has it.
    pub source_query: Option<String>,
    pub target_table: String,
    pub batch_size: i32,
    /// Column that grows with every change.
    pub incremental_key: Option<String>,
    /// Column that tells apart rows with equal keys.
    pub incremental_id_key: Option<String>,
    pub enabled: bool,
    pub options: PipelineOptions,
    /// The plan; empty means `source_query` alone.
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone)]
pub struct Pipeline {
    pub id: PipelineId,
    pub draft: PipelineDraft,
    pub status: Status,
    /// Grows with every change of the draft.
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// How many rows of a run are put aside unless the pipeline says otherwise: more of them is no accident.
const DEFAULT_MAX_REJECTS: u32 = 1_000;

impl PipelineDraft {
    /// The query that reads the source, and the field it stands in. The plan wins over `source_query`.
    pub fn reader(&self) -> Option<(&str, &'static str)> {
        match self.tasks.iter().min_by_key(|task| task.order_index) {
            Some(first) => Some((&first.body, "tasks[0].body")),
            None => self.source_query.as_deref().map(|query| (query, "source_query")),
        }
    }

    /// Where the rows go in the end: the last step may override the target.
    pub fn final_target(&self) -> (&str, &'static str) {
        let last = self.tasks.iter().max_by_key(|task| task.order_index);
        match last.and_then(|task| task.target_table.as_deref()) {
            Some(target) => (target, "tasks.target_table"),
            None => (&self.target_table, "target_table"),
        }
    }

    /// Whether a checkpoint means the same to the changed pipeline: every row up to it, in the order of these columns, is
    /// in that target.
    pub fn shares_checkpoint(&self, changed: &Self) -> bool {
        let kept = |draft: &Self| {
            (draft.incremental_key.clone(), draft.incremental_id_key.clone(), draft.final_target().0.to_owned())
        };
        kept(self) == kept(changed)
    }

    /// Whether both read the same rows and make the same of them.
    pub fn reads_alike(&self, other: &Self) -> bool {
        let steps = |draft: &Self| -> Vec<_> {
            let steps = draft.tasks.iter().skip(1);
            steps.map(|task| (task.task_type, task.body.clone(), task.options.clone())).collect()
        };
        self.reader().map(|(query, _)| query) == other.reader().map(|(query, _)| query) && steps(self) == steps(other)
    }

    /// What differs between a run's inputs and the pipeline as it is now, by which repeating the run would write otherwise.
    pub fn differs_from_run(&self, inputs: &Self) -> Vec<&'static str> {
        let fields = [
            ("target", self.final_target().0 != inputs.final_target().0),
            ("mode", self.mode != inputs.mode),
            ("query or transforms", !self.reads_alike(inputs)),
        ];
        fields.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
    }

    /// The fields that differ and must not change while a run is unfinished.
    pub fn changes_under_a_run(&self, changed: &Self) -> Vec<&'static str> {
        let fields = [
            ("name", self.name != changed.name),
            ("type", self.kind != changed.kind),
            ("mode", self.mode != changed.mode),
            ("source_query", self.source_query != changed.source_query),
            ("target_table", self.target_table != changed.target_table),
            ("incremental_key", self.incremental_key != changed.incremental_key),
            ("incremental_id_key", self.incremental_id_key != changed.incremental_id_key),
            ("options", self.options != changed.options),
            ("tasks", self.tasks != changed.tasks),
        ];
        fields.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect()
    }
}
