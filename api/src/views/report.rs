//! Reports: what is asked for and what was found out.

use chrono::{DateTime, Utc};
use salvo::oapi::ToSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use uuid::Uuid;
use vitrina_shared::domain::{
    ErrorClass, Report, ReportKind, ReportStatus,
    report::{Preview, PreviewColumn},
};

use super::OneOf;

/// What a preview shows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreviewInput {
    /// How many rows.
    #[salvo(schema(required = false, minimum = 1, maximum = 100, default = 10))]
    pub rows: u32,
}

impl Default for PreviewInput {
    fn default() -> Self {
        Self { rows: 10 }
    }
}

/// A report.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Report"))]
pub struct ReportView {
    /// Identity.
    pub id: Uuid,
    /// What it is about.
    pub kind: OneOf<ReportKind>,
    /// The pipeline it is about.
    pub pipeline_id: Uuid,
    /// That pipeline's name.
    pub pipeline: String,
    /// What was asked for.
    #[salvo(schema(value_type = Object, additional_properties = true))]
    pub request: Value,
    /// How it stands.
    pub status: OneOf<ReportStatus>,
    /// What was found out; null until it is done.
    #[salvo(schema(required, value_type = Option<Object>, additional_properties = true))]
    pub result: Option<Box<RawValue>>,
    /// Why it failed, or the last attempt did.
    #[salvo(schema(required))]
    pub error: Option<String>,
    /// Class of that error.
    #[salvo(schema(required))]
    pub error_class: Option<OneOf<ErrorClass>>,
    /// Attempts that failed.
    pub attempts: i32,
    /// Who asked for it.
    pub requested_by: String,
    /// When it was asked for.
    pub requested_at: DateTime<Utc>,
    /// When a worker began.
    #[salvo(schema(required))]
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    #[salvo(schema(required))]
    pub finished_at: Option<DateTime<Utc>>,
}

impl From<Report> for ReportView {
    fn from(report: Report) -> Self {
        let mut request = serde_json::to_value(&report.request).unwrap_or_default();
        if let Some(fields) = request.as_object_mut() {
            fields.remove("kind");
        }
        Self {
            id: report.id.0,
            kind: report.request.kind().into(),
            pipeline_id: report.pipeline_id.0,
            pipeline: report.pipeline,
            request,
            status: report.status.into(),
            result: report.result,
            error: report.error,
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
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Preview"))]
pub struct PreviewView {
    /// The columns that would be written, in their order.
    pub columns: Vec<PreviewColumnView>,
    /// The rows, as objects with these columns.
    #[salvo(schema(value_type = Vec<Object>))]
    pub rows: Vec<Box<RawValue>>,
    /// Rows that are too wide to be shown.
    pub omitted: u32,
    /// How long it took.
    pub took_ms: u64,
}

/// A column that would be written.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "PreviewColumn"))]
pub struct PreviewColumnView {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: String,
}

impl From<Preview> for PreviewView {
    fn from(preview: Preview) -> Self {
        let column = |column: PreviewColumn| PreviewColumnView { name: column.name, r#type: column.type_name };
        Self {
            columns: preview.columns.into_iter().map(column).collect(),
            rows: preview.rows,
            omitted: preview.omitted,
            took_ms: preview.took_ms,
        }
    }
}
