//! Reports, from a client's request to their end: jobs of the queue, like batches of runs, that change no status.
//!
//! A report and its job begin in one transaction and end in one. Executing one again changes nothing, so a job that
//! comes back from a worker that died is simply executed again.

use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::{PgConnection, PgPool};

use crate::{
    domain::{ErrorClass, PipelineRef, Report, ReportId, ReportRequest},
    jobs::{self, EnqueueError, Held, Queued, ReportJob},
    lifecycle::Cause,
    store::{pipelines, reports},
};

/// The limit of unfinished reports: further requests are refused.
const MOST_UNFINISHED: i64 = 100;
/// The limit per requester, so that one cannot use up the total.
const MOST_OF_ONE: i64 = 50;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("there is no pipeline `{0}`")]
    NoPipeline(PipelineRef),
    #[error("too many reports wait for a worker")]
    TooMany,
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

pub type HeldReport = Held<ReportJob>;

pub async fn request(
    db: &PgPool,
    pipeline: &PipelineRef,
    request: &ReportRequest,
    cause: Cause<'_>,
) -> Result<ReportId, ReportError> {
    let mut tx = db.begin().await?;
    let found = pipelines::find(&mut tx, pipeline).await?;
    let pipeline_id = found.ok_or_else(|| ReportError::NoPipeline(pipeline.clone()))?.id;
    let (all, own) = reports::unfinished(&mut tx, cause.actor).await?;
    if all >= MOST_UNFINISHED || own >= MOST_OF_ONE {
        return Err(ReportError::TooMany);
    }
    let id = ReportId::generate();
    let (requested_by, correlation_id) = (cause.actor, cause.correlation_id);
    let job = Queued::new(ReportJob::new(id, request.kind()), correlation_id);
    let job_id = jobs::enqueue(&mut tx, job).await?;
    let report = reports::NewReport { id, pipeline_id, request, requested_by, correlation_id, job_id: &job_id };
    reports::insert(&mut tx, &report).await?;
    tx.commit().await?;
    tracing::info!(report_id = %id, kind = %request.kind(), pipeline_id = %pipeline_id, actor = cause.actor, "report requested");
    Ok(id)
}

/// Begins the report of a job; nothing if it has ended or is gone with its pipeline.
pub async fn begin(connection: &mut PgConnection, job: &HeldReport) -> Result<Option<Report>, ReportError> {
    if !reports::begin(connection, job.report_id).await? {
        return Ok(None);
    }
    Ok(reports::find(connection, job.report_id).await?)
}

/// Ends the report and its job with a result. Whether the job was still ours: if not, nothing may be committed.
pub async fn finish(tx: &mut PgConnection, job: &HeldReport, result: &RawValue) -> Result<bool, ReportError> {
    let ours = job.finish(tx).await?;
    if ours {
        reports::finish(tx, job.report_id, result).await?;
    }
    Ok(ours)
}

/// Ends the report and its job with an error. Whether the job was still ours.
pub async fn fail(
    tx: &mut PgConnection,
    job: &HeldReport,
    (class, error): (ErrorClass, &str),
) -> Result<bool, ReportError> {
    let ours = job.finish(tx).await?;
    if ours {
        reports::fail(tx, job.report_id, class, error).await?;
    }
    Ok(ours)
}

/// Returns the job to the queue for `delay`, with one more failed attempt where there is a failure.
pub async fn put_back(
    tx: &mut PgConnection,
    job: &HeldReport,
    delay: Duration,
    failure: Option<(ErrorClass, &str)>,
) -> Result<(), ReportError> {
    let returned = job.put_back(tx, job.attempt + u32::from(failure.is_some()), delay).await?;
    if let Some((class, error)) = failure.filter(|_| returned) {
        reports::note_failure(tx, job.report_id, class, error).await?;
    }
    Ok(())
}

/// Fails the report of a job that came back too often, because every worker that took it died.
pub async fn give_up(tx: &mut PgConnection, job: &ReportJob, error: &str) -> Result<(), ReportError> {
    reports::fail(tx, job.report_id, ErrorClass::Fatal, error).await?;
    Ok(())
}

/// Gives a job to every unfinished report that has none. Returns how many. Any number of processes may call it at once.
pub async fn recover(db: &PgPool) -> Result<u64, ReportError> {
    let mut tx = db.begin().await?;
    let stranded = reports::lock_stranded(&mut tx).await?;
    for report in &stranded {
        let job = Queued::new(ReportJob::new(report.id, report.request.0.kind()), &report.correlation_id);
        let job_id = jobs::enqueue(&mut tx, job).await?;
        reports::set_job(&mut tx, report.id, &job_id).await?;
        tracing::warn!(report_id = %report.id, pipeline_id = %report.pipeline_id, "recovered a report without a job");
    }
    tx.commit().await?;
    Ok(stranded.len() as u64)
}
