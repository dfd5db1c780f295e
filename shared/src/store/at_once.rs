//! A run's beginning and its end, each in one statement.
//!
//! Whoever changes a status locks the pipeline's row, looks, and then writes, because others may act meanwhile. Nearly
//! always nobody does. Then one statement is enough that changes everything, or nothing at all where something is not as
//! it was expected: `for no key update` waits for whoever was faster, and looks at the row once more. What is saved are
//! round trips, a third of what a run without news costs.

use sqlx::{PgConnection, types::Json};

use super::{
    runs::{Start, Sum, WalkedColumn},
    transitions::NewTransition,
};
use crate::domain::{Checkpoint, PipelineId, Position, RunId, Status};

/// Begins a queued run, as `runs::begin` and `transitions::write` do. Whether everything was as expected.
pub(crate) async fn begin(
    connection: &mut PgConnection,
    transition: &NewTransition<'_>,
    start: &Start,
) -> sqlx::Result<bool> {
    let begun = sqlx::query!(
        r#"
        with pipeline as materialized (
            select p.id from etl.etl_pipelines p where p.id = $1 and p.status = $4 for no key update
        ),
        run as (
            update etl.etl_runs r
            set status = 'RUNNING', started_at = coalesce(r.started_at, now()), leaves = coalesce(r.leaves, $13),
                target_id = coalesce(r.target_id, $14), checkpoint_from = case when not $15 then r.checkpoint_from end
            from pipeline
            where r.id = $3 and r.pipeline_id = pipeline.id and r.status = 'QUEUED'
            returning r.id
        ),
        range as (
            update etl.etl_run_ranges g
            set upper = coalesce(g.upper, $9), after = coalesce($10, case when not $15 then g.after end),
                horizon = coalesce(g.horizon, $11), server = coalesce(g.server, $12),
                walks_by = coalesce(etl.note_walk($16), g.walks_by)
            from run
            where g.run_id = run.id
        ),
        changed as (
            update etl.etl_pipelines p set status = $5 from run where p.id = $1
        )
        insert into etl.etl_transitions
            (pipeline_id, pipeline, run_id, from_status, to_status, actor, reason, correlation_id)
        select $1, $2, run.id, $4, $5, $6, $7, $8
        from run
        "#,
        transition.pipeline_id as PipelineId,
        transition.pipeline,
        transition.run_id as Option<RunId>,
        transition.from as Status,
        transition.to as Status,
        transition.actor,
        transition.reason,
        transition.correlation_id,
        start.upper,
        start.after.as_ref() as Option<&Position>,
        start.horizon,
        start.server,
        start.leaves.as_ref().map(Json) as Option<Json<&Checkpoint>>,
        start.target_id,
        start.anew.is_some(),
        start.walks_by.as_ref().map(Json) as Option<Json<&Vec<WalkedColumn>>>,
    )
    .execute(connection)
    .await?;
    Ok(begun.rows_affected() == 1)
}

/// The job of a run's last batch, which ends with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastJob<'a> {
    /// Its id in the queue.
    pub id: &'a str,
    /// Who holds it.
    pub worker: &'a str,
}

/// Ends a run that was walked to its end, with the job of its last batch. Returns what it did if everything was as
/// expected. A transaction that is open now, began before the run's bound and is not noted (`etl_rereads`) is not expected.
pub(crate) async fn finish(
    connection: &mut PgConnection,
    transition: &NewTransition<'_>,
    job: LastJob<'_>,
) -> sqlx::Result<Option<Sum>> {
    sqlx::query_as!(
        Sum,
        r#"
        with pipeline as materialized (
            select p.id from etl.etl_pipelines p where p.id = $1 and p.status = $4 for no key update
        ),
        walked as materialized (
            select r.id
            from etl.etl_runs r
            join pipeline on pipeline.id = r.pipeline_id
            where r.id = $3 and r.status = 'RUNNING'
              and not exists (select from etl.etl_run_ranges g where g.run_id = $3 and g.finished_at is null)
              and not exists (
                  select
                  from etl.other_transactions o
                  where o.xact_start < (select min(g.horizon) from etl.etl_run_ranges g where g.run_id = $3)
                    and not exists (select from etl.etl_rereads w where w.pipeline_id = $1 and w.from_key = o.xact_start)
              )
            for no key update of r
        ),
        job as (
            update apalis.jobs j
            set status = 'Done', done_at = now()
            from walked
            where j.id = $9 and j.lock_by = $10 and j.status in ('Queued', 'Running')
            returning walked.id as run_id
        ),
        run as (
            update etl.etl_runs r
            set status = 'SUCCESS', finished_at = now()
            from job
            where r.id = job.run_id
            returning r.id, r.rows_read, r.rows_written, r.batches, r.attempts, r.finished_at - r.started_at as took
        ),
        changed as (
            update etl.etl_pipelines p set status = $5 from run where p.id = $1
        ),
        logged as (
            insert into etl.etl_transitions
                (pipeline_id, pipeline, run_id, from_status, to_status, actor, reason, correlation_id)
            select $1, $2, run.id, $4, $5, $6, $7, $8
            from run
        )
        select rows_read, rows_written, batches, attempts,
               coalesce(extract(epoch from took), 0)::double precision as "seconds!"
        from run
        "#,
        transition.pipeline_id as PipelineId,
        transition.pipeline,
        transition.run_id as Option<RunId>,
        transition.from as Status,
        transition.to as Status,
        transition.actor,
        transition.reason,
        transition.correlation_id,
        job.id,
        job.worker,
    )
    .fetch_optional(connection)
    .await
}
