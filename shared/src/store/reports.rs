//! `etl.etl_reports`.

use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::{PgConnection, types::Json};

use super::interval;
use crate::domain::{ErrorClass, PipelineId, Report, ReportId, ReportRequest, ReportStatus};

/// The channel on which the end of a report is announced, with its id.
pub const REPORTS_CHANNEL: &str = "vitrina_reports";

#[derive(Debug)]
pub struct NewReport<'a> {
    pub id: ReportId,
    pub pipeline_id: PipelineId,
    pub request: &'a ReportRequest,
    pub requested_by: &'a str,
    pub correlation_id: &'a str,
    /// The job that a worker takes up.
    pub job_id: &'a str,
}

pub async fn insert(tx: &mut PgConnection, report: &NewReport<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_reports (id, pipeline_id, request, requested_by, correlation_id, job_id)
        values ($1, $2, $3, $4, $5, $6)
        "#,
        report.id as ReportId,
        report.pipeline_id as PipelineId,
        Json(report.request) as Json<&ReportRequest>,
        report.requested_by,
        report.correlation_id,
        report.job_id,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub async fn find(connection: &mut PgConnection, id: ReportId) -> sqlx::Result<Option<Report>> {
    let row = sqlx::query!(
        r#"
        select r.id as "id: ReportId", r.pipeline_id as "pipeline_id: PipelineId", p.name as pipeline,
               r.request as "request: Json<ReportRequest>", r.status as "status: ReportStatus",
               r.result as "result: Json<Box<RawValue>>", r.error, r.error_class as "error_class: ErrorClass",
               r.attempts, r.requested_by, r.requested_at, r.started_at, r.finished_at
        from etl.etl_reports r
        join etl.etl_pipelines p on p.id = r.pipeline_id
        where r.id = $1
        "#,
        id as ReportId,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Report {
        id: row.id,
        pipeline_id: row.pipeline_id,
        pipeline: row.pipeline,
        request: row.request.0,
        status: row.status,
        result: row.result.map(|json| json.0),
        error: row.error,
        error_class: row.error_class,
        attempts: row.attempts,
        requested_by: row.requested_by,
        requested_at: row.requested_at,
        started_at: row.started_at,
        finished_at: row.finished_at,
    }))
}

/// How many reports have not ended: all, and those of one requester.
pub async fn unfinished(connection: &mut PgConnection, requested_by: &str) -> sqlx::Result<(i64, i64)> {
    let unfinished = sqlx::query!(
        r#"
        select count(*) as "all!", count(*) filter (where requested_by = $1) as "own!"
        from etl.etl_reports
        where status in ('QUEUED', 'RUNNING')
        "#,
        requested_by,
    )
    .fetch_one(connection)
    .await?;
    Ok((unfinished.all, unfinished.own))
}

/// Marks a report as begun. Whether it was not ended before.
pub(crate) async fn begin(connection: &mut PgConnection, id: ReportId) -> sqlx::Result<bool> {
    let begun = sqlx::query!(
        r#"
        update etl.etl_reports
        set status = 'RUNNING', started_at = coalesce(started_at, now())
        where id = $1 and status in ('QUEUED', 'RUNNING')
        "#,
        id as ReportId,
    )
    .execute(connection)
    .await?;
    Ok(begun.rows_affected() == 1)
}

pub(crate) async fn finish(tx: &mut PgConnection, id: ReportId, result: &RawValue) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_reports
        set status = 'DONE', result = $2, finished_at = now(), error = null, error_class = null
        where id = $1 and status in ('QUEUED', 'RUNNING')
        "#,
        id as ReportId,
        Json(result) as Json<&RawValue>,
    )
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn fail(tx: &mut PgConnection, id: ReportId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_reports
        set status = 'FAILED', finished_at = now(), error_class = $2, error = left($3, 4000), attempts = attempts + 1
        where id = $1 and status in ('QUEUED', 'RUNNING')
        "#,
        id as ReportId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes an attempt that failed and will be repeated.
pub(crate) async fn note_failure(
    tx: &mut PgConnection,
    id: ReportId,
    class: ErrorClass,
    error: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_reports
        set attempts = attempts + 1, error_class = $2, error = left($3, 4000)
        where id = $1
        "#,
        id as ReportId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A report that has not ended and has no live job.
#[derive(Debug)]
pub struct Stranded {
    pub id: ReportId,
    pub pipeline_id: PipelineId,
    pub request: Json<ReportRequest>,
    pub correlation_id: String,
}

pub(crate) async fn lock_stranded(tx: &mut PgConnection) -> sqlx::Result<Vec<Stranded>> {
    sqlx::query_as!(
        Stranded,
        r#"
        select r.id as "id: ReportId", r.pipeline_id as "pipeline_id: PipelineId",
               r.request as "request: Json<ReportRequest>", r.correlation_id
        from etl.etl_reports r
        where r.status in ('QUEUED', 'RUNNING')
          and not exists (
              select from apalis.jobs j where j.id = r.job_id and j.status in ('Pending', 'Queued', 'Running')
          )
        for update of r skip locked
        "#,
    )
    .fetch_all(tx)
    .await
}

/// Notes which job carries a report on.
pub(crate) async fn set_job(tx: &mut PgConnection, id: ReportId, job_id: &str) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_reports set job_id = $2 where id = $1", id as ReportId, job_id).execute(tx).await?;
    Ok(())
}

/// Removes up to `most` reports that ended more than `keep` ago. Returns how many.
pub async fn prune(connection: &mut PgConnection, keep: Duration, most: i64) -> sqlx::Result<u64> {
    let pruned = sqlx::query!(
        r#"
        delete from etl.etl_reports
        where id in (
            select id from etl.etl_reports
            where finished_at < now() - $1::interval
            limit $2
            for update skip locked
        )
        "#,
        interval(keep),
        most,
    )
    .execute(connection)
    .await?;
    Ok(pruned.rows_affected())
}
