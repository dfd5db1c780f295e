//! What clients send.

use salvo::oapi::ToSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use vitrina_shared::domain::{
    FullStrategy, Hooks, KeyOrder, Mode, NullKeys, OnRowError, PipelineDraft, PipelineOptions, Task, TaskKind,
};

use super::{HooksValue, MaxRemovedValue, OneOf};

/// One task of a plan.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// Position in the plan, from 1.
    #[salvo(schema(minimum = 1))]
    pub order_index: i32,
    /// `SQL` for the first step, `RUST` for registered transforms.
    pub task_type: OneOf<TaskKind>,
    /// The query, or the name of a registered transform.
    pub body: String,
    /// Overrides the pipeline's target; only the last step may.
    #[serde(default)]
    pub target_table: Option<String>,
    /// The transform's options.
    #[serde(default)]
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub options: Map<String, Value>,
}

/// Settings beyond the columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsInput {
    /// What to do with rows whose incremental key is NULL.
    #[serde(default)]
    pub null_keys: Option<OneOf<NullKeys>>,
    /// How a full run replaces the target's rows.
    #[serde(default)]
    pub full_strategy: Option<OneOf<FullStrategy>>,
    /// Re-read this many seconds before the checkpoint.
    #[serde(default)]
    pub lookback_seconds: Option<u32>,
    /// For keys that come neither from the clock nor from a sequence: `commit` declares that rows become visible in their order.
    #[serde(default)]
    pub key_order: Option<OneOf<KeyOrder>>,
    /// What to do with a row that the sink refuses; default `fail`.
    #[serde(default)]
    pub on_row_error: Option<OneOf<OnRowError>>,
    /// With `dead_letter`: how many rows a run may put aside before it fails; default 1,000.
    #[serde(default)]
    pub max_rejects: Option<u32>,
    /// How many rows of the target one run may remove: a number, a share such as 0.2, or a percentage such as `20%`.
    /// Default: half of them, or 100 if that is more.
    #[serde(default)]
    pub max_removed: Option<MaxRemovedValue>,
    /// Functions of the database that are called when something happens to a run, from the list of its owner.
    #[serde(default, skip_serializing_if = "no_hooks")]
    pub hooks: Option<HooksValue>,
}

/// The same as what is stored then, which leaves them out.
fn no_hooks(hooks: &Option<HooksValue>) -> bool {
    hooks.clone().is_none_or(|hooks| Hooks::from(hooks).is_empty())
}

/// A new pipeline.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineInput {
    /// Unique name: letters, digits, `_`, `.`, `-`, beginning with a letter.
    #[salvo(schema(min_length = 1, max_length = 100, pattern = "^[A-Za-z][A-Za-z0-9_.-]{0,99}$"))]
    pub name: String,
    /// What it is for.
    #[serde(default)]
    #[salvo(schema(max_length = 2000))]
    pub description: String,
    /// Kind of code; `SQL` unless the plan has transforms.
    #[serde(default = "sql")]
    #[salvo(schema(required = false))]
    pub r#type: OneOf<TaskKind>,
    /// How runs read the source.
    pub mode: OneOf<Mode>,
    /// The query; may be left out when `tasks` has it.
    pub source_query: Option<String>,
    /// `analytics.<table>` or `es:<index>`, from the whitelist.
    pub target_table: String,
    /// Rows in a batch.
    #[serde(default = "default_batch_size")]
    #[salvo(schema(required = false, minimum = 1, maximum = 1000000, default = 1000))]
    pub batch_size: i32,
    /// Column that grows with every change; needed in mode `incremental`.
    pub incremental_key: Option<String>,
    /// Column that distinguishes rows with equal keys; needed in mode `incremental`.
    pub incremental_id_key: Option<String>,
    /// Whether it may run.
    #[serde(default = "yes")]
    #[salvo(schema(required = false, default = true))]
    pub enabled: bool,
    /// Further settings.
    #[serde(default)]
    #[salvo(schema(required = false))]
    pub options: OptionsInput,
    /// A plan; wins over `source_query`.
    #[serde(default)]
    #[salvo(schema(required = false, max_items = 32))]
    pub tasks: Vec<TaskInput>,
}

fn sql() -> OneOf<TaskKind> {
    OneOf(TaskKind::Sql)
}

fn default_batch_size() -> i32 {
    1000
}

fn yes() -> bool {
    true
}

/// Changes to a pipeline: absent fields stay unchanged, null clears a field that may be empty.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelinePatch {
    /// New name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Kind of code.
    pub r#type: Option<OneOf<TaskKind>>,
    /// How runs read the source.
    pub mode: Option<OneOf<Mode>>,
    /// The query.
    #[serde(default, deserialize_with = "given")]
    #[salvo(schema(value_type = Option<String>))]
    pub source_query: Option<Option<String>>,
    /// The target, `analytics.<table>` or `es:<index>`.
    pub target_table: Option<String>,
    /// Rows in a batch.
    #[salvo(schema(minimum = 1, maximum = 1000000))]
    pub batch_size: Option<i32>,
    /// Column that grows with every change.
    #[serde(default, deserialize_with = "given")]
    #[salvo(schema(value_type = Option<String>))]
    pub incremental_key: Option<Option<String>>,
    /// Column that distinguishes rows with equal keys.
    #[serde(default, deserialize_with = "given")]
    #[salvo(schema(value_type = Option<String>))]
    pub incremental_id_key: Option<Option<String>>,
    /// Whether it may run; disabling a running pipeline pauses it after the current batch.
    pub enabled: Option<bool>,
    /// All further settings.
    pub options: Option<OptionsInput>,
    /// The whole plan.
    #[salvo(schema(max_items = 32))]
    pub tasks: Option<Vec<TaskInput>>,
}

/// Distinguishes a null field from an absent one.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl PipelinePatch {
    pub fn apply(self, draft: PipelineDraft) -> PipelineDraft {
        PipelineDraft {
            name: self.name.unwrap_or(draft.name),
            description: self.description.unwrap_or(draft.description),
            kind: self.r#type.map_or(draft.kind, |kind| kind.0),
            mode: self.mode.map_or(draft.mode, |mode| mode.0),
            source_query: self.source_query.unwrap_or(draft.source_query),
            target_table: self.target_table.unwrap_or(draft.target_table),
            batch_size: self.batch_size.unwrap_or(draft.batch_size),
            incremental_key: self.incremental_key.unwrap_or(draft.incremental_key),
            incremental_id_key: self.incremental_id_key.unwrap_or(draft.incremental_id_key),
            enabled: self.enabled.unwrap_or(draft.enabled),
            options: self.options.map_or(draft.options, PipelineOptions::from),
            tasks: self.tasks.map_or(draft.tasks, |tasks| tasks.into_iter().map(Task::from).collect()),
        }
    }
}

impl From<PipelineInput> for PipelineDraft {
    fn from(input: PipelineInput) -> Self {
        Self {
            name: input.name,
            description: input.description,
            kind: input.r#type.0,
            mode: input.mode.0,
            source_query: input.source_query,
            target_table: input.target_table,
            batch_size: input.batch_size,
            incremental_key: input.incremental_key,
            incremental_id_key: input.incremental_id_key,
            enabled: input.enabled,
            options: input.options.into(),
            tasks: input.tasks.into_iter().map(Task::from).collect(),
        }
    }
}

impl From<OptionsInput> for PipelineOptions {
    fn from(input: OptionsInput) -> Self {
        Self {
            null_keys: input.null_keys.map(|value| value.0),
            full_strategy: input.full_strategy.map(|value| value.0),
            lookback_seconds: input.lookback_seconds,
            key_order: input.key_order.map(|value| value.0),
            on_row_error: input.on_row_error.map(|value| value.0),
            max_rejects: input.max_rejects,
            max_removed: input.max_removed.map(|value| value.0),
            hooks: input.hooks.map(Into::into).unwrap_or_default(),
        }
    }
}

impl From<TaskInput> for Task {
    fn from(input: TaskInput) -> Self {
        let TaskInput { order_index, task_type: OneOf(task_type), body, target_table, options } = input;
        Self { order_index, task_type, body, target_table, options }
    }
}

/// A new entry of the whitelist.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetInput {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    /// Columns that identify a row.
    #[salvo(schema(min_items = 1, max_items = 16))]
    pub key: Vec<String>,
    /// Settings of the target.
    #[serde(default)]
    #[salvo(schema(required = false, value_type = Object, additional_properties = true))]
    pub options: Map<String, Value>,
    /// Create the table if it does not exist. The deployment must allow it.
    #[serde(default)]
    #[salvo(schema(required = false))]
    pub create: Option<CreateInput>,
    /// In a dry run: a pipeline that would write the target. The answer has its problems.
    #[serde(default)]
    #[salvo(schema(required = false))]
    pub pipeline: Option<PipelineInput>,
}

/// How a table is created.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateInput {
    /// The query whose columns and types the table gets; its primary key is the target's key.
    pub source_query: String,
}
