//! Pipelines and what surrounds them.

use chrono::{DateTime, Utc};
use salvo::oapi::ToSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;
use vitrina_shared::{
    definitions::{Allowed, WantedTarget},
    domain::{
        FullStrategy, KeyOrder, Mode, NullKeys, OnRowError, Pipeline, PipelineOptions, Problem, Status, Target, Task,
        TaskKind, transform::TransformKind,
    },
    store::{state::State, worker_steps::LiveStep, workers::Worker},
};

use crate::problem::FieldError;

use super::{CheckpointView, HooksValue, MaxRemovedValue, OneOf, ProgressView, RunView, Values};

/// A pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Pipeline"))]
pub struct PipelineView {
    /// Id of the pipeline.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Kind of code.
    pub r#type: OneOf<TaskKind>,
    /// How runs read the source.
    pub mode: OneOf<Mode>,
    /// The query, unless the plan has it.
    pub source_query: Option<String>,
    /// The target, `analytics.<table>` or `es:<index>`.
    pub target_table: String,
    /// Rows in a batch.
    pub batch_size: i32,
    /// Column that grows with every change.
    pub incremental_key: Option<String>,
    /// Column that distinguishes rows with equal keys.
    pub incremental_id_key: Option<String>,
    /// Whether it may run.
    pub enabled: bool,
    /// Current status.
    pub status: OneOf<Status>,
    /// The plan; empty means the query alone.
    pub tasks: Vec<TaskView>,
    /// Further settings.
    pub options: OptionsView,
    /// Grows with every change; the `ETag`.
    pub version: i64,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// Settings beyond the columns.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "PipelineOptions"))]
pub struct OptionsView {
    /// What to do with NULL keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_keys: Option<OneOf<NullKeys>>,
    /// How a full run replaces rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_strategy: Option<OneOf<FullStrategy>>,
    /// Seconds re-read before the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookback_seconds: Option<u32>,
    /// The declared order of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_order: Option<OneOf<KeyOrder>>,
    /// What to do with a row that the sink refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_row_error: Option<OneOf<OnRowError>>,
    /// How many rows a run may put aside before it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rejects: Option<u32>,
    /// How many rows of the target one run may remove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_removed: Option<MaxRemovedValue>,
    /// Functions of the database that are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksValue>,
}

/// One task of a plan.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Task"))]
pub struct TaskView {
    /// Position in the plan, from 1.
    pub order_index: i32,
    /// Kind of code.
    pub task_type: OneOf<TaskKind>,
    /// The query, or the transform's name.
    pub body: String,
    /// Overrides the pipeline's target.
    pub target_table: Option<String>,
    /// The transform's options.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub options: Map<String, Value>,
}

impl From<Pipeline> for PipelineView {
    fn from(pipeline: Pipeline) -> Self {
        let draft = pipeline.draft;
        Self {
            id: pipeline.id.0,
            name: draft.name,
            description: draft.description,
            r#type: draft.kind.into(),
            mode: draft.mode.into(),
            source_query: draft.source_query,
            target_table: draft.target_table,
            batch_size: draft.batch_size,
            incremental_key: draft.incremental_key,
            incremental_id_key: draft.incremental_id_key,
            enabled: draft.enabled,
            status: pipeline.status.into(),
            tasks: draft.tasks.into_iter().map(TaskView::from).collect(),
            options: draft.options.into(),
            version: pipeline.version,
            created_at: pipeline.created_at,
            updated_at: pipeline.updated_at,
        }
    }
}

impl From<PipelineOptions> for OptionsView {
    fn from(options: PipelineOptions) -> Self {
        Self {
            null_keys: options.null_keys.map(OneOf),
            full_strategy: options.full_strategy.map(OneOf),
            lookback_seconds: options.lookback_seconds,
            key_order: options.key_order.map(OneOf),
            on_row_error: options.on_row_error.map(OneOf),
            max_rejects: options.max_rejects,
            max_removed: options.max_removed.map(MaxRemovedValue),
            hooks: (!options.hooks.is_empty()).then(|| options.hooks.into()),
        }
    }
}

impl From<Task> for TaskView {
    fn from(task: Task) -> Self {
        let Task { order_index, task_type, body, target_table, options } = task;
        Self { order_index, task_type: task_type.into(), body, target_table, options }
    }
}

/// The current activity of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "PipelineActivity"))]
pub struct StatusView {
    /// Status of the pipeline.
    pub status: OneOf<Status>,
    /// Whether it may run.
    pub enabled: bool,
    /// The unfinished run.
    pub active_run: Option<RunView>,
    /// Progress of that run.
    pub progress: Option<ProgressView>,
}

/// How far a pipeline is written.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "PipelineState"))]
pub struct StateView {
    /// The last row; null before the first batch.
    pub checkpoint: Option<CheckpointView>,
    /// The run that wrote it.
    pub run_id: Option<Uuid>,
    /// The batch that wrote it.
    pub batch: Option<i64>,
    /// When it was written.
    pub updated_at: Option<DateTime<Utc>>,
}

impl StateView {
    /// The state, as a caller sees it.
    pub fn new(state: Option<State>, values: Values) -> Self {
        let run_id = state.as_ref().map(|state| state.run_id.0);
        let batch = state.as_ref().map(|state| state.batch);
        let updated_at = state.as_ref().map(|state| state.updated_at);
        let checkpoint = state.and_then(|state| values.checkpoint(state.checkpoint));
        Self { checkpoint, run_id, batch, updated_at }
    }
}

/// An entry of the whitelist.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Target"))]
pub struct TargetView {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// Settings of the target.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub options: Value,
    /// When it was allowed.
    pub created_at: DateTime<Utc>,
}

impl From<Target> for TargetView {
    fn from(target: Target) -> Self {
        Self { target: target.target, key: target.key, options: target.options, created_at: target.created_at }
    }
}

/// A target that was, or in a dry run could be, allowed.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "AllowedTarget"))]
pub struct AllowedTargetView {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    /// Columns that identify a row.
    pub key: Vec<String>,
    /// Settings of the target.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub options: Value,
    /// When it was allowed; null in a dry run.
    pub created_at: Option<DateTime<Utc>>,
    /// The statement that creates its table; null if none is created.
    pub ddl: Option<String>,
    /// What would be wrong with the pipeline of a dry run; empty otherwise.
    pub problems: Vec<FieldError>,
}

impl AllowedTargetView {
    pub fn new(wanted: &WantedTarget<'_>, allowed: Allowed, problems: Vec<Problem>) -> Self {
        Self {
            target: wanted.target.to_owned(),
            key: wanted.key.to_vec(),
            options: wanted.options.clone(),
            created_at: allowed.entry.map(|entry| entry.created_at),
            ddl: allowed.ddl,
            problems: problems.into_iter().map(FieldError::from).collect(),
        }
    }
}

/// A transform that this deployment has.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Transform"))]
pub struct TransformView {
    /// The name to write as a step's `body`.
    pub name: String,
    /// The `task_type` of such a step: `RUST` for those that Vitrina is built with, `PYTHON` for those of live workers.
    pub kind: OneOf<TaskKind>,
    /// What it does.
    pub description: String,
    /// JSON schema of the step's `options`.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub options_schema: Value,
    /// The columns that a step in Python adds or changes, with their types; null for a built-in transform, whose options say so.
    #[salvo(schema(value_type = Option<Object>, additional_properties = true))]
    pub columns: Option<Map<String, Value>>,
    /// The columns that a step in Python removes.
    pub removes: Option<Vec<String>>,
    /// Whether previews, replays and comparisons execute a step in Python too.
    pub pure: Option<bool>,
    /// Tells the code of a step in Python from any other.
    pub version: Option<String>,
    /// How many live workers have the step in Python.
    pub workers: Option<i64>,
}

impl From<&TransformKind> for TransformView {
    fn from(kind: &TransformKind) -> Self {
        Self {
            name: kind.name.to_owned(),
            kind: TaskKind::Rust.into(),
            description: kind.description.to_owned(),
            options_schema: (kind.schema)(),
            columns: None,
            removes: None,
            pure: None,
            version: None,
            workers: None,
        }
    }
}

impl From<LiveStep> for TransformView {
    fn from(LiveStep { declaration, workers }: LiveStep) -> Self {
        let columns = declaration.columns.into_iter().map(|column| (column.name, column.type_name.into()));
        Self {
            name: declaration.name,
            kind: TaskKind::Python.into(),
            description: declaration.description,
            options_schema: declaration.options_schema,
            columns: Some(columns.collect()),
            removes: Some(declaration.removes),
            pure: Some(declaration.is_pure),
            version: Some(declaration.version),
            workers: Some(workers),
        }
    }
}

/// What tells a deployment from another.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Installation"))]
pub struct InstallationView {
    /// Made with the database's first migration.
    pub id: Uuid,
    /// The schemas that this API lets queries read.
    pub source_schemas: Vec<String>,
}

/// A live worker.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Worker"))]
pub struct WorkerView {
    /// Unique name.
    pub name: String,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it last reported.
    pub last_heartbeat: DateTime<Utc>,
    /// Jobs that it holds.
    pub jobs: i64,
}

impl From<Worker> for WorkerView {
    fn from(worker: Worker) -> Self {
        let Worker { name, started_at, last_heartbeat, jobs } = worker;
        Self { name, started_at, last_heartbeat, jobs }
    }
}
