//! Reads runs.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::domain::{Checkpoint, ErrorClass, Mode, PipelineDraft, PipelineId, Run, RunId, RunStatus, RunStep, Trigger};

/// Every read of runs is this statement with an end of its own.
macro_rules! select_runs {
    ($end:literal, $($argument:expr),+) => {
        sqlx::query_as!(
            Run,
            r#"
            select r.id as "id: RunId", r.pipeline_id as "pipeline_id: PipelineId", p.name as pipeline,
                   r.mode as "mode: Mode", r.status as "status: RunStatus", r.trigger as "trigger: Trigger",
                   r.requested_at, r.started_at, r.finished_at, r.rows_read, r.rows_written, r.rows_rejected,
                   r.rows_removed, r.rows_total, r.batches, r.attempts, r.error, r.error_class as "error_class: ErrorClass",
                   r.checkpoint_from as "checkpoint_from: Checkpoint",
                   r.checkpoint_to as "checkpoint_to: Checkpoint",
                   array(select to_jsonb(s) from etl.etl_run_steps s where s.run_id = r.id order by s.place)
                       as "steps!: Vec<RunStep>"
            from etl.etl_runs r
            join etl.etl_pipelines p on p.id = r.pipeline_id
            "# + $end,
            $($argument),+
        )
    };
}

pub async fn find(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<Run>> {
    select_runs!("where r.id = $1", id as RunId).fetch_optional(connection).await
}

pub async fn find_active(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<Option<Run>> {
    select_runs!("where r.pipeline_id = $1 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')", pipeline as PipelineId)
        .fetch_optional(connection)
        .await
}

pub async fn find_by_key(connection: &mut PgConnection, pipeline: PipelineId, key: &str) -> sqlx::Result<Option<Run>> {
    select_runs!(
        "join etl.etl_run_keys k on k.run_id = r.id where k.pipeline_id = $1 and k.idempotency_key = $2",
        pipeline as PipelineId,
        key
    )
    .fetch_optional(connection)
    .await
}

pub(crate) async fn remember_key(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    key: &str,
    run: RunId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into etl.etl_run_keys (pipeline_id, idempotency_key, run_id) values ($1, $2, $3)",
        pipeline as PipelineId,
        key,
        run as RunId,
    )
    .execute(tx)
    .await?;
    Ok(())
}

#[derive(Debug, Clone, Copy)]
pub struct RunPosition {
    pub requested_at: DateTime<Utc>,
    pub id: RunId,
}

/// Reads up to `limit` runs of a pipeline, newest first.
pub async fn list(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    after: Option<RunPosition>,
    limit: i64,
) -> sqlx::Result<Vec<Run>> {
    select_runs!(
        "where r.pipeline_id = $1 and ($2::timestamptz is null or (r.requested_at, r.id) < ($2, $3))
         order by r.requested_at desc, r.id desc
         limit $4",
        pipeline as PipelineId,
        after.map(|position| position.requested_at),
        after.map(|position| position.id) as Option<RunId>,
        limit
    )
    .fetch_all(connection)
    .await
}

pub async fn inputs(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<PipelineDraft>> {
    sqlx::query_scalar!(r#"select inputs as "inputs: PipelineDraft" from etl.etl_runs where id = $1"#, id as RunId)
        .fetch_optional(connection)
        .await
}

#[derive(Debug, Clone, Copy)]
pub struct Sum {
    pub rows_read: i64,
    pub rows_written: i64,
    pub batches: i64,
    pub attempts: i32,
    pub seconds: f64,
}

pub async fn sum(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Option<Sum>> {
    sqlx::query_as!(
        Sum,
        r#"
        select rows_read, rows_written, batches, attempts,
               coalesce(extract(epoch from finished_at - started_at), 0)::double precision as "seconds!"
        from etl.etl_runs
        where id = $1
        "#,
        id as RunId,
    )
    .fetch_optional(connection)
    .await
}

pub async fn unfinished(connection: &mut PgConnection) -> sqlx::Result<Vec<RunId>> {
    sqlx::query_scalar!(r#"select id as "id: RunId" from etl.etl_runs where status in ('QUEUED', 'RUNNING', 'PAUSED')"#)
        .fetch_all(connection)
        .await
}

/// The unfinished run that writes a target.
#[derive(Debug)]
pub struct Writer {
    pub pipeline: String,
    pub pipeline_id: PipelineId,
    pub status: RunStatus,
}

pub async fn writer_of(connection: &mut PgConnection, target: &str) -> sqlx::Result<Option<Writer>> {
    sqlx::query_as!(
        Writer,
        r#"
        select p.name as pipeline, p.id as "pipeline_id: PipelineId", r.status as "status: RunStatus"
        from etl.etl_runs r
        join etl.etl_pipelines p on p.id = r.pipeline_id
        where r.target = $1 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
        "#,
        target,
    )
    .fetch_optional(connection)
    .await
}
