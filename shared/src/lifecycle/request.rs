//! Runs that clients ask for: a new one, the resting one, a full one, or an earlier one again.

use sqlx::{Connection, PgConnection, PgPool};

use super::{
    Cause, LifecycleError,
    enqueue::{Fresh, ensure_run, new_run},
    lock, read, refuse_shared_target,
};
use crate::{
    domain::{
        Command, Cut, Decision, IllegalTransition, MaxRemoved, Mode, Pipeline, PipelineDraft, PipelineRef, Run, RunId,
        Status, Trigger,
    },
    store::{
        self,
        pipelines::{self, Seen},
        runs,
    },
};

/// The answer to a run request.
#[derive(Debug)]
pub struct RequestedRun {
    /// The run that was queued, resumed or found.
    pub run: Run,
    /// Status of the pipeline now.
    pub status: Status,
    /// Whether an unfinished run was there already.
    pub already_active: bool,
}

/// What kind of run is asked for.
#[derive(Debug, Clone, Copy)]
pub struct WantedRun<'a> {
    /// What asks for it.
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

    /// What the run executes.
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
        match try_request(&mut connection, pipeline, wanted, cause).await {
            Err(error) if error.is_target_busy() => {
                let target = target_of(&mut connection, pipeline).await?;
                refuse_busy(&mut connection, target).await?;
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

async fn target_of(connection: &mut PgConnection, pipeline: &PipelineRef) -> Result<String, LifecycleError> {
    let found = pipelines::find(connection, pipeline).await?;
    let found = found.ok_or_else(|| LifecycleError::NoPipeline(pipeline.clone()))?;
    Ok(found.draft.final_target().0.to_owned())
}

/// Says whose run writes the target, unless that has ended by now.
async fn refuse_busy(connection: &mut PgConnection, target: String) -> Result<(), LifecycleError> {
    match runs::writer_of(connection, &target).await? {
        Some(writer) => Err(LifecycleError::TargetBusy { target, writer: writer.pipeline, status: writer.status }),
        None => Ok(()),
    }
}

/// Requests a run without holding a lock over round trips, as nearly every request can.
async fn try_request(
    connection: &mut PgConnection,
    pipeline: &PipelineRef,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    if wanted.idempotency_key.is_none() {
        let seen = read(connection, pipeline).await?;
        // A run that is there takes several statements. Where the status stays, the row says nothing about runs.
        if seen.run.is_none()
            && seen.pipeline.status.decide(Command::RequestRun) != Decision::Stay
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
    let fresh = Fresh { cuts: wanted.cuts, ..Fresh::new(seen, &inputs, wanted.mode(pipeline), wanted.trigger) };
    let Some(run) = ensure_run(connection, seen, fresh, reason, cause).await? else { return Ok(None) };
    if let Some(key) = wanted.idempotency_key {
        runs::remember_key(connection, pipeline.id, key, run.id).await?;
    }
    let already_active = matches!(pipeline.status, Status::RunRequested | Status::Running | Status::PauseRequested);
    Ok(Some(RequestedRun { run, status, already_active }))
}

/// A request for a full run, or for one that may remove rows, is not served by a run of another kind that goes on.
fn refuse_another_run(seen: &Seen, wanted: WantedRun<'_>) -> Result<(), LifecycleError> {
    match seen.run {
        Some(run) if wanted.allow_removal || wanted.full && run.mode != Mode::Full => {
            Err(LifecycleError::AnotherRun { run: run.id, pipeline: seen.pipeline.draft.name.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Requests a new run with the inputs of an earlier one: its configuration and where it began. It moves the pipeline's
/// checkpoint only if that was not forgotten since the earlier run was requested.
pub async fn run_again(db: &PgPool, earlier: RunId, cause: Cause<'_>) -> Result<RequestedRun, LifecycleError> {
    let mut connection = db.acquire().await?;
    let requested = match try_again(&mut connection, earlier, cause).await {
        Err(error) if error.is_target_busy() => {
            let found = runs::find(&mut connection, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
            let target = target_of(&mut connection, &found.pipeline_id.into()).await?;
            refuse_busy(&mut connection, target).await?;
            try_again(&mut connection, earlier, cause).await?
        }
        requested => requested?,
    };
    store::flush(&mut connection).await?;
    Ok(requested)
}

async fn try_again(
    connection: &mut PgConnection,
    earlier: RunId,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let mut tx = connection.begin().await?;
    let found = runs::find(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    let seen = lock(&mut tx, &found.pipeline_id.into()).await?;
    let Pipeline { draft, status, .. } = &seen.pipeline;
    if !draft.enabled {
        return Err(LifecycleError::Disabled(draft.name.clone()));
    }
    if status.has_unfinished_run() {
        return Err(IllegalTransition { from: *status, command: Command::RequestRun }.into());
    }
    let mut inputs = runs::inputs(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    // What the earlier run was allowed to remove was allowed once.
    inputs.options.max_removed = draft.options.max_removed;
    refuse_changed(earlier, &inputs, draft)?;
    if found.mode == Mode::Full && inputs.mode == Mode::Incremental {
        refuse_shared_target(&mut tx, &seen.pipeline).await?;
    }
    // It begins where the earlier one did, or before that where the checkpoint was moved back since, because rows were read
    // again. It must not be moved over rows that are still to be read.
    let from = found.checkpoint_from.map(|from| match &seen.checkpoint {
        Some(now) => from.or_before(now.clone()),
        None => from,
    });
    let fresh = Fresh {
        inputs: &inputs,
        mode: found.mode,
        from: from.as_ref(),
        cuts: &[],
        trigger: Trigger::Again,
        repeats: Some(earlier),
    };
    let reason = format!("run {earlier} again");
    let run = new_run(&mut tx, &seen, fresh, Some(&reason), cause).await?;
    let run = run.ok_or(LifecycleError::ChangedUnderLock)?;
    tx.commit().await?;
    Ok(RequestedRun { run, status: Status::RunRequested, already_active: false })
}

/// A repeated run writes the pipeline's target and moves its checkpoint, which must mean the same to the runs that follow.
fn refuse_changed(run: RunId, inputs: &PipelineDraft, draft: &PipelineDraft) -> Result<(), LifecycleError> {
    let walk = |draft: &PipelineDraft| -> Vec<String> {
        draft.incremental_key.iter().chain(&draft.incremental_id_key).map(|name| format!("`{name}`")).collect()
    };
    let (then, now) = (walk(inputs), walk(draft));
    let pipeline = draft.name.clone();
    if inputs.mode == Mode::Incremental && draft.mode == Mode::Incremental && then != now {
        let (then, now) = (then.join(", "), now.join(", "));
        return Err(LifecycleError::WalksOtherwise { run, then, pipeline, now });
    }
    let differs = draft.differs_from_run(inputs);
    if differs.is_empty() { Ok(()) } else { Err(LifecycleError::ChangedSince { run, differs, pipeline }) }
}
