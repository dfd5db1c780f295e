//! Runs and their jobs, written with the transition that wants them.

use sqlx::PgConnection;

use super::{Cause, Ending, LifecycleError, apply, log_change, status_change};
use crate::{
    domain::{Checkpoint, Command, Cut, Mode, PipelineDraft, PipelineId, Position, Run, RunId, RunStatus, Trigger},
    jobs::{self, BATCH_QUEUE, BatchJob, EnqueueError, MAX_RESCUES, trace_context},
    store::{
        pipelines::Seen,
        runs,
        status::{self, NewJob, NewRun, StatusChange},
    },
};

/// A run that there is not yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fresh<'a> {
    pub inputs: &'a PipelineDraft,
    pub mode: Mode,
    pub from: Option<&'a Checkpoint>,
    /// Where it is cut into ranges.
    pub cuts: &'a [Cut],
    /// What asked for it.
    pub trigger: Trigger,
    /// The run that it repeats.
    pub repeats: Option<RunId>,
}

impl<'a> Fresh<'a> {
    /// A run of a pipeline: a full one reads everything, an incremental one goes on where the last one stopped.
    pub(super) fn new(seen: &'a Seen, inputs: &'a PipelineDraft, mode: Mode, trigger: Trigger) -> Self {
        let from = match mode {
            Mode::Full => None,
            Mode::Incremental => seen.checkpoint.as_ref(),
        };
        Self { inputs, mode, from, cuts: &[], trigger, repeats: None }
    }
}

/// The unfinished run of the pipeline, whose row must be locked then, or a new one; in either case every open range of it has a
/// live job. Without a reason the status stays. Nothing if the pipeline is not as it was seen.
pub(super) async fn ensure_run(
    connection: &mut PgConnection,
    seen: &Seen,
    fresh: Fresh<'_>,
    reason: Option<&str>,
    cause: Cause<'_>,
) -> Result<Option<Run>, LifecycleError> {
    let Some(run) = seen.run else { return new_run(connection, seen, fresh, reason, cause).await };
    if reason.is_some() || run.status == RunStatus::Paused {
        apply(connection, seen, Command::RequestRun, reason, cause, Ending::default()).await?;
    }
    ensure_jobs(connection, seen.pipeline.id, run.id).await?;
    Ok(runs::find(connection, run.id).await?)
}

/// Queues a new run with its first batch. Nothing if the pipeline is not as it was seen.
pub(super) async fn new_run(
    connection: &mut PgConnection,
    seen: &Seen,
    fresh: Fresh<'_>,
    reason: Option<&str>,
    cause: Cause<'_>,
) -> Result<Option<Run>, LifecycleError> {
    let Fresh { inputs, mode, from, cuts, trigger, repeats } = fresh;
    let (id, job_id, pipeline) = (RunId::generate(), jobs::new_id(), &seen.pipeline);
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
    let payload = serde_json::to_value(&job).map_err(EnqueueError::from)?;
    let job = NewJob { id: &job_id, queue: BATCH_QUEUE, payload, max_attempts: MAX_RESCUES.into() };
    let run = NewRun { trigger, mode, inputs, repeats, from, cuts, job };
    let change = StatusChange {
        run_id: Some(id),
        seen: seen.edition.as_ref(),
        ..status_change(pipeline.id, pipeline.status, Command::RequestRun, reason, cause)?
    };
    let Some(requested_at) = status::request(connection, &change, &run).await? else { return Ok(None) };
    log_change(&pipeline.draft.name, &change);
    Ok(Some(Run::queued(id, pipeline, mode, trigger, requested_at, from.cloned())))
}

/// Gives a job to every open range of the run that has none.
pub(super) async fn ensure_jobs(
    tx: &mut PgConnection,
    pipeline_id: PipelineId,
    run_id: RunId,
) -> Result<(), LifecycleError> {
    for range in runs::open_ranges(tx, run_id).await? {
        if range.has_live_job {
            continue;
        }
        let job = BatchJob {
            pipeline_id,
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
    }
    Ok(())
}
