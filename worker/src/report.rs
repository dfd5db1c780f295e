//! What reports find out about a pipeline.
//!
//! `subject` looks at the pipeline as it is now, its reader and its sink; then a file per kind of report. Nothing here uses
//! the connections of batches.

mod preview;
mod reconcile;
mod replay;
mod subject;

use serde_json::value::RawValue;
use vitrina_shared::{
    domain::ReportRequest,
    reports::{self, HeldReport},
};

use crate::{environment::Environment, error::BatchError};

/// Makes the report of a job and ends both.
pub async fn make_report(env: &Environment, job: &HeldReport) -> Result<(), BatchError> {
    let mut connection = env.reports.acquire().await?;
    let report = reports::begin(&mut connection, job).await?;
    drop(connection);
    let Some(report) = report else { return Err(BatchError::RunEnded("the report has ended".to_owned())) };
    let span = tracing::Span::current();
    span.record("pipeline", &report.pipeline);
    span.record("pipeline_id", tracing::field::display(report.pipeline_id));
    let Some(_place) = env.report_slots.take_pipeline(report.request.kind(), report.pipeline_id) else {
        return Err(BatchError::NotYet("another report of the pipeline is being made"));
    };
    match &report.request {
        ReportRequest::Preview { rows } => {
            let result = preview::show_rows(env, job, &report, *rows).await?;
            finish(env, job, &result).await
        }
        ReportRequest::Replay { ids } => replay::replay_letters(env, job, &report, ids.as_deref()).await,
        ReportRequest::Reconcile { depth, repair } => {
            reconcile::compare_target(env, job, &report, *depth, *repair).await
        }
    }
}

async fn finish(env: &Environment, job: &HeldReport, result: &RawValue) -> Result<(), BatchError> {
    let mut tx = env.reports.begin().await?;
    if !reports::finish(&mut tx, job, result).await? {
        return Err(BatchError::TakenOver("the job was given to another worker".to_owned()));
    }
    tx.commit().await?;
    Ok(())
}

fn encode(result: &impl serde::Serialize) -> Result<Box<RawValue>, BatchError> {
    serde_json::value::to_raw_value(result).map_err(|error| BatchError::fatal(error.to_string()))
}
