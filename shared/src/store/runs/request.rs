//! Queues a run with its first job.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use crate::{
    domain::{Checkpoint, Mode, PipelineDraft, PipelineId, Position, RunId, Status, Trigger},
    store::{pipelines::Edition, transitions::NewTransition},
};

/// A run about to be queued.
#[derive(Debug)]
pub struct NewRun<'a> {
    /// Its identity.
    pub id: RunId,
    /// The pipeline it belongs to.
    pub pipeline_id: PipelineId,
    /// What asked for it.
    pub trigger: Trigger,
    /// Who asked for it.
    pub requested_by: &'a str,
    /// The request it came from.
    pub correlation_id: &'a str,
    /// How it walks: an incremental pipeline may have a full run too.
    pub mode: Mode,
    /// The configuration it executes, whatever happens to the pipeline meanwhile.
    pub inputs: &'a PipelineDraft,
    /// The run that it repeats, whose checkpoint it may move.
    pub repeats: Option<RunId>,
    /// Where it begins.
    pub from: Option<&'a Checkpoint>,
    /// Its first job.
    pub job: NewJob<'a>,
}

/// A job about to be queued with its run.
#[derive(Debug)]
pub struct NewJob<'a> {
    /// Its identity.
    pub id: &'a str,
    /// The queue.
    pub queue: &'a str,
    /// What is to be done, but for the time at which it was queued.
    pub payload: Value,
    /// How often it may be taken up.
    pub max_attempts: i32,
}

/// Inserts a queued run with its one range, which begins at the run's checkpoint, and the range's first job. Returns when
/// it was requested.
pub async fn insert(tx: &mut PgConnection, run: &NewRun<'_>) -> sqlx::Result<DateTime<Utc>> {
    insert_with(tx, run, None).await?.ok_or(sqlx::Error::RowNotFound)
}

/// Inserts a queued run as [`insert`] does, with the change of status that asks for it, if the pipeline's row is still the
/// edition that was seen and has no unfinished run. If not, nothing was changed.
pub(crate) async fn request(
    connection: &mut PgConnection,
    run: &NewRun<'_>,
    transition: &NewTransition<'_>,
    seen: &Edition,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    insert_with(connection, run, Some((transition, seen))).await
}

async fn insert_with(
    connection: &mut PgConnection,
    run: &NewRun<'_>,
    change: Option<(&NewTransition<'_>, &Edition)>,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    let transition = change.map(|(transition, _)| transition);
    sqlx::query_scalar!(
        r#"
        with pipeline as materialized (
            select p.id, p.checkpoint_epoch
            from etl.etl_pipelines p
            where p.id = $2
              and ($14::text is null or (p.xmin::text = $14 and not exists (
                  select from etl.etl_runs r where r.pipeline_id = $2 and r.status in ('QUEUED', 'RUNNING', 'PAUSED'))))
            for no key update
        ),
        run as (
            insert into etl.etl_runs
                (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs, checkpoint_from,
                 checkpoint_epoch)
            select $1, pipeline.id, $3, $4, $5, $6, $7, $8,
                   coalesce((select e.checkpoint_epoch from etl.etl_runs e where e.id = $19), pipeline.checkpoint_epoch)
            from pipeline
            returning id, requested_at
        ),
        range as (
            insert into etl.etl_run_ranges (run_id, range_no, after, job_id, walks_by)
            select id, 0, $9, $10,
                   case when $19::uuid is null then (select s.walks_by from etl.etl_state s where s.pipeline_id = $2)
                        else (select e.walks_by from etl.etl_run_ranges e where e.run_id = $19 and e.range_no = 0) end
            from run
        ),
        -- A job is announced only if its time is not after the transaction's start.
        job as (
            insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
            select $10, $11,
                   convert_to(($12::jsonb || jsonb_build_object('queued_us',
                       (extract(epoch from clock_timestamp()) * 1000000)::bigint))::text, 'UTF8'),
                   'Pending', 0, $13, now() - interval '1 second', 0
            from run
        ),
        changed as (
            update etl.etl_pipelines p set status = $16 from run where p.id = $2 and $16::text is not null
        ),
        logged as (
            insert into etl.etl_transitions
                (pipeline_id, pipeline, run_id, from_status, to_status, actor, reason, correlation_id)
            select $2, $17, run.id, $15, $16, $5, $18, $6
            from run
            where $16 is not null
        )
        select requested_at from run
        "#,
        run.id as RunId,
        run.pipeline_id as PipelineId,
        run.mode as Mode,
        run.trigger as Trigger,
        run.requested_by,
        run.correlation_id,
        Json(run.inputs) as Json<&PipelineDraft>,
        run.from.map(Json) as Option<Json<&Checkpoint>>,
        run.from.map(Position::after) as Option<Position>,
        run.job.id,
        run.job.queue,
        run.job.payload,
        run.job.max_attempts,
        change.map(|(_, seen)| seen) as Option<&Edition>,
        transition.map(|transition| transition.from) as Option<Status>,
        transition.map(|transition| transition.to) as Option<Status>,
        transition.map(|transition| transition.pipeline),
        transition.map(|transition| transition.reason),
        run.repeats as Option<RunId>,
    )
    .fetch_optional(connection)
    .await
}

/// Remembers which run an idempotency key was answered with.
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

/// Puts a resting run back into the queue.
pub(crate) async fn requeue(tx: &mut PgConnection, id: RunId) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set status = 'QUEUED' where id = $1", id as RunId).execute(tx).await?;
    Ok(())
}
