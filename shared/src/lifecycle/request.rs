//! Runs that clients ask for: a new one, the resting one, or a full one.
//!
//! read the pipeline → ask the domain → one statement queues the run, its first job and the log's entry (`store::status`).
//! A worker's queue fetches the job as soon as that is committed.

use sqlx::{Connection, PgConnection, PgPool};

use super::{Cause, Ending, LifecycleError, apply, lock, log_change, read, refuse_shared_target, status_change};
use crate::{
    domain::{
        Command, Cut, Decision, MaxRemoved, Mode, Pipeline, PipelineDraft, PipelineId, PipelineRef, Position, Run,
        RunId, RunStatus, Status, Trigger,
    },
    jobs::{self, BATCH_QUEUE, BatchJob, EnqueueError, MAX_RESCUES, Queued},
    store::{
        self,
        pipelines::{self, Seen},
        runs,
        status::{self, NewJob, StatusChange},
    },
};

pub(super) use crate::store::status::NewRun;

#[derive(Debug)]
pub struct RequestedRun {
    /// The run that was queued, resumed or found.
    pub run: Run,
    pub status: Status,
    pub already_active: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct WantedRun<'a> {
    pub trigger: Trigger,
    /// Repeating the request with this key finds the same run.
    pub idempotency_key: Option<&'a str>,
    /// Reads everything and removes what is gone, whatever the pipeline's mode.
    pub full: bool,
    /// May remove as many rows as the query does not return any more.
    pub allow_removal: bool,
    /// Where a new run is cut into ranges, in the order of their keys. Rows of one key of the target must be in one range: ranges are
    /// walked side by side. Cuts that the run does not reach, or cannot compare, are left out when it begins.
    pub cuts: &'a [Cut],
}

impl WantedRun<'_> {
    /// A run as its pipeline describes it.
    pub fn by(trigger: Trigger) -> Self {
        Self { trigger, idempotency_key: None, full: false, allow_removal: false, cuts: &[] }
    }

    fn mode(self, pipeline: &Pipeline) -> Mode {
        if self.full { Mode::Full } else { pipeline.draft.mode }
    }

    fn inputs(self, pipeline: &Pipeline) -> PipelineDraft {
        let mut inputs = pipeline.draft.clone();
        if self.allow_removal {
            inputs.options.max_removed = Some(MaxRemoved::EVERYTHING);
        }
        inputs
    }
}

/// How often a request is tried anew because the run that was in its way has just ended.
const ATTEMPTS: usize = 3;

/// Requests a run: a new one, the resting one, or the one that is under way. Repeating it changes nothing.
pub async fn request_run(
    db: &PgPool,
    pipeline: &PipelineRef,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut attempt = 1;
    let requested = loop {
        match request_once(&mut connection, pipeline, wanted, cause).await {
            Err(error) if error.is_target_busy() => {
                refuse_busy(&mut connection, pipeline).await?;
                if attempt == ATTEMPTS {
                    return Err(error);
                }
                attempt += 1;
            }
            requested => break requested?,
        }
    };
    store::flush(&mut connection).await?;
    Ok(requested)
}

/// Says whose run writes the pipeline's target, unless that has ended by now.
pub(super) async fn refuse_busy(connection: &mut PgConnection, pipeline: &PipelineRef) -> Result<(), LifecycleError> {
    let found = pipelines::find(connection, pipeline).await?;
    let found = found.ok_or_else(|| LifecycleError::NoPipeline(pipeline.clone()))?;
    let target = found.draft.final_target().0.to_owned();
    match runs::writer_of(connection, &target).await? {
        Some(writer) => Err(LifecycleError::TargetBusy { target, writer: writer.pipeline, status: writer.status }),
        None => Ok(()),
    }
}

/// Requests a run without holding a lock over round trips, as nearly every request can.
async fn request_once(
    connection: &mut PgConnection,
    pipeline: &PipelineRef,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    if wanted.idempotency_key.is_none() {
        let seen = read(connection, pipeline).await?;
        // A run that is resumed takes several statements.
        let stays = seen.pipeline.status.decide(Command::RequestRun) == Decision::Stay;
        if seen.run.is_some() == stays
            && let Some(requested) = request(connection, &seen, wanted, cause).await?
        {
            return Ok(requested);
        }
    }
    let mut tx = connection.begin().await?;
    let seen = lock(&mut tx, pipeline).await?;
    let requested = request(&mut tx, &seen, wanted, cause).await?.ok_or(LifecycleError::ChangedUnderLock)?;
    tx.commit().await?;
    Ok(requested)
}

/// Requests a run of a pipeline. Nothing if it is not as it was seen.
async fn request(
    connection: &mut PgConnection,
    seen: &Seen,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<Option<RequestedRun>, LifecycleError> {
    let pipeline = &seen.pipeline;
    if let Some(key) = wanted.idempotency_key
        && let Some(run) = runs::find_by_key(connection, pipeline.id, key).await?
    {
        return Ok(Some(RequestedRun { already_active: !run.status.is_final(), status: pipeline.status, run }));
    }
    if !pipeline.draft.enabled {
        return Err(LifecycleError::Disabled(pipeline.draft.name.clone()));
    }
    if wanted.allow_removal && wanted.mode(pipeline) == Mode::Incremental {
        return Err(LifecycleError::RemovesNothing(pipeline.draft.name.clone()));
    }
    refuse_another_run(seen, wanted)?;
    if wanted.full && pipeline.draft.mode == Mode::Incremental {
        refuse_shared_target(connection, pipeline).await?;
    }
    let (status, reason) = match pipeline.status {
        under_way @ (Status::RunRequested | Status::Running) => (under_way, None),
        Status::Idle | Status::Failed => (Status::RunRequested, Some("run requested")),
        Status::Paused => (Status::RunRequested, Some("resumed")),
        Status::PauseRequested => (Status::RunRequested, Some("pause withdrawn")),
    };
    let inputs = wanted.inputs(pipeline);
    let new = NewRun { cuts: wanted.cuts, ..new_run(seen, &inputs, wanted.mode(pipeline), wanted.trigger) };
    let Some(run) = ensure_run(connection, seen, new, reason, cause).await? else { return Ok(None) };
    if let Some(key) = wanted.idempotency_key {
        runs::remember_key(connection, pipeline.id, key, run.id).await?;
    }
    let already_active = matches!(pipeline.status, Status::RunRequested | Status::Running | Status::PauseRequested);
    Ok(Some(RequestedRun { run, status, already_active }))
}

/// A request for a full run, or for one that may remove rows, is not served by a run of another kind that goes on.
fn refuse_another_run(seen: &Seen, wanted: WantedRun<'_>) -> Result<(), LifecycleError> {
    let Some(run) = seen.run else { return Ok(()) };
    let lacks = match (wanted.full && run.mode != Mode::Full, wanted.allow_removal) {
        (true, _) => "is not a full run",
        (false, true) => "cannot be given `allow_removal` now",
        (false, false) => return Ok(()),
    };
    Err(LifecycleError::AnotherRun { run: run.id, pipeline: seen.pipeline.draft.name.clone(), lacks })
}

/// A run of a pipeline: a full one reads everything, an incremental one goes on where the last one stopped.
pub(super) fn new_run<'a>(seen: &'a Seen, inputs: &'a PipelineDraft, mode: Mode, trigger: Trigger) -> NewRun<'a> {
    let from = match mode {
        Mode::Full => None,
        Mode::Incremental => seen.checkpoint.as_ref(),
    };
    NewRun { inputs, mode, from, cuts: &[], trigger, repeats: None }
}

/// The unfinished run of the pipeline, or a new one; in either case every open range of it has a live job. Without a reason the
/// status stays. Nothing if the pipeline is not as it was seen, or its row must be locked first.
pub(super) async fn ensure_run(
    connection: &mut PgConnection,
    seen: &Seen,
    new: NewRun<'_>,
    reason: Option<&str>,
    cause: Cause<'_>,
) -> Result<Option<Run>, LifecycleError> {
    let Some(run) = seen.run else { return insert_run(connection, seen, new, reason, cause).await };
    if seen.edition.is_some() {
        let stays = reason.is_none() && run.status != RunStatus::Paused;
        return if stays { find_worked_on(connection, run.id).await } else { Ok(None) };
    }
    if reason.is_some() || run.status == RunStatus::Paused {
        apply(connection, seen, Command::RequestRun, reason, cause, Ending::default()).await?;
    }
    ensure_jobs(connection, seen.pipeline.id, run.id).await?;
    Ok(runs::find(connection, run.id).await?)
}

/// An unfinished run, if every open range of it has a live job.
async fn find_worked_on(connection: &mut PgConnection, run: RunId) -> Result<Option<Run>, LifecycleError> {
    if !runs::open_ranges(connection, run).await?.iter().all(|range| range.has_live_job) {
        return Ok(None);
    }
    Ok(runs::find(connection, run).await?.filter(|run| !run.status.is_final()))
}

/// Queues a new run with its first batch. Nothing if the pipeline is not as it was seen.
pub(super) async fn insert_run(
    connection: &mut PgConnection,
    seen: &Seen,
    new: NewRun<'_>,
    reason: Option<&str>,
    cause: Cause<'_>,
) -> Result<Option<Run>, LifecycleError> {
    let NewRun { mode, from, trigger, .. } = new;
    let (id, job_id, pipeline) = (RunId::generate(), jobs::new_id(), &seen.pipeline);
    let after = from.map(Position::after);
    let job = BatchJob { pipeline_id: pipeline.id, run_id: id, range: 0, batch: 0, after };
    let payload = serde_json::to_value(Queued::new(job, cause.correlation_id)).map_err(EnqueueError::from)?;
    let job = NewJob { id: &job_id, queue: BATCH_QUEUE, payload, max_attempts: MAX_RESCUES.into() };
    let change = StatusChange {
        run_id: Some(id),
        seen: seen.edition.as_ref(),
        ..status_change(pipeline.id, pipeline.status, Command::RequestRun, reason, cause)?
    };
    let Some(requested_at) = status::request(connection, &change, &new, &job).await? else { return Ok(None) };
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
        let job = BatchJob { pipeline_id, run_id, range: range.range_no, batch: range.next_batch, after: range.after };
        let job_id = jobs::enqueue(tx, Queued::new(job, &range.correlation_id)).await?;
        runs::set_job(tx, run_id, range.range_no, &job_id).await?;
    }
    Ok(())
}
