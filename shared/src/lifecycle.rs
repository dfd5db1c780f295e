//! The only code that changes the status of a pipeline.
//!
//! read what is there → ask the domain → one statement applies everything, or nothing if the row has changed since → read again,
//!
//! so that status, run, queue and log can never disagree. A row is read without a lock where one statement is all that follows;
//! otherwise, and after a statement that changed nothing, it is locked first, and then the same statement always applies.
//! The commit of a transition does not wait for the disk, because other transactions would wait with it; callers that answer a client wait
//! for the flush afterwards.
//!
//! What follows from a transition reads the log by `id > cursor`. Nothing hangs on the code that writes it.

mod again;
pub mod execution;
pub mod hooks;
mod recovery;
mod refusal;
mod request;
mod shared_target;

use sqlx::{Connection, PgConnection, PgPool};

use crate::{
    domain::{
        Command, Decision, ErrorClass, IllegalTransition, Pipeline, PipelineId, PipelineRef, RunId, Status,
        error_class::without_values,
    },
    store::{
        self, backends, horizon,
        pipelines::{self, Seen},
        runs, state,
        status::{self, RunChange, StatusChange},
    },
};

pub use again::run_again;
pub use execution::give_up;
pub use recovery::recover;
pub use refusal::LifecycleError;
pub use request::{RequestedRun, WantedRun, request_run};
pub use shared_target::{forget_others, other_writer, others_have_checkpoints, refuse_shared_target};

/// The actor behind a change, and the request it came with.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    /// Name of the token, or of the part of Vitrina.
    pub actor: &'a str,
    /// Carried from the request to the last batch.
    pub correlation_id: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled {
    pub status: Status,
    pub statements: u64,
}

/// Requests a pause after the current batch. Returns the status; repeating it changes nothing.
pub async fn request_pause(db: &PgPool, pipeline: &PipelineRef, cause: Cause<'_>) -> Result<Status, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let status = pause(&mut tx, pipeline, "pause requested", cause).await?;
    tx.commit().await?;
    store::flush(&mut connection).await?;
    Ok(status)
}

/// Requests a pause within the caller's transaction.
pub(crate) async fn pause(
    tx: &mut PgConnection,
    pipeline: &PipelineRef,
    reason: &str,
    cause: Cause<'_>,
) -> Result<Status, LifecycleError> {
    let seen = lock(tx, pipeline).await?;
    match seen.pipeline.status.decide(Command::RequestPause) {
        Decision::Change(_) => change(tx, &seen, Command::RequestPause, reason, cause).await,
        Decision::Stay | Decision::Drop => Ok(seen.pipeline.status),
    }
}

/// Ends the unfinished run at once: a batch in hand does not commit, and its statement is cancelled.
pub async fn cancel(db: &PgPool, pipeline: &PipelineRef, cause: Cause<'_>) -> Result<Cancelled, LifecycleError> {
    let mut connection = db.acquire().await?;
    let mut tx = connection.begin().await?;
    let seen = lock(&mut tx, pipeline).await?;
    let status = change(&mut tx, &seen, Command::Cancel, "cancelled", cause).await?;
    if let Some(run) = seen.run {
        runs::withdraw_jobs(&mut tx, run.id, "the run was cancelled").await?;
    }
    tx.commit().await?;
    let statements = match seen.run {
        Some(run) => cancel_statements(&mut connection, run.id).await,
        None => 0,
    };
    store::flush(&mut connection).await?;
    Ok(Cancelled { status, statements })
}

/// Ends what the server executes for a run that has ended. Where that fails, maintenance does it. Returns how many statements.
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
    let Seen { pipeline, .. } = lock(&mut tx, pipeline).await?;
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
    let seen = Seen { pipeline: pipeline.clone(), edition: None, run: None, checkpoint: None };
    let status = change(tx, &seen, Command::Reset, reason, cause).await?;
    state::forget(tx, pipeline.id).await?;
    horizon::forget(tx, pipeline.id).await?;
    Ok(status)
}

/// Reads a pipeline with what a change of its status depends on.
async fn read(connection: &mut PgConnection, pipeline: &PipelineRef) -> Result<Seen, LifecycleError> {
    pipelines::see(connection, pipeline).await?.ok_or_else(|| LifecycleError::NoPipeline(pipeline.clone()))
}

/// Reads the same once the pipeline's row is locked.
async fn lock(tx: &mut PgConnection, pipeline: &PipelineRef) -> Result<Seen, LifecycleError> {
    let locked = pipelines::lock(tx, pipeline).await?.ok_or_else(|| LifecycleError::NoPipeline(pipeline.clone()))?;
    // By its id: the name may be another pipeline's by now.
    Ok(Seen { edition: None, ..read(tx, &locked.id.into()).await? })
}

/// Changes the status of a pipeline whose row is locked, and its unfinished run with it. Returns the status.
async fn change(
    tx: &mut PgConnection,
    seen: &Seen,
    command: Command,
    reason: &str,
    cause: Cause<'_>,
) -> Result<Status, LifecycleError> {
    let applied = apply(tx, seen, command, Some(reason), cause, Ending::default()).await?;
    applied.ok_or(LifecycleError::ChangedUnderLock)
}

/// What a run leaves when it ends or rests.
#[derive(Debug, Clone, Copy, Default)]
struct Ending<'a> {
    /// The job in a worker's hands, and the worker.
    job: Option<(&'a str, &'a str)>,
    error: Option<(ErrorClass, &'a str)>,
}

/// Applies a command to a pipeline and its unfinished run, if the domain allows it; without a reason the status stays. Returns
/// the status, or nothing if the pipeline is not as it was seen or the job is another worker's: then nothing was changed.
async fn apply(
    connection: &mut PgConnection,
    seen: &Seen,
    command: Command,
    reason: Option<&str>,
    cause: Cause<'_>,
    Ending { job, error }: Ending<'_>,
) -> Result<Option<Status>, LifecycleError> {
    let change = StatusChange {
        run_id: seen.run.map(|run| run.id),
        seen: seen.edition.as_ref(),
        ..status_change(seen.pipeline.id, seen.pipeline.status, command, reason, cause)?
    };
    let run = seen.run.filter(|run| run.status.after(command) != run.status || job.is_some());
    let applied = match run {
        Some(run) => {
            let run = RunChange { status: run.status.after(command), job, error, if_complete: false };
            status::change_run(connection, &change, run).await?.is_some()
        }
        None => status::change(connection, &change).await?,
    };
    if applied {
        log_change(&seen.pipeline.draft.name, &change);
    }
    Ok(applied.then_some(change.to))
}

/// The change of status that a command makes, if the domain allows it; none without a reason.
fn status_change<'a>(
    pipeline_id: PipelineId,
    from: Status,
    command: Command,
    reason: Option<&'a str>,
    cause: Cause<'a>,
) -> Result<StatusChange<'a>, IllegalTransition> {
    let to = if reason.is_some() { from.apply(command)? } else { from };
    let Cause { actor, correlation_id } = cause;
    Ok(StatusChange { pipeline_id, run_id: None, from, to, seen: None, actor, reason, correlation_id })
}

fn log_change(pipeline: &str, change: &StatusChange<'_>) {
    let Some(reason) = change.reason else { return };
    tracing::info!(
        pipeline,
        pipeline_id = %change.pipeline_id,
        run_id = change.run_id.map(tracing::field::display),
        from = %change.from,
        to = %change.to,
        actor = change.actor,
        reason = %without_values(reason),
        "transition",
    );
}
