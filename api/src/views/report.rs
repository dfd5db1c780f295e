//! Reports: requests and results.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use salvo::oapi::{
    BasicType, Components, ComposeSchema, Object, RefOr, Schema, ToSchema, schema::OneOf as OneOfSchema,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, value::RawValue};
use uuid::Uuid;
use vitrina_shared::domain::{
    ErrorClass, Report, ReportKind, ReportRequest, ReportStatus, Task, TaskKind,
    report::{Depth, DifferenceKind, Repair, Verdict},
};

use super::{OneOf, Values};

/// A request for a preview.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreviewInput {
    /// Number of rows.
    #[salvo(schema(required = false, minimum = 1, maximum = 100, default = 10))]
    pub rows: u32,
    /// A step that is tried on the rows of the pipeline's query, instead of the plan's own steps. It is executed also if it is
    /// not pure.
    #[salvo(schema(required = false))]
    pub step: Option<TriedStep>,
}

/// A step that need not be in a plan.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TriedStep {
    /// `RUST` for registered transforms, `PYTHON` for steps of workers.
    pub task_type: OneOf<TaskKind>,
    /// The name of the step.
    pub body: String,
    /// The step's options.
    #[serde(default)]
    #[salvo(schema(required = false, value_type = Object, additional_properties = true))]
    pub options: Map<String, Value>,
}

impl Default for PreviewInput {
    fn default() -> Self {
        Self { rows: 10, step: None }
    }
}

impl PreviewInput {
    pub fn request(self) -> ReportRequest {
        let step = self.step.map(|TriedStep { task_type: OneOf(task_type), body, options }| {
            Box::new(Task { order_index: 2, task_type, body, target_table: None, options })
        });
        ReportRequest::Preview { rows: self.rows, step }
    }
}

/// A request for a comparison of source and target.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReconcileInput {
    /// Depth of the comparison.
    #[salvo(schema(required = false))]
    pub depth: OneOf<Depth>,
    /// Whether rows that differ are repaired: `true` writes missing and different rows, and in mode `full` removes extra
    /// rows; `"all"` removes them in mode `incremental` too.
    #[salvo(schema(required = false))]
    pub repair: RepairInput,
}

impl Default for ReconcileInput {
    fn default() -> Self {
        Self { depth: OneOf(Depth::Counts), repair: RepairInput(Repair::Nothing) }
    }
}

/// `true`, `false` or `"all"`.
#[derive(Debug, Clone, Copy)]
pub struct RepairInput(pub Repair);

impl<'de> Deserialize<'de> for RepairInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(false) => Ok(Self(Repair::Nothing)),
            Value::Bool(true) => Ok(Self(Repair::Differing)),
            Value::String(text) if text == Repair::All.as_str() => Ok(Self(Repair::All)),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom("takes true, false or \"all\""))
            }
        }
    }
}

impl Serialize for RepairInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Repair::Nothing => serializer.serialize_bool(false),
            Repair::Differing => serializer.serialize_bool(true),
            Repair::All => serializer.serialize_str(Repair::All.as_str()),
        }
    }
}

impl ToSchema for RepairInput {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let all = Object::with_type(BasicType::String).enum_values([Repair::All.as_str()]);
        OneOfSchema::new().item(Object::with_type(BasicType::Boolean)).item(all).into()
    }
}

impl ComposeSchema for RepairInput {
    fn compose(components: &mut Components, _generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        Self::to_schema(components)
    }
}

/// A report.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Report"))]
pub struct ReportView {
    /// Id of the report.
    pub id: Uuid,
    /// Kind of the report.
    pub kind: OneOf<ReportKind>,
    /// The pipeline it is about.
    pub pipeline_id: Uuid,
    /// That pipeline's name.
    pub pipeline: String,
    /// The request.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub request: Value,
    /// Status of the report.
    pub status: OneOf<ReportStatus>,
    /// The result; null until the report is done.
    #[salvo(schema(value_type = Option<Object>, additional_properties = true))]
    pub result: Option<Box<RawValue>>,
    /// Error of the report, or of its last attempt.
    pub error: Option<String>,
    /// Class of that error.
    pub error_class: Option<OneOf<ErrorClass>>,
    /// Attempts that failed.
    pub attempts: i32,
    /// Name of the token that requested it.
    pub requested_by: String,
    /// When it was requested.
    pub requested_at: DateTime<Utc>,
    /// When a worker began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

impl ReportView {
    pub fn new(report: Report, values: Values) -> Self {
        let kind = report.request.kind();
        let mut request = serde_json::to_value(&report.request).unwrap_or_default();
        if let Some(fields) = request.as_object_mut() {
            fields.remove("kind");
        }
        Self {
            id: report.id.0,
            kind: kind.into(),
            pipeline_id: report.pipeline_id.0,
            pipeline: report.pipeline,
            request,
            status: report.status.into(),
            result: report.result.and_then(|result| values.result(kind, result)),
            error: report.error.map(|error| values.message(error)),
            error_class: report.error_class.map(OneOf),
            attempts: report.attempts,
            requested_by: report.requested_by,
            requested_at: report.requested_at,
            started_at: report.started_at,
            finished_at: report.finished_at,
        }
    }
}

/// Rows as they would be written.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Preview"))]
pub struct PreviewView {
    /// The columns that would be written, in their order.
    pub columns: Vec<PreviewColumnView>,
    /// The rows, as objects with these columns.
    #[salvo(schema(value_type = Vec<Object>))]
    pub rows: Vec<Box<RawValue>>,
    /// Rows that are not shown: too wide, or hidden from viewers.
    pub omitted: u32,
    /// Reasons why transforms refuse rows, one for each row.
    #[serde(default)]
    pub refused: Vec<String>,
    /// Duration in milliseconds.
    pub took_ms: u64,
}

/// A column that would be written.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "PreviewColumn"))]
pub struct PreviewColumnView {
    /// Name of the column.
    pub name: String,
    /// Type of the column.
    pub r#type: String,
}

/// The result of a comparison. Rows in flight, which the next batches write, are in none of its other numbers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Reconciliation"))]
pub struct ReconciliationView {
    /// Depth of the comparison.
    pub depth: OneOf<Depth>,
    /// Rows of the source that should be in the target.
    pub source_rows: i64,
    /// Rows of the target.
    pub target_rows: i64,
    /// Rows that the target lacks; null if keys were not compared.
    pub missing: Option<i64>,
    /// Rows that the source does not have; null if keys were not compared.
    pub extra: Option<i64>,
    /// Rows with other values; null if values were not compared.
    pub different: Option<i64>,
    /// Rows of the source that the next batches will write.
    pub in_flight: i64,
    /// The column whose least and greatest values follow.
    pub control_column: String,
    /// Its least value in the source.
    pub source_min: Option<String>,
    /// Its greatest value in the source.
    pub source_max: Option<String>,
    /// Its least value in the target.
    pub target_min: Option<String>,
    /// Its greatest value in the target.
    pub target_max: Option<String>,
    /// `match` if nothing differs, else `drift`.
    pub verdict: OneOf<Verdict>,
    /// Some of the rows that differ.
    pub sample: Vec<DifferenceView>,
    /// Why rows may differ without drift: the query is not deterministic, or another pipeline writes the target too. Null without such a reason.
    pub note: Option<String>,
    /// The numbers of repaired rows; null without a repair.
    pub repaired: Option<RepairedView>,
    /// Duration in milliseconds.
    pub took_ms: u64,
}

/// A row that differs.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Difference"))]
pub struct DifferenceView {
    /// The kind of difference.
    pub kind: OneOf<DifferenceKind>,
    /// Its key, by column.
    pub key: BTreeMap<String, Option<String>>,
    /// The columns that differ, with the beginning of both values.
    pub columns: BTreeMap<String, BothValuesView>,
}

/// A value on both sides, as text.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "BothValues"))]
pub struct BothValuesView {
    /// In the source.
    pub source: Option<String>,
    /// In the target.
    pub target: Option<String>,
}

/// What a repair did.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Repaired"))]
pub struct RepairedView {
    /// Rows written.
    pub written: i64,
    /// Rows removed.
    pub removed: i64,
}
