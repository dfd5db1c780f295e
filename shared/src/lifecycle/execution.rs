//! What workers do to a status: begin, pause between batches, finish, fail.
//!
//! Each takes the caller's transaction and the job that the worker holds; the job is finished, or given back, in the
//! same transaction. `Dropped` means that the job is nobody's business any more: the run was ended or taken over.

use std::time::Duration;

use sqlx::PgConnection;

use super::{Cause, LifecycleError, change, enqueue, lock, tell};
use crate::{
    domain::{Command, ErrorClass, Pipeline, PipelineId, Position, Run, RunId, RunStatus, Status},
    jobs::{BatchJob, EnqueueError},
    store::{at_once, horizon, queue, runs, transitions::NewTransition},
};

/// Why a pipeline is idle after a run.
const FINISHED: &str = "finished";

/// Why a pipeline rests.
const BETWEEN_BATCHES: &str = "paused between batches";

/// A job in the hands of a worker.
#[derive(Debug, Clone)]
pub struct HeldJob {
    /// Its id in the queue.
    pub id: String,
    /// What is to be done.
    pub batch: BatchJob,
    /// Who holds it.
    pub worker: String,
}

impl HeldJob {
    /// Who does something, and the request that it is done for.
    pub fn cause(&self) -> Cause<'_> {
        Cause { actor: &self.worker, correlation_id: &self.batch.correlation_id }
    }

    /// Goes on with this batch, which begins after this row. What failed before was another one, and the wait in the queue is
    /// over.
    pub fn go_on(&mut self, batch: i64, after: Option<Position>) {
        if self.batch.batch != batch {
            (self.batch.attempt, self.batch.lost) = (0, 0);
        }
        (self.batch.batch, self.batch.after, self.batch.queued_us) = (batch, after, None);
    }

    /// The change of status that this job expects to make.
    fn transition<'a>(
        &'a self,
        pipeline: &'a str,
        from: Status,
        command: Command,
        reason: &'a str,
    ) -> Result<NewTransition<'a>, LifecycleError> {
        Ok(NewTransition {
            pipeline_id: self.batch.pipeline_id,
            pipeline,
            run_id: Some(self.batch.run_id),
            from,
            to: from.apply(command)?,
            actor: &self.worker,
            reason,
            correlation_id: Some(&self.batch.correlation_id),
        })
    }
}

/// How a worker's step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The run goes on.
    GoesOn,
    /// The run rests.
    Paused,
    /// The run is done.
    Finished,
    /// The job was not ours any more; nothing was changed.
    Dropped,
}

/// Whether the job's run is still the pipeline's unfinished one, with both rows read under the pipeline's lock.
async fn current(tx: &mut PgConnection, job: &HeldJob) -> Result<Option<(Pipeline, Run)>, LifecycleError> {
    let pipeline = match lock(tx, &job.batch.pipeline_id.into()).await {
        Ok(pipeline) => pipeline,
        Err(LifecycleError::NoPipeline(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let run = runs::find_active(tx, pipeline.id).await?.filter(|run| run.id == job.batch.run_id);
    Ok(run.map(|run| (pipeline, run)))
}

/// Begins or resumes the run of a job in one statement, if it is requested and nothing else is to be noted with it.
/// Whether it did; if not, nothing was changed, and [`begin`] finds out what is to be done.
pub async fn begin_at_once(
    connection: &mut PgConnection,
    job: &HeldJob,
    run: &runs::OpenRun,
    start: &runs::Start,
) -> Result<bool, LifecycleError> {
    if run.status != RunStatus::Queued || start.debts != runs::Debts::default() {
        return Ok(false);
    }
    let name = &run.inputs.name;
    let reason = begun(run.started_at.is_some(), start.anew);
    let transition = job.transition(name, Status::RunRequested, Command::Claim, reason)?;
    let begun = at_once::begin(connection, &transition, start).await?;
    if begun {
        tell(&transition);
    }
    Ok(begun)
}

/// Why a pipeline is running.
fn begun(before: bool, anew: Option<runs::Anew>) -> &'static str {
    match (before, anew) {
        (true, _) => "resumed by a worker",
        (false, Some(runs::Anew::OtherIndex)) => {
            "begun by a worker, at the first row: the checkpoint is of another index"
        }
        (false, Some(runs::Anew::Retyped)) => {
            "begun by a worker, at the first row: the type of incremental_key or incremental_id_key has changed"
        }
        (false, None) => "begun by a worker",
    }
}

/// Begins or resumes the run of a job. The caller has looked at the source and says what it will read.
pub async fn begin(tx: &mut PgConnection, job: &HeldJob, start: &runs::Start) -> Result<Step, LifecycleError> {
    let Some((pipeline, run)) = current(tx, job).await? else { return Ok(Step::Dropped) };
    match pipeline.status {
        Status::RunRequested => {
            runs::begin(tx, run.id, start).await?;
            settle_debts(tx, pipeline.id, start).await?;
            let reason = begun(run.started_at.is_some(), start.anew);
            change(tx, &pipeline, Command::Claim, Some(run.id), reason, job.cause()).await?;
            Ok(Step::GoesOn)
        }
        Status::Running => {
            if let Some(walks_by) = &start.walks_by {
                runs::note_walk(tx, run.id, walks_by).await?;
            }
            Ok(Step::GoesOn)
        }
        Status::PauseRequested => rest(tx, job, &pipeline, run.id, BETWEEN_BATCHES).await,
        Status::Idle | Status::Paused | Status::Failed => Ok(Step::Dropped),
    }
}

/// Notes what the run reads again, and what it leaves to be read again. Together with its start: a run that does not
/// begin has settled nothing.
async fn settle_debts(tx: &mut PgConnection, pipeline: PipelineId, start: &runs::Start) -> Result<(), LifecycleError> {
    let runs::Debts { settled, rewind, incurred } = &start.debts;
    if !settled.is_empty() {
        horizon::settle(tx, pipeline, settled).await?;
    }
    if let (Some(checkpoint), Some(upper), Some(server)) = (rewind, start.horizon, &start.server) {
        horizon::rewind(tx, pipeline, checkpoint, upper, server).await?;
    }
    if !incurred.is_empty() {
        horizon::owe(tx, pipeline, incurred).await?;
    }
    Ok(())
}

/// Ends the run of a job in one statement, if it was walked to its end and nothing else is to be noted with it: neither
/// a wish to rest, nor a transaction that appeared behind the run's bound. Returns what the run did; if
/// something is in the way, nothing was changed, and [`conclude`] decides.
pub async fn finish_at_once(
    connection: &mut PgConnection,
    job: &HeldJob,
    pipeline: &str,
) -> Result<Option<runs::Sum>, LifecycleError> {
    let transition = job.transition(pipeline, Status::Running, Command::Finish, FINISHED)?;
    let last = at_once::LastJob { id: &job.id, worker: &job.worker };
    let sum = at_once::finish(connection, &transition, last).await?;
    if sum.is_some() {
        tell(&transition);
    }
    Ok(sum)
}

/// Decides what follows a batch after which the chain did not go on by itself. `walked` says that it was the last one.
pub async fn conclude(tx: &mut PgConnection, job: &HeldJob, walked: bool) -> Result<Step, LifecycleError> {
    let Some((mut pipeline, run)) = current(tx, job).await? else { return Ok(Step::Dropped) };
    if pipeline.status == Status::RunRequested {
        // A pause was withdrawn while the batch was being written.
        pipeline.status = change(tx, &pipeline, Command::Claim, Some(run.id), "goes on", job.cause()).await?;
    }
    if walked {
        return finish(tx, job, &pipeline, run.id).await;
    }
    match pipeline.status {
        Status::PauseRequested => rest(tx, job, &pipeline, run.id, BETWEEN_BATCHES).await,
        Status::Running => {
            if !queue::finish(tx, &job.id, &job.worker).await? {
                return Ok(Step::Dropped);
            }
            enqueue::ensure_jobs(tx, &pipeline, run.id).await?;
            Ok(Step::GoesOn)
        }
        Status::Idle | Status::RunRequested | Status::Paused | Status::Failed => Ok(Step::Dropped),
    }
}

async fn finish(tx: &mut PgConnection, job: &HeldJob, pipeline: &Pipeline, run: RunId) -> Result<Step, LifecycleError> {
    if !queue::finish(tx, &job.id, &job.worker).await? {
        return Ok(Step::Dropped);
    }
    runs::end(tx, run, RunStatus::Success).await?;
    change(tx, pipeline, Command::Finish, Some(run), FINISHED, job.cause()).await?;
    Ok(Step::Finished)
}

async fn rest(
    tx: &mut PgConnection,
    job: &HeldJob,
    pipeline: &Pipeline,
    run: RunId,
    reason: &str,
) -> Result<Step, LifecycleError> {
    if !queue::finish(tx, &job.id, &job.worker).await? {
        return Ok(Step::Dropped);
    }
    runs::pause(tx, run).await?;
    change(tx, pipeline, Command::ConfirmPause, Some(run), reason, job.cause()).await?;
    Ok(Step::Paused)
}

/// Gives up: the run failed and the pipeline waits for someone to act.
pub async fn fail(
    tx: &mut PgConnection,
    job: &HeldJob,
    class: ErrorClass,
    error: &str,
) -> Result<Step, LifecycleError> {
    let Some((pipeline, run)) = current(tx, job).await? else { return Ok(Step::Dropped) };
    if !queue::finish(tx, &job.id, &job.worker).await? {
        return Ok(Step::Dropped);
    }
    fail_run(tx, job, pipeline, run.id, class, error).await?;
    Ok(Step::Finished)
}

async fn fail_run(
    tx: &mut PgConnection,
    job: &HeldJob,
    mut pipeline: Pipeline,
    run: RunId,
    class: ErrorClass,
    error: &str,
) -> Result<(), LifecycleError> {
    runs::fail(tx, run, class, error).await?;
    if pipeline.status == Status::RunRequested {
        pipeline.status = change(tx, &pipeline, Command::Claim, Some(run), "begun by a worker", job.cause()).await?;
    }
    change(tx, &pipeline, Command::Fail, Some(run), error_summary(error), job.cause()).await?;
    Ok(())
}

/// The first line, cut to a length that fits a log of transitions.
fn error_summary(error: &str) -> &str {
    let line = error.lines().next().unwrap_or_default();
    line.char_indices().nth(200).map_or(line, |(end, _)| &line[..end])
}

/// Returns the job to the queue to be tried again after `delay`.
pub async fn retry(
    tx: &mut PgConnection,
    job: &HeldJob,
    delay: Duration,
    class: ErrorClass,
    error: &str,
) -> Result<Step, LifecycleError> {
    let batch = BatchJob { attempt: job.batch.attempt + 1, ..job.batch.clone() };
    let step = put_back(tx, job, &batch, delay).await?;
    if step == Step::GoesOn {
        runs::note_failure(tx, job.batch.run_id, class, error).await?;
    }
    Ok(step)
}

/// Returns the job to the queue as it is, because this worker cannot go on with it now. Whoever wants the run to rest
/// does not wait until somebody can.
pub async fn give_back(tx: &mut PgConnection, job: &HeldJob, delay: Duration) -> Result<Step, LifecycleError> {
    if let Some((pipeline, run)) = current(tx, job).await?
        && pipeline.status == Status::PauseRequested
    {
        return rest(tx, job, &pipeline, run.id, BETWEEN_BATCHES).await;
    }
    put_back(tx, job, &job.batch, delay).await
}

/// Decides whether a batch whose statement was cancelled is wanted any more: the run rests where that was asked for, and
/// the job is finished where the run has ended. [`Step::GoesOn`] changes nothing: somebody else cancelled it.
pub async fn interrupted(tx: &mut PgConnection, job: &HeldJob) -> Result<Step, LifecycleError> {
    let Some((pipeline, run)) = current(tx, job).await? else {
        queue::finish(tx, &job.id, &job.worker).await?;
        return Ok(Step::Dropped);
    };
    match pipeline.status {
        Status::PauseRequested => rest(tx, job, &pipeline, run.id, "paused, and the batch in hand rolled back").await,
        Status::RunRequested | Status::Running => Ok(Step::GoesOn),
        Status::Idle | Status::Paused | Status::Failed => {
            queue::finish(tx, &job.id, &job.worker).await?;
            Ok(Step::Dropped)
        }
    }
}

async fn put_back(
    tx: &mut PgConnection,
    job: &HeldJob,
    batch: &BatchJob,
    delay: Duration,
) -> Result<Step, LifecycleError> {
    let payload = serde_json::to_vec(batch).map_err(EnqueueError::from)?;
    let returned = queue::put_back(tx, &job.id, &job.worker, &payload, delay).await?;
    queue::announce(tx).await?;
    Ok(if returned { Step::GoesOn } else { Step::Dropped })
}

/// Fails the run of a job that nobody holds any more, because no worker survives it.
pub async fn give_up(tx: &mut PgConnection, batch: BatchJob, error: &str) -> Result<(), LifecycleError> {
    let job = HeldJob { id: String::new(), batch, worker: "recovery".to_owned() };
    let Some((pipeline, run)) = current(tx, &job).await? else { return Ok(()) };
    fail_run(tx, &job, pipeline, run.id, ErrorClass::Fatal, error).await
}
