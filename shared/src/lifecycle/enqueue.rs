//! Runs and their jobs, written in the transaction of the transition that wants them.

use sqlx::PgConnection;

use super::{Cause, LifecycleError, RUN_REQUESTED, tell, transition};
use crate::{
    domain::{Checkpoint, Command, Mode, Pipeline, PipelineDraft, Position, Run, RunId, RunStatus, Trigger},
    jobs::{self, BATCH_QUEUE, BatchJob, EnqueueError, MAX_RESCUES, trace_context},
    store::{pipelines::Edition, runs, state},
};

/// A run that there is not yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fresh<'a> {
    /// What it executes.
    pub inputs: &'a PipelineDraft,
    /// How it walks.
    pub mode: Mode,
    /// Where it begins.
    pub from: Option<&'a Checkpoint>,
    /// What asked for it.
    pub trigger: Trigger,
    /// The run that it repeats.
    pub repeats: Option<RunId>,
}

/// The unfinished run of the pipeline, or a new one; in either case every open range of it has a live job.
pub(super) async fn ensure_run(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    inputs: &PipelineDraft,
    mode: Mode,
    trigger: Trigger,
    cause: Cause<'_>,
) -> Result<Run, LifecycleError> {
    let Some(run) = runs::find_active(tx, pipeline.id).await? else {
        let from = first_checkpoint(tx, pipeline, mode).await?;
        let fresh = Fresh { inputs, mode, from: from.as_ref(), trigger, repeats: None };
        return new_run(tx, pipeline, fresh, cause).await;
    };
    if run.status == RunStatus::Paused {
        runs::requeue(tx, run.id).await?;
    }
    ensure_jobs(tx, pipeline, run.id).await?;
    read_back(tx, run.id).await
}

/// A full run reads everything; an incremental one goes on where the last one stopped.
async fn first_checkpoint(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    mode: Mode,
) -> Result<Option<Checkpoint>, LifecycleError> {
    match mode {
        Mode::Full => Ok(None),
        Mode::Incremental => Ok(state::find(tx, pipeline.id).await?.map(|state| state.checkpoint)),
    }
}

/// Queues a new run with its first batch.
pub(super) async fn new_run(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    fresh: Fresh<'_>,
    cause: Cause<'_>,
) -> Result<Run, LifecycleError> {
    let (id, job_id) = (RunId::generate(), jobs::new_id());
    let run = prepare(pipeline, id, &job_id, fresh, cause)?;
    let requested_at = runs::insert(tx, &run).await?;
    Ok(Run::queued(id, pipeline, fresh.mode, fresh.trigger, requested_at, fresh.from.cloned()))
}

/// Requests a run of a pipeline that is not locked, in one statement, if the pipeline is still as it was seen and has no
/// unfinished run. If not, nothing was changed.
pub(super) async fn request_at_once(
    connection: &mut PgConnection,
    pipeline: &Pipeline,
    seen: &Edition,
    cause: Cause<'_>,
) -> Result<Option<Run>, LifecycleError> {
    let (inputs, mode) = (&pipeline.draft, pipeline.draft.mode);
    let from = first_checkpoint(connection, pipeline, mode).await?;
    let (id, job_id) = (RunId::generate(), jobs::new_id());
    let fresh = Fresh { inputs, mode, from: from.as_ref(), trigger: Trigger::Api, repeats: None };
    let run = prepare(pipeline, id, &job_id, fresh, cause)?;
    let transition = transition(pipeline, Command::RequestRun, Some(id), RUN_REQUESTED, cause)?;
    let Some(requested_at) = runs::request(connection, &run, &transition, seen).await? else { return Ok(None) };
    tell(&transition);
    Ok(Some(Run::queued(id, pipeline, mode, Trigger::Api, requested_at, from)))
}

/// A run about to be queued, with the job of its first batch.
fn prepare<'a>(
    pipeline: &Pipeline,
    id: RunId,
    job_id: &'a str,
    fresh: Fresh<'a>,
    cause: Cause<'a>,
) -> Result<runs::NewRun<'a>, EnqueueError> {
    let Fresh { inputs, mode, from, trigger, repeats } = fresh;
    let job = BatchJob {
        pipeline_id: pipeline.id,
        run_id: id,
        range: 0,
        batch: 0,
        after: from.map(Position::after),
        attempt: 0,
        lost: 0,
        queued_us: None,
        correlation_id: cause.correlation_id.to_owned(),
        traceparent: trace_context::current(),
    };
    let payload = serde_json::to_value(&job)?;
    Ok(runs::NewRun {
        id,
        pipeline_id: pipeline.id,
        trigger,
        requested_by: cause.actor,
        correlation_id: cause.correlation_id,
        mode,
        inputs,
        repeats,
        from,
        job: runs::NewJob { id: job_id, queue: BATCH_QUEUE, payload, max_attempts: MAX_RESCUES.into() },
    })
}

/// Gives a job to every open range of the run that has none. Returns how many.
pub(super) async fn ensure_jobs(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    run_id: RunId,
) -> Result<usize, LifecycleError> {
    let mut queued = 0;
    for range in runs::open_ranges(tx, run_id).await? {
        if range.has_live_job {
            continue;
        }
        let job = BatchJob {
            pipeline_id: pipeline.id,
            run_id,
            range: range.range_no,
            batch: range.next_batch,
            after: range.after,
            attempt: 0,
            lost: 0,
            queued_us: None,
            correlation_id: range.correlation_id,
            traceparent: trace_context::current(),
        };
        let job_id = jobs::enqueue(tx, &job).await?;
        runs::set_job(tx, run_id, range.range_no, &job_id).await?;
        queued += 1;
    }
    Ok(queued)
}

async fn read_back(tx: &mut PgConnection, run: RunId) -> Result<Run, LifecycleError> {
    runs::find(tx, run).await?.ok_or(LifecycleError::NoRun(run))
}
