//! Runs that clients ask for: a new one, the resting one, a full one, or an earlier one again.

use sqlx::{Connection, PgConnection, PgPool};

use super::{Cause, LifecycleError, RUN_REQUESTED, change, enqueue, lock, refuse_shared_target};
use crate::{
    domain::{
        Checkpoint, Command, IllegalTransition, MaxRemoved, Mode, Pipeline, PipelineDraft, PipelineRef, Run, RunId,
        Status, Trigger,
    },
    store::{self, pipelines, runs, state},
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
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedRun<'a> {
    /// Repeating the request with this key finds the same run.
    pub idempotency_key: Option<&'a str>,
    /// Reads everything and removes what is gone, whatever the pipeline's mode.
    pub full: bool,
    /// May remove as many rows as the query does not return any more.
    pub allow_removal: bool,
}

impl WantedRun<'_> {
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
    idempotency_key: Option<&str>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    request_run_as(db, pipeline, WantedRun { idempotency_key, ..WantedRun::default() }, cause).await
}

/// Requests a run of the wanted kind.
pub async fn request_run_as(
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

async fn try_request(
    connection: &mut PgConnection,
    pipeline: &PipelineRef,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let WantedRun { idempotency_key, full, allow_removal } = wanted;
    if idempotency_key.is_none()
        && !full
        && !allow_removal
        && let Some(requested) = request_at_once(connection, pipeline, cause).await?
    {
        return Ok(requested);
    }
    let mut tx = connection.begin().await?;
    let requested = request(&mut tx, pipeline, wanted, cause).await?;
    tx.commit().await?;
    Ok(requested)
}

/// Requests a new run without holding a lock over round trips, as nearly every request can. If anything else is to be
/// done, or somebody does something to the pipeline meanwhile, nothing was changed, and [`request`] finds out.
async fn request_at_once(
    connection: &mut PgConnection,
    pipeline: &PipelineRef,
    cause: Cause<'_>,
) -> Result<Option<RequestedRun>, LifecycleError> {
    let Some((pipeline, seen)) = pipelines::look(connection, pipeline).await? else { return Ok(None) };
    if !pipeline.draft.enabled || !matches!(pipeline.status, Status::Idle | Status::Failed) {
        return Ok(None);
    }
    let run = enqueue::request_at_once(connection, &pipeline, &seen, cause).await?;
    Ok(run.map(|run| RequestedRun { run, status: Status::RunRequested, already_active: false }))
}

async fn request(
    tx: &mut PgConnection,
    pipeline: &PipelineRef,
    wanted: WantedRun<'_>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let pipeline = lock(tx, pipeline).await?;
    if let Some(key) = wanted.idempotency_key
        && let Some(run) = runs::find_by_key(tx, pipeline.id, key).await?
    {
        return Ok(RequestedRun { already_active: !run.status.is_final(), status: pipeline.status, run });
    }
    if !pipeline.draft.enabled {
        return Err(LifecycleError::Disabled(pipeline.draft.name));
    }
    refuse_another_run(tx, &pipeline, wanted).await?;
    if wanted.full && pipeline.draft.mode == Mode::Incremental {
        refuse_shared_target(tx, &pipeline).await?;
    }
    let already_active = matches!(pipeline.status, Status::RunRequested | Status::Running | Status::PauseRequested);
    let (inputs, mode) = (wanted.inputs(&pipeline), wanted.mode(&pipeline));
    let run = enqueue::ensure_run(tx, &pipeline, &inputs, mode, Trigger::Api, cause).await?;
    if let Some(key) = wanted.idempotency_key {
        runs::remember_key(tx, pipeline.id, key, run.id).await?;
    }
    let status = match pipeline.status {
        under_way @ (Status::RunRequested | Status::Running) => under_way,
        Status::Idle | Status::Failed => {
            change(tx, &pipeline, Command::RequestRun, Some(run.id), RUN_REQUESTED, cause).await?
        }
        Status::Paused => change(tx, &pipeline, Command::RequestRun, Some(run.id), "resumed", cause).await?,
        Status::PauseRequested => {
            change(tx, &pipeline, Command::RequestRun, Some(run.id), "pause withdrawn", cause).await?
        }
    };
    Ok(RequestedRun { run, status, already_active })
}

/// Whoever asks for a full run, or allows it to remove rows, is not served by a run of another kind that goes on.
async fn refuse_another_run(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    wanted: WantedRun<'_>,
) -> Result<(), LifecycleError> {
    if !wanted.full && !wanted.allow_removal {
        return Ok(());
    }
    let Some(run) = runs::find_active(tx, pipeline.id).await? else { return Ok(()) };
    if !wanted.allow_removal && run.mode == Mode::Full {
        return Ok(());
    }
    Err(LifecycleError::AnotherRun { run: run.id, pipeline: pipeline.draft.name.clone() })
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
    let pipeline = lock(&mut tx, &found.pipeline_id.into()).await?;
    if !pipeline.draft.enabled {
        return Err(LifecycleError::Disabled(pipeline.draft.name));
    }
    if pipeline.status.has_unfinished_run() {
        return Err(IllegalTransition { from: pipeline.status, command: Command::RequestRun }.into());
    }
    let mut inputs = runs::inputs(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    // What the earlier run was allowed to remove was allowed once.
    inputs.options.max_removed = pipeline.draft.options.max_removed;
    refuse_changed(earlier, &inputs, &pipeline.draft)?;
    if found.mode == Mode::Full && inputs.mode == Mode::Incremental {
        refuse_shared_target(&mut tx, &pipeline).await?;
    }
    let from = first_of(found.checkpoint_from, &pipeline, &mut tx).await?;
    let fresh = enqueue::Fresh {
        inputs: &inputs,
        mode: found.mode,
        from: from.as_ref(),
        trigger: Trigger::Again,
        repeats: Some(earlier),
    };
    let run = enqueue::new_run(&mut tx, &pipeline, fresh, cause).await?;
    let reason = format!("run {earlier} again");
    let status = change(&mut tx, &pipeline, Command::RequestRun, Some(run.id), &reason, cause).await?;
    tx.commit().await?;
    Ok(RequestedRun { run, status, already_active: false })
}

/// Where a repeated run begins: where the earlier one did, or before that where the checkpoint was moved back since, because
/// rows were read again. It must not be moved over rows that are still to be read.
async fn first_of(
    earlier: Option<Checkpoint>,
    pipeline: &Pipeline,
    tx: &mut PgConnection,
) -> Result<Option<Checkpoint>, LifecycleError> {
    let Some(from) = earlier else { return Ok(None) };
    let now = state::find(tx, pipeline.id).await?.map(|state| state.checkpoint);
    Ok(Some(match now {
        Some(now) => from.or_before(now),
        None => from,
    }))
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
