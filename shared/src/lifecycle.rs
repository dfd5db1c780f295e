//! The only code that changes the status of a pipeline.
//!
//! lock the row → ask the domain → write the run and its job → write the status → log the transition,
//! in one transaction, so that status, history and queue can never disagree. The commit of such a transaction does not
//! wait for the disk, because others would wait with it; who answers a client waits afterwards.

mod enqueue;
pub mod execution;
mod recovery;

use sqlx::{Connection, PgConnection, PgPool};

use crate::{
    domain::{
        Command, IllegalTransition, Mode, Pipeline, PipelineDraft, PipelineRef, Run, RunId, RunStatus, Status, Trigger,
        error_class::without_values,
    },
    jobs::EnqueueError,
    store::{
        self, backends, horizon, pipelines, runs, state,
        transitions::{self, NewTransition},
    },
};

pub use execution::give_up;
pub use recovery::recover;

/// Why a pipeline is to run.
const RUN_REQUESTED: &str = "run requested";

/// Who wants something, and the request it came with.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    /// Name of the token, or of the part of Vitrina.
    pub actor: &'a str,
    /// Carried from the request to the last batch.
    pub correlation_id: &'a str,
}

/// Why a pipeline's status did not change.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// There is no such pipeline.
    #[error("there is no pipeline `{0}`")]
    NoPipeline(PipelineRef),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(RunId),
    /// It may not run.
    #[error("pipeline `{0}` is disabled: enable it before running it")]
    Disabled(String),
    /// The checkpoint of that run is none of the pipeline's any more.
    #[error("run {run} walked by {then}, and pipeline `{pipeline}` walks by {now}: run the pipeline as it is now")]
    WalksOtherwise {
        /// The run that was to be repeated.
        run: RunId,
        /// Its columns.
        then: String,
        /// The pipeline.
        pipeline: String,
        /// Its columns now.
        now: String,
    },
    /// The command makes no sense now.
    #[error("{transition}{}", advice(.transition))]
    Illegal {
        /// What was asked of which status.
        #[from]
        transition: IllegalTransition,
    },
    /// The job could not be queued.
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    /// The database refused or is away.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// What would help instead.
fn advice(refused: &IllegalTransition) -> &'static str {
    match (refused.command, refused.from.has_unfinished_run()) {
        (Command::Reset, true) => ": cancel its run first",
        (Command::RequestPause | Command::Cancel, false) => ": it has no run in progress",
        (Command::RequestRun, true) => ": its run is not finished",
        (Command::Reset | Command::RequestRun, false)
        | (Command::RequestPause | Command::Cancel, true)
        | (Command::Claim | Command::ConfirmPause | Command::Finish | Command::Fail, _) => "",
    }
}

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

/// What cancelling a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled {
    /// Status of the pipeline now.
    pub status: Status,
    /// Statements that were cancelled on the server.
    pub statements: u64,
}

/// Requests a run: a new one, the resting one, or the one that is under way. Repeating it changes nothing.
pub async fn request_run(
    db: &PgPool,
    pipeline: &PipelineRef,
    idempotency_key: Option<&str>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let mut connection = db.acquire().await?;
    let at_once = match idempotency_key {
        None => request_at_once(&mut connection, pipeline, cause).await?,
        Some(_) => None,
    };
    let requested = match at_once {
        Some(requested) => requested,
        None => {
            let mut tx = connection.begin().await?;
            let requested = request(&mut tx, pipeline, idempotency_key, cause).await?;
            tx.commit().await?;
            requested
        }
    };
    store::flush(&mut connection).await?;
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
    idempotency_key: Option<&str>,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let pipeline = lock(tx, pipeline).await?;
    if let Some(key) = idempotency_key
        && let Some(run) = runs::find_by_key(tx, pipeline.id, key).await?
    {
        return Ok(RequestedRun { already_active: !run.status.is_final(), status: pipeline.status, run });
    }
    if !pipeline.draft.enabled {
        return Err(LifecycleError::Disabled(pipeline.draft.name));
    }
    let already_active = matches!(pipeline.status, Status::RunRequested | Status::Running | Status::PauseRequested);
    let run = enqueue::ensure_run(tx, &pipeline, Trigger::Api, cause).await?;
    if let Some(key) = idempotency_key {
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

/// Requests a new run with the inputs of an earlier one: its configuration and where it began.
pub async fn run_again(db: &PgPool, earlier: RunId, cause: Cause<'_>) -> Result<RequestedRun, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let found = runs::find(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    let pipeline = lock(&mut tx, &found.pipeline_id.into()).await?;
    if !pipeline.draft.enabled {
        return Err(LifecycleError::Disabled(pipeline.draft.name));
    }
    if pipeline.status.has_unfinished_run() {
        return Err(IllegalTransition { from: pipeline.status, command: Command::RequestRun }.into());
    }
    let inputs = runs::inputs(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    refuse_other_walk(earlier, &inputs, &pipeline.draft)?;
    let run =
        enqueue::new_run(&mut tx, &pipeline, &inputs, found.checkpoint_from.as_ref(), Trigger::Again, cause).await?;
    let reason = format!("run {earlier} again");
    let status = change(&mut tx, &pipeline, Command::RequestRun, Some(run.id), &reason, cause).await?;
    tx.commit().await?;
    store::flush(&mut connection).await?;
    Ok(RequestedRun { run, status, already_active: false })
}

/// A repeated run moves the pipeline's checkpoint, which must mean the same to the runs that follow.
fn refuse_other_walk(run: RunId, inputs: &PipelineDraft, draft: &PipelineDraft) -> Result<(), LifecycleError> {
    let walk = |draft: &PipelineDraft| -> Vec<String> {
        draft.incremental_key.iter().chain(&draft.incremental_id_key).map(|name| format!("`{name}`")).collect()
    };
    let (then, now) = (walk(inputs), walk(draft));
    if inputs.mode == Mode::Full || draft.mode == Mode::Full || then == now {
        return Ok(());
    }
    let (then, now) = (then.join(", "), now.join(", "));
    Err(LifecycleError::WalksOtherwise { run, then, pipeline: draft.name.clone(), now })
}

/// Requests a pause after the current batch. Returns the status; repeating it changes nothing.
pub async fn request_pause(db: &PgPool, pipeline: &PipelineRef, cause: Cause<'_>) -> Result<Status, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let pipeline = lock(&mut tx, pipeline).await?;
    if matches!(pipeline.status, Status::PauseRequested | Status::Paused) {
        return Ok(pipeline.status);
    }
    let status = pause(&mut tx, &pipeline, "pause requested", cause).await?;
    tx.commit().await?;
    store::flush(&mut connection).await?;
    Ok(status)
}

/// Requests a pause within the caller's transaction, on a pipeline that the caller has locked.
pub(crate) async fn pause(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    reason: &str,
    cause: Cause<'_>,
) -> Result<Status, LifecycleError> {
    let run = runs::find_active(tx, pipeline.id).await?;
    change(tx, pipeline, Command::RequestPause, run.map(|run| run.id), reason, cause).await
}

/// Ends the unfinished run at once: a batch that is being written does not commit, and its statement is cancelled on the
/// server.
pub async fn cancel(db: &PgPool, pipeline: &PipelineRef, cause: Cause<'_>) -> Result<Cancelled, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let pipeline = lock(&mut tx, pipeline).await?;
    pipeline.status.apply(Command::Cancel)?;
    let run = runs::find_active(&mut tx, pipeline.id).await?;
    if let Some(run) = &run {
        runs::end(&mut tx, run.id, RunStatus::Cancelled).await?;
        runs::withdraw_jobs(&mut tx, run.id, "the run was cancelled").await?;
    }
    let run = run.map(|run| run.id);
    let status = change(&mut tx, &pipeline, Command::Cancel, run, "cancelled", cause).await?;
    tx.commit().await?;
    let statements = match run {
        Some(run) => cancel_statements(&mut connection, run).await,
        None => 0,
    };
    store::flush(&mut connection).await?;
    Ok(Cancelled { status, statements })
}

/// Ends what the server executes for a run that has ended. Where that fails, the worker's maintenance does it. Returns how
/// many statements.
async fn cancel_statements(connection: &mut PgConnection, run: RunId) -> u64 {
    match backends::cancel(connection, run.0).await {
        Ok(statements) => {
            tracing::info!(run_id = %run, statements, "cancelled what the server executes for the run");
            statements
        }
        Err(error) => {
            tracing::warn!(run_id = %run, error = %error, "the run's statements could not be cancelled");
            0
        }
    }
}

/// Forgets the checkpoint, so that the next run begins at the beginning. Returns the status.
pub async fn reset(db: &PgPool, pipeline: &PipelineRef, cause: Cause<'_>) -> Result<Status, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let pipeline = lock(&mut tx, pipeline).await?;
    let status = forget_checkpoint(&mut tx, &pipeline, "checkpoint forgotten", cause).await?;
    tx.commit().await?;
    store::flush(&mut connection).await?;
    Ok(status)
}

/// Forgets the checkpoint within the caller's transaction, of a pipeline that the caller has locked.
pub(crate) async fn forget_checkpoint(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    reason: &str,
    cause: Cause<'_>,
) -> Result<Status, LifecycleError> {
    pipeline.status.apply(Command::Reset)?;
    state::forget(tx, pipeline.id).await?;
    horizon::forget(tx, pipeline.id).await?;
    change(tx, pipeline, Command::Reset, None, reason, cause).await
}

async fn lock(tx: &mut PgConnection, pipeline: &PipelineRef) -> Result<Pipeline, LifecycleError> {
    pipelines::lock(tx, pipeline).await?.ok_or_else(|| LifecycleError::NoPipeline(pipeline.clone()))
}

/// The one function that writes a status: asks the domain, writes, logs.
async fn change(
    tx: &mut PgConnection,
    pipeline: &Pipeline,
    command: Command,
    run_id: Option<RunId>,
    reason: &str,
    cause: Cause<'_>,
) -> Result<Status, LifecycleError> {
    let transition = transition(pipeline, command, run_id, reason, cause)?;
    transitions::write(tx, &transition).await?;
    tell(&transition);
    Ok(transition.to)
}

/// The change of status that a command makes, if the domain allows it.
fn transition<'a>(
    pipeline: &'a Pipeline,
    command: Command,
    run_id: Option<RunId>,
    reason: &'a str,
    cause: Cause<'a>,
) -> Result<NewTransition<'a>, IllegalTransition> {
    Ok(NewTransition {
        pipeline_id: pipeline.id,
        pipeline: &pipeline.draft.name,
        run_id,
        from: pipeline.status,
        to: pipeline.status.apply(command)?,
        actor: cause.actor,
        reason,
        correlation_id: Some(cause.correlation_id),
    })
}

/// One line for every change of a status.
fn tell(transition: &NewTransition<'_>) {
    tracing::info!(
        pipeline = transition.pipeline,
        pipeline_id = %transition.pipeline_id,
        run_id = transition.run_id.map(tracing::field::display),
        from = %transition.from,
        to = %transition.to,
        actor = transition.actor,
        reason = %without_values(transition.reason),
        "transition",
    );
}
