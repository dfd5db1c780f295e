//! What reports find out about a pipeline.
//!
//! `subject` is the pipeline as it is now, its reader and its target; then a file per kind of report. Nothing here uses
//! the connections of batches.

mod preview;
mod subject;

use serde_json::value::RawValue;
use vitrina_shared::{
    domain::{Report, ReportRequest},
    reports::{self, HeldReport},
};

use crate::{environment::Environment, error::BatchError};

/// Makes the report of a job and ends both.
pub async fn make(env: &Environment, job: &HeldReport) -> Result<(), BatchError> {
    let mut connection = env.reports.acquire().await?;
    let report = reports::begin(&mut connection, job).await?;
    drop(connection);
    let Some(report) = report else { return Err(BatchError::RunEnded("the report has ended".to_owned())) };
    let span = tracing::Span::current();
    span.record("pipeline", &report.pipeline);
    span.record("pipeline_id", tracing::field::display(report.pipeline_id));
    let result = find_out(env, &report).await?;
    let mut tx = env.reports.begin().await?;
    if !reports::finish(&mut tx, job, &result).await? {
        return Err(BatchError::TakenOver("the job was given to another worker".to_owned()));
    }
    tx.commit().await?;
    Ok(())
}

async fn find_out(env: &Environment, report: &Report) -> Result<Box<RawValue>, BatchError> {
    match &report.request {
        ReportRequest::Preview { rows } => preview::make(env, report.pipeline_id, *rows).await,
    }
}

/// A result as it is stored.
fn encode(result: &impl serde::Serialize) -> Result<Box<RawValue>, BatchError> {
    serde_json::value::to_raw_value(result).map_err(|error| BatchError::fatal(error.to_string()))
}
