//! The only code that changes the status of a pipeline.
//!
//! lock the row → ask the domain → write the run and its job → write the status → log the transition,
//! in one transaction, so that status, history and queue can never disagree. The commit of such a transaction does not
//! wait for the disk, because others would wait with it; who answers a client waits afterwards.

mod enqueue;
pub mod execution;
mod recovery;
mod refusal;
mod request;
mod shared_target;

use sqlx::{Connection, PgConnection, PgPool};

use crate::{
    domain::{
        Command, IllegalTransition, Pipeline, PipelineRef, RunId, RunStatus, Status, error_class::without_values,
    },
    store::{
        self, backends, horizon, pipelines, runs, state,
        transitions::{self, NewTransition},
    },
};

pub use execution::give_up;
pub use recovery::recover;
pub use refusal::LifecycleError;
pub use request::{RequestedRun, WantedRun, request_run, request_run_as, run_again};
pub use shared_target::{forget_others, refuse_shared_target};

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

/// What cancelling a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled {
    /// Status of the pipeline now.
    pub status: Status,
    /// Statements that were cancelled on the server.
    pub statements: u64,
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
