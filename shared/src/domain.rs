//! The domain: pure types and decisions. Nothing here knows of a database, a queue or HTTP.

pub mod advice;
pub mod bounds;
pub mod checkpoint;
pub mod clock_key;
pub mod column_type;
mod draft_problems;
pub mod error_class;
pub mod hooks;
pub mod hosts;
mod ids;
mod index_fit;
pub mod index_options;
mod json_column;
pub mod kept_number;
mod names;
pub mod pipeline;
mod problem;
mod quoted_values;
pub mod removal;
pub mod report;
pub mod run;
mod run_step;
mod source_column;
pub mod status;
pub mod target;
mod task;
pub mod task_plan;
pub mod transform;

pub use checkpoint::{Checkpoint, Cut, Position};
pub use column_type::{ColumnType, Equal, Identity};
pub use error_class::ErrorClass;
pub use hooks::{HookEvent, HookFailure, Hooks};
pub use ids::{PipelineId, PipelineRef, ReportId, RunId};
pub use index_options::{IndexOptions, JsonFields, WriteMode};
pub use names::NamedEnum;
pub(crate) use names::named_enum;
pub use pipeline::{FullStrategy, KeyOrder, Mode, NullKeys, OnRowError, Pipeline, PipelineDraft, PipelineOptions};
pub use problem::{Problem, ProblemKind};
pub use removal::MaxRemoved;
pub use report::{Report, ReportKind, ReportRequest, ReportStatus};
pub use run::{Run, RunStatus, Trigger, UnfinishedRun};
pub use run_step::RunStep;
pub use source_column::SourceColumn;
pub use status::{Command, Decision, IllegalTransition, Status};
pub use target::{ELASTICSEARCH, ExternalKind, Target, TargetName};
pub use task::{Task, TaskKind};

pub const OWN_SCHEMAS: [&str; 7] = ["etl", "etl_hook", "etl_mart", "etl_page", "etl_query", "etl_swap", "apalis"];

/// Whether a schema is never a source: it holds our tables, our results or the server's catalogue.
pub fn is_reserved(schema: &str) -> bool {
    OWN_SCHEMAS.contains(&schema) || ["analytics", "information_schema"].contains(&schema) || schema.starts_with("pg_")
}
