//! The statement that changes a pipeline's status.
//!
//! Every function here is that statement with a middle of its own:
//!
//! lock the pipeline's row if it is as seen → change its run with ranges and job → set the status → log,
//!
//! everything or nothing. Contention is rare, so callers read without a lock, decide, and let the statement compare: `for no
//! key update` waits for a change that is under way and then looks at the row once more. A caller that gets nothing back reads
//! again. In a transaction that has locked the row the statement always applies.
//!
//! What follows from a transition reads the log by `id > cursor` and depends on nothing here.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{Connection, PgConnection, types::Json};

use super::{
    pipelines::Edition,
    runs::{self, Start, Sum, WalkedColumn},
};
use crate::domain::{
    Checkpoint, Cut, ErrorClass, Mode, PipelineDraft, PipelineId, Position, RunId, RunStatus, Status, Trigger,
};

/// A change of a status, and what it is based on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusChange<'a> {
    pub pipeline_id: PipelineId,
    pub run_id: Option<RunId>,
    pub from: Status,
    pub to: Status,
    /// Where the row is not locked: the edition that was read, if more than the status matters.
    pub seen: Option<&'a Edition>,
    pub actor: &'a str,
    /// Without a reason the status stays and nothing is logged.
    pub reason: Option<&'a str>,
    pub correlation_id: &'a str,
}

/// `$beside` ends in `applied`, which has a row if everything is as expected.
macro_rules! change_status {
    ($query:ident $(<$row:ty>)?, $change:expr, $beside:literal, $returning:literal $(, $argument:expr)* $(,)?) => {
        sqlx::$query!(
            $($row,)?
            r#"
            with seen as materialized (
                select p.id, p.name, p.checkpoint_epoch
                from etl.etl_pipelines p
                where p.id = $1 and p.status = $3 and ($5::text is null or p.xmin::text = $5)
                for no key update
            ),
            "# + $beside + r#",
            changed as (
                update etl.etl_pipelines p set status = $4 from applied where p.id = $1 and $7::text is not null
            ),
            logged as (
                insert into etl.etl_transitions
                    (pipeline_id, pipeline, run_id, from_status, to_status, actor, reason, correlation_id)
                select $1, seen.name, $2, $3, $4, $6, $7, $8
                from seen, applied
                where $7 is not null
            )
            select "# + $returning + " from applied",
            $change.pipeline_id as PipelineId,
            $change.run_id as Option<RunId>,
            $change.from as Status,
            $change.to as Status,
            $change.seen as Option<&Edition>,
            $change.actor,
            $change.reason,
            $change.correlation_id,
            $($argument),*
        )
    };
}

/// Changes the status alone. Whether it did.
pub(crate) async fn change(connection: &mut PgConnection, change: &StatusChange<'_>) -> sqlx::Result<bool> {
    let applied = change_status!(query_scalar, change, "applied as (select id from seen)", "id")
        .fetch_optional(connection)
        .await?;
    Ok(applied.is_some())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRun<'a> {
    pub trigger: Trigger,
    /// How it walks: an incremental pipeline may have a full run too.
    pub mode: Mode,
    /// The configuration it executes, whatever happens to the pipeline meanwhile.
    pub inputs: &'a PipelineDraft,
    /// The run that it repeats, whose checkpoint it may move.
    pub repeats: Option<RunId>,
    pub from: Option<&'a Checkpoint>,
    /// The keys that split the run: n cuts make n + 1 ranges.
    pub cuts: &'a [Cut],
}

#[derive(Debug)]
pub(crate) struct NewJob<'a> {
    pub id: &'a str,
    pub queue: &'a str,
    /// What is to be done, but for the time at which it was queued.
    pub payload: Value,
    pub max_attempts: i32,
}

/// Queues a run with its ranges, the first of which begins at the run's checkpoint, and that one's first job. Returns `requested_at`.
pub(crate) async fn request(
    connection: &mut PgConnection,
    change: &StatusChange<'_>,
    run: &NewRun<'_>,
    job: &NewJob<'_>,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    if run.cuts.is_empty() {
        return insert_run(connection, change, run, job).await;
    }
    // In a box of its own: nearly every request has no cuts, and would carry its size along.
    Box::pin(async {
        let mut tx = connection.begin().await?;
        let requested = insert_run(&mut tx, change, run, job).await?;
        if let Some(id) = change.run_id.filter(|_| requested.is_some()) {
            runs::cut(&mut tx, id, run.cuts).await?;
        }
        tx.commit().await?;
        Ok(requested)
    })
    .await
}

async fn insert_run(
    connection: &mut PgConnection,
    change: &StatusChange<'_>,
    run: &NewRun<'_>,
    job: &NewJob<'_>,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    change_status!(
        query_scalar,
        change,
        r#"
        applied as (
            insert into etl.etl_runs
                (id, pipeline_id, mode, trigger, requested_by, correlation_id, inputs, checkpoint_from,
                 checkpoint_epoch)
            select $2, seen.id, $9, $10, $6, $8, $11, $12,
                   coalesce((select e.checkpoint_epoch from etl.etl_runs e where e.id = $18), seen.checkpoint_epoch)
            from seen
            returning id, requested_at
        ),
        range as (
            insert into etl.etl_run_ranges (run_id, range_no, after, job_id, walks_by)
            select id, 0, $13, $14,
                   case when $18::uuid is null then (select s.walks_by from etl.etl_state s where s.pipeline_id = $1)
                        else (select e.walks_by from etl.etl_run_ranges e where e.run_id = $18 and e.range_no = 0) end
            from applied
        ),
        -- A job is announced only if its time is not after the transaction's start.
        job as (
            insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
            select $14, $15,
                   convert_to(($16::jsonb || jsonb_build_object('queued_us',
                       (extract(epoch from clock_timestamp()) * 1000000)::bigint))::text, 'UTF8'),
                   'Pending', 0, $17, now() - interval '1 second', 0
            from applied
        )
        "#,
        "requested_at",
        run.mode as Mode,
        run.trigger as Trigger,
        Json(run.inputs) as Json<&PipelineDraft>,
        run.from.map(Json) as Option<Json<&Checkpoint>>,
        run.from.map(Position::after) as Option<Position>,
        job.id,
        job.queue,
        job.payload,
        job.max_attempts,
        run.repeats as Option<RunId>,
    )
    .fetch_optional(connection)
    .await
}

/// Marks a run as begun, with what its ranges will read. One that was begun before keeps its start and its bounds, and only the
/// given range is changed: batches of the other ranges may be under way, and hold their rows. Whether it did.
pub(crate) async fn begin(
    connection: &mut PgConnection,
    change: &StatusChange<'_>,
    range: Option<i32>,
    start: &Start,
) -> sqlx::Result<bool> {
    let begun = change_status!(
        query_scalar,
        change,
        r#"
        applied as (
            update etl.etl_runs r
            set status = 'RUNNING', started_at = coalesce(r.started_at, now()), leaves = coalesce(r.leaves, $13),
                target_id = coalesce(r.target_id, $14), target_files = etl.note_files(r.target_files, $18),
                checkpoint_from = case when not $15 then r.checkpoint_from end, code = coalesce(r.code, $19)
            from seen
            where r.id = $2 and r.pipeline_id = seen.id and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
            returning r.id
        ),
        range as (
            update etl.etl_run_ranges g
            set upper = coalesce(g.upper, $9),
                after = case when g.range_no = 0 then coalesce($10, case when not $15 then g.after end) else g.after end,
                horizon = coalesce(g.horizon, $11), server = coalesce(g.server, $12),
                walks_by = coalesce(etl.note_walk($16), g.walks_by)
            from applied
            where g.run_id = applied.id and g.range_no = coalesce($17, g.range_no)
        )
        "#,
        "id",
        start.upper,
        start.after.as_ref() as Option<&Position>,
        start.horizon,
        start.server,
        start.leaves.as_ref().map(Json) as Option<Json<&Checkpoint>>,
        start.target_id,
        start.anew.is_some(),
        start.walks_by.as_ref().map(Json) as Option<Json<&Vec<WalkedColumn>>>,
        range,
        start.target_files,
        start.code.as_deref(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(begun.is_some())
}

/// How an unfinished run stands after a change of status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunChange<'a> {
    pub status: RunStatus,
    /// The job that ends with it, and the worker that must still hold it.
    pub job: Option<(&'a str, &'a str)>,
    pub error: Option<(ErrorClass, &'a str)>,
    /// Only if every range was walked to its end, and no transaction is open that began before the run's bound and is not noted
    /// (`etl_rereads`).
    pub if_complete: bool,
}

/// Lets a run rest, wait in the queue again, or end. It does not rest while another job of it is live: a range may be walked.
/// Returns what it did so far.
pub(crate) async fn change_run(
    connection: &mut PgConnection,
    change: &StatusChange<'_>,
    run: RunChange<'_>,
) -> sqlx::Result<Option<Sum>> {
    change_status!(
        query_as<Sum>,
        change,
        r#"
        run as materialized (
            select r.id
            from etl.etl_runs r
            join seen on seen.id = r.pipeline_id
            where r.id = $2 and r.status in ('QUEUED', 'RUNNING', 'PAUSED')
              and (not $14 or (
                  not exists (select from etl.etl_run_ranges g where g.run_id = $2 and g.finished_at is null)
                  and not exists (
                      select
                      from etl.other_transactions o
                      where o.xact_start < (select min(g.horizon) from etl.etl_run_ranges g where g.run_id = $2)
                        and not exists (
                            select from etl.etl_rereads w where w.pipeline_id = $1 and w.from_key = o.xact_start)
                  )
              ))
              and ($9 <> 'PAUSED' or not exists (
                  select
                  from etl.etl_run_ranges g
                  join apalis.jobs o on o.id = g.job_id
                  where g.run_id = $2 and g.job_id <> $10 and o.status in ('Pending', 'Queued', 'Running')
              ))
            for no key update of r
        ),
        job as (
            update apalis.jobs j
            set status = 'Done', done_at = now()
            from run
            where j.id = $10 and j.lock_by = $11 and j.status in ('Queued', 'Running')
            returning j.id
        ),
        applied as (
            update etl.etl_runs r
            set status = $9, finished_at = case when $9 in ('SUCCESS', 'FAILED', 'CANCELLED') then now() end,
                error_class = coalesce($12, r.error_class), error = coalesce(left($13, 4000), r.error),
                target_files = case when r.target_files is not null
                    then etl.note_files(r.target_files, etl.files_of(r.target)) end,
                attempts = r.attempts + case when $12::text is null then 0 else 1 end
            from run
            where r.id = run.id and ($10::text is null or exists (select from job))
            returning r.rows_read, r.rows_written, r.batches, r.attempts, r.finished_at - r.started_at as took
        )
        "#,
        r#"rows_read, rows_written, batches, attempts,
           coalesce(extract(epoch from took), 0)::double precision as "seconds!""#,
        run.status as RunStatus,
        run.job.map(|(id, _)| id),
        run.job.map(|(_, worker)| worker),
        run.error.map(|(class, _)| class) as Option<ErrorClass>,
        run.error.map(|(_, error)| error),
        run.if_complete,
    )
    .fetch_optional(connection)
    .await
}
