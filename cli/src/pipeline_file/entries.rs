//! The content of a file. Documentation, schema and parser come from these types.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vitrina_api::wire::{OneOf, OptionsInput, TaskInput};
use vitrina_shared::domain::{Mode, TaskKind};

/// One document of a file for `vitrina apply`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Vitrina pipelines")]
pub(super) struct YamlDocument {
    /// Tables and indexes that pipelines may write. An admin applies these.
    #[serde(deserialize_with = "or_empty")]
    pub(super) targets: Vec<TargetEntry>,
    /// Pipelines, created or changed by name.
    #[serde(deserialize_with = "or_empty")]
    pub(super) pipelines: Vec<PipelineEntry>,
}

/// A target that pipelines may write.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// `analytics.<table>` or `es:<index>`.
    pub target: String,
    /// Columns that identify a row.
    #[schemars(length(min = 1, max = 16))]
    pub key: Vec<String>,
    /// Settings of the target.
    #[serde(default)]
    pub options: Map<String, Value>,
}

/// A pipeline. Absent fields have their defaults, except `enabled`, which stays unchanged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineEntry {
    /// Unique name: letters, digits, `_`, `.`, `-`, beginning with a letter.
    #[schemars(regex(pattern = "^[A-Za-z][A-Za-z0-9_.-]{0,99}$"))]
    pub name: String,
    /// What it is for.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub description: String,
    /// Kind of code; `SQL` unless the plan has transforms.
    #[serde(default = "sql")]
    pub r#type: OneOf<TaskKind>,
    /// `full` reads everything in every run, `incremental` what is new or changed.
    pub mode: OneOf<Mode>,
    /// One `select` over the source schemas; may be left out when `tasks` has it.
    #[serde(default)]
    pub source_query: Option<String>,
    /// `analytics.<table>` or `es:<index>`, from the whitelist.
    pub target_table: String,
    /// Puts the target on the whitelist, and may create its table. An admin applies this.
    #[serde(default, skip_serializing)]
    pub target: Option<NewTarget>,
    /// Rows in a batch.
    #[serde(default = "default_batch_size")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub batch_size: i32,
    /// Column of the query that grows with every change of a row; needed in mode `incremental`.
    #[serde(default)]
    pub incremental_key: Option<String>,
    /// Column of the query that distinguishes rows with equal keys; needed in mode `incremental`.
    #[serde(default)]
    pub incremental_id_key: Option<String>,
    /// Whether it may run. Default true for a new pipeline; absent, it stays unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Further settings.
    #[serde(default)]
    pub options: OptionsInput,
    /// A plan; wins over `source_query`.
    #[serde(default)]
    pub tasks: Vec<TaskInput>,
}

/// How a pipeline's target is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTarget {
    /// Columns that identify a row.
    #[schemars(length(min = 1, max = 16))]
    pub key: Vec<String>,
    /// Create the table, with the columns of the query, if it is not there. The API must allow it
    /// (`VITRINA_CREATE_TARGETS`).
    #[serde(default)]
    pub create: bool,
}

impl PipelineEntry {
    /// The query of the reader: of the plan, or else of the pipeline.
    pub fn reader(&self) -> Option<&str> {
        self.tasks.first().map(|task| task.body.as_str()).or(self.source_query.as_deref())
    }

    /// Where the reader's query stands.
    pub fn reader_field(&self) -> &'static str {
        if self.tasks.is_empty() { "source_query" } else { "tasks[0].body" }
    }

    /// The target of the last step, or else of the pipeline.
    pub fn final_target(&self) -> &str {
        self.tasks.last().and_then(|task| task.target_table.as_deref()).unwrap_or(&self.target_table)
    }

    /// What `POST /pipelines` takes.
    pub fn body(&self) -> Value {
        let mut body = serde_json::to_value(self).unwrap_or_default();
        if let Some(options) = body["options"].as_object_mut() {
            options.retain(|_, value| !value.is_null());
        }
        body
    }
}

fn sql() -> OneOf<TaskKind> {
    OneOf(TaskKind::Sql)
}

fn default_batch_size() -> i32 {
    1000
}

/// `pipelines:` with nothing behind it means none.
fn or_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The JSON schema of a document. Everything stands where it is used, so that a reader needs to follow no references.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<YamlDocument>().into()
}
