//! What reports find out about a pipeline.
//!
//! `subject` finds the pipeline as it is now, its source and its sink; then a file per kind of report. Nothing here uses
//! the connections of batches.

mod preview;
mod reconcile;
mod replay;
mod subject;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Report, ReportRequest},
    reports::{self, HeldReport},
    store::pipelines,
};

use crate::{
    environment::Environment,
    error::BatchError,
    sink::{Subject, refuse_unfinished},
};

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
        ReportRequest::Preview { rows, step: None } => preview::show_rows(env, job, &report, *rows).await,
        ReportRequest::Preview { rows, step: Some(step) } => preview::try_step(env, job, &report, (*rows, step)).await,
        ReportRequest::Replay { ids } => replay::replay_letters(env, job, &report, ids.as_deref()).await,
        ReportRequest::Reconcile { depth, repair } => {
            reconcile::compare_target(env, job, &report, *depth, *repair).await
        }
    }
}

/// Ends the report and its job with this result, in the transaction of what it wrote.
async fn finish(tx: &mut PgConnection, job: &HeldReport, result: &impl serde::Serialize) -> Result<(), BatchError> {
    let result = serde_json::value::to_raw_value(result).map_err(|error| BatchError::fatal(error.to_string()))?;
    if !reports::finish(tx, job, &result).await? {
        return Err(BatchError::TakenOver("the job was given to another worker".to_owned()));
    }
    Ok(())
}

/// Makes sure that the pipeline is as it was seen and that no run of its target is unfinished, and keeps others from beginning
/// before the transaction ends: a change of the pipeline's status waits for its row.
async fn keep_runs_away(tx: &mut PgConnection, report: &Report, subject: &Subject) -> Result<(), BatchError> {
    let locked = pipelines::lock_writers(tx, report.pipeline_id, subject.draft().final_target().0).await?;
    if locked.is_none_or(|pipeline| pipeline.version != subject.pipeline.version) {
        return Err(BatchError::NotYet("the pipeline was changed meanwhile"));
    }
    refuse_unfinished(tx, report.pipeline_id, report.requested_at).await
}
