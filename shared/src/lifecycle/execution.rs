//! What workers do to a status: begin, pause between batches, finish, fail.
//!
//! Each takes the caller's transaction and the job that the worker holds; the job is finished, or given back, in the
//! same transaction. The commit of a change announces the log's entry on `vitrina_events`, and event streams read it then.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::{
    Cause, Ending, LifecycleError, apply, change, hooks, lock, log_change, request::ensure_jobs, status_change,
};
use crate::{
    domain::{
        Command, Decision, ErrorClass, HookEvent, Hooks, PipelineId, Position, RunStatus, Status,
        error_class::without_values,
    },
    jobs::{BatchJob, Held, Queued},
    store::{
        horizon,
        pipelines::{self, Seen},
        runs,
        status::{self, RunChange, StatusChange},
    },
};

/// Reasons, as the log has them.
const BEGUN: &str = "begun by a worker";
const FINISHED: &str = "finished";
const GOES_ON: &str = "goes on";
const BETWEEN_BATCHES: &str = "paused between batches";

pub type HeldBatch = Held<BatchJob>;

impl HeldBatch {
    /// Who does something, and the request that it is done for.
    pub fn cause(&self) -> Cause<'_> {
        Cause { actor: &self.worker, correlation_id: &self.correlation_id }
    }

    /// Goes on with this batch, which begins after this row. Earlier failures were of another one, and the wait is over.
    pub fn go_on(&mut self, batch: i64, after: Option<Position>) {
        let queued = &mut self.queued;
        if queued.job.batch != batch {
            (queued.attempt, queued.lost, queued.lost_on) = (0, 0, None);
        }
        (queued.job.batch, queued.job.after, queued.queued_us) = (batch, after, None);
    }

    fn ending(&self) -> Ending<'_> {
        Ending { job: Some((&self.id, &self.worker)), error: None }
    }
}

/// What becomes of a run after a worker's change of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    GoesOn,
    Paused,
    Finished,
    /// The hooks of a run that was walked to its end let it fail.
    Failed,
    /// Nothing was changed: the run was ended, or another worker has the job.
    Dropped,
}

/// Locks the job's pipeline, if the job's run is still its unfinished one.
async fn current(tx: &mut PgConnection, job: &HeldBatch) -> Result<Option<Seen>, LifecycleError> {
    match lock(tx, &job.pipeline_id.into()).await {
        Ok(seen) => Ok(Some(seen).filter(|seen| seen.run.is_some_and(|run| run.id == job.run_id))),
        Err(LifecycleError::NoPipeline(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Begins or resumes the run of a job. The caller has asked the source and says what it will read.
pub async fn begin(
    connection: &mut PgConnection,
    job: &HeldBatch,
    run: &runs::OpenRun,
    start: &runs::Start,
) -> Result<Conclusion, LifecycleError> {
    // While a run is queued its pipeline is nearly always RUN_REQUESTED: that need not be read, but for hooks.
    let calls_hooks = run.started_at.is_none() && run.inputs.options.hooks.has(HookEvent::BeforeRun);
    if run.status == RunStatus::Queued && !calls_hooks && claim(connection, job, run, start).await? {
        return Ok(Conclusion::GoesOn);
    }
    let mut tx = connection.begin().await?;
    let Some(seen) = current(&mut tx, job).await? else { return Ok(Conclusion::Dropped) };
    if calls_hooks && seen.pipeline.status == Status::RunRequested {
        hooks::before_run(&mut tx, run.id).await?;
    }
    let conclusion = match seen.pipeline.status.decide(Command::Claim) {
        Decision::Change([Command::Claim]) => match claim(&mut tx, job, run, start).await? {
            true => Conclusion::GoesOn,
            false => Conclusion::Dropped,
        },
        Decision::Change(commands) => end(&mut tx, job, seen, commands, BETWEEN_BATCHES, job.ending()).await?,
        Decision::Stay => {
            if let Some(walks_by) = &start.walks_by {
                runs::note_walk(&mut tx, run.id, job.range, walks_by).await?;
            }
            Conclusion::GoesOn
        }
        Decision::Drop => Conclusion::Dropped,
    };
    if conclusion != Conclusion::Dropped {
        tx.commit().await?;
    }
    Ok(conclusion)
}

/// Begins or resumes a run whose pipeline is RUN_REQUESTED. Its further ranges get their jobs then. Whether it did.
async fn claim(
    connection: &mut PgConnection,
    job: &HeldBatch,
    run: &runs::OpenRun,
    start: &runs::Start,
) -> Result<bool, LifecycleError> {
    let reason = begun(run.started_at.is_some(), start.anew);
    let change = StatusChange {
        run_id: Some(run.id),
        ..status_change(run.pipeline_id, Status::RunRequested, Command::Claim, Some(reason), job.cause())?
    };
    let range = run.started_at.map(|_| job.range);
    let claimed = if start.debts == runs::Debts::default() && start.ranges.is_none() {
        status::begin(connection, &change, range, start).await?
    } else {
        let mut tx = connection.begin().await?;
        let claimed = status::begin(&mut tx, &change, range, start).await?;
        if claimed {
            note_debts(&mut tx, run.pipeline_id, start).await?;
            if let Some(ranges) = start.ranges {
                runs::keep(&mut tx, run.id, ranges, start.upper.as_deref()).await?;
                ensure_jobs(&mut tx, run.pipeline_id, run.id).await?;
            }
            tx.commit().await?;
        }
        claimed
    };
    if claimed {
        log_change(&run.inputs.name, &change);
    }
    Ok(claimed)
}

fn begun(before: bool, anew: Option<runs::Anew>) -> &'static str {
    match (before, anew) {
        (true, _) => "resumed by a worker",
        (false, Some(runs::Anew::OtherTarget)) => {
            "begun by a worker, at the first row: the checkpoint is of another target"
        }
        (false, Some(runs::Anew::Retyped)) => {
            "begun by a worker, at the first row: the type of incremental_key or incremental_id_key has changed"
        }
        (false, None) => BEGUN,
    }
}

/// Notes what the run reads again, and what it leaves to be read again. Together with its start: a run that does not
/// begin has read nothing again.
async fn note_debts(tx: &mut PgConnection, pipeline: PipelineId, start: &runs::Start) -> Result<(), LifecycleError> {
    let runs::Debts { settled, rewind, incurred } = &start.debts;
    if !settled.is_empty() {
        horizon::forget_due(tx, pipeline, settled).await?;
    }
    if let (Some(checkpoint), Some(upper), Some(server)) = (rewind, start.horizon, &start.server) {
        horizon::rewind(tx, pipeline, checkpoint, upper, server).await?;
    }
    if !incurred.is_empty() {
        horizon::owe(tx, pipeline, incurred).await?;
    }
    Ok(())
}

/// Ends the run of a job, if its pipeline is RUNNING, it was walked to its end and nothing else is to be noted with it: no
/// transaction has appeared behind the run's bound. Returns what the run did; if something is in the way, nothing was changed,
/// and [`conclude`] decides.
pub async fn finish(
    connection: &mut PgConnection,
    job: &HeldBatch,
    pipeline: &str,
) -> Result<Option<runs::Sum>, LifecycleError> {
    let BatchJob { pipeline_id, run_id, .. } = job.queued.job;
    let change = StatusChange {
        run_id: Some(run_id),
        ..status_change(pipeline_id, Status::Running, Command::Finish, Some(FINISHED), job.cause())?
    };
    let Ending { job, error } = job.ending();
    let run = RunChange { status: RunStatus::Success, job, error, if_complete: true };
    let sum = status::change_run(connection, &change, run).await?;
    if sum.is_some() {
        log_change(pipeline, &change);
    }
    Ok(sum)
}

/// Ends the job of a range that was walked to its end, if another job of the run is live: the last one ends the run. Whether it did.
pub async fn leave(connection: &mut PgConnection, job: &HeldBatch) -> Result<bool, LifecycleError> {
    let mut tx = connection.begin().await?;
    pipelines::lock(&mut tx, &job.pipeline_id.into()).await?;
    let left = runs::leave(&mut tx, job.run_id, job.range, (&job.id, &job.worker)).await?;
    tx.commit().await?;
    Ok(left)
}

/// Decides what follows a batch after which the chain did not go on by itself. `walked` says that it was the last one.
/// Where hooks of its success fail, the run fails, and keeps what it wrote.
pub async fn conclude(
    tx: &mut PgConnection,
    job: &HeldBatch,
    walked: bool,
    hooks: &Hooks,
) -> Result<Conclusion, LifecycleError> {
    let Some(seen) = current(tx, job).await? else { return Ok(Conclusion::Dropped) };
    let wish = if walked { Command::Finish } else { Command::Claim };
    match seen.pipeline.status.decide(wish) {
        // A pause was withdrawn while the batch was being written.
        Decision::Change([Command::Claim]) => {
            change(tx, &seen, Command::Claim, GOES_ON, job.cause()).await?;
            hand_over(tx, job).await
        }
        Decision::Change(commands) => {
            if walked && hooks.has(HookEvent::OnSuccess) {
                match hooks::on_success(tx, job.run_id).await {
                    Err(LifecycleError::Hook(failure)) if !failure.may_pass() => {
                        let said = failure.to_string();
                        tracing::error!(run_id = %job.run_id, error = %without_values(&said), "run failed by a hook of its success");
                        let conclusion = fail(tx, job, ErrorClass::Fatal, &said).await?;
                        return Ok(if conclusion == Conclusion::Finished { Conclusion::Failed } else { conclusion });
                    }
                    called => called?,
                }
            }
            let reason = if walked { FINISHED } else { BETWEEN_BATCHES };
            end(tx, job, seen, commands, reason, job.ending()).await
        }
        Decision::Stay => hand_over(tx, job).await,
        Decision::Drop => Ok(Conclusion::Dropped),
    }
}

/// Applies the commands in order, on a locked row; the last one pauses or ends the run. While other ranges of the run have live
/// jobs, a pause only finishes this job: the last live job confirms it.
async fn end(
    tx: &mut PgConnection,
    job: &HeldBatch,
    mut seen: Seen,
    commands: &[Command],
    reason: &str,
    ending: Ending<'_>,
) -> Result<Conclusion, LifecycleError> {
    let Some((last, before)) = commands.split_last() else { return Ok(Conclusion::Dropped) };
    for command in before {
        let reason = if *last == Command::Fail { BEGUN } else { GOES_ON };
        seen.pipeline.status = change(tx, &seen, *command, reason, job.cause()).await?;
    }
    Ok(match apply(tx, &seen, *last, Some(reason), job.cause(), ending).await? {
        Some(Status::Paused) => Conclusion::Paused,
        Some(_) => Conclusion::Finished,
        None if *last == Command::ConfirmPause && job.finish(tx).await? => Conclusion::Paused,
        None => Conclusion::Dropped,
    })
}

/// Finishes the job and gives its range another one.
async fn hand_over(tx: &mut PgConnection, job: &HeldBatch) -> Result<Conclusion, LifecycleError> {
    if !job.finish(tx).await? {
        return Ok(Conclusion::Dropped);
    }
    ensure_jobs(tx, job.pipeline_id, job.run_id).await?;
    Ok(Conclusion::GoesOn)
}

/// Fails the run; the pipeline waits for a client to act.
pub async fn fail(
    tx: &mut PgConnection,
    job: &HeldBatch,
    class: ErrorClass,
    error: &str,
) -> Result<Conclusion, LifecycleError> {
    fail_run(tx, job, Ending { error: Some((class, error)), ..job.ending() }, error).await
}

async fn fail_run(
    tx: &mut PgConnection,
    job: &HeldBatch,
    ending: Ending<'_>,
    error: &str,
) -> Result<Conclusion, LifecycleError> {
    let Some(seen) = current(tx, job).await? else { return Ok(Conclusion::Dropped) };
    match seen.pipeline.status.decide(Command::Fail) {
        Decision::Change(commands) => {
            let said = match ending.error {
                Some(failure) => hooks::on_failure(tx, job.run_id, failure).await?,
                None => None,
            };
            let conclusion = end(tx, job, seen, commands, &error_summary(error), ending).await?;
            // Those of other ranges: batches that are under way find that the run has ended.
            runs::withdraw_jobs(tx, job.run_id, "the run failed").await?;
            if let Some(said) = said {
                runs::add_to_error(tx, job.run_id, &said).await?;
            }
            Ok(conclusion)
        }
        Decision::Stay | Decision::Drop => Ok(Conclusion::Dropped),
    }
}

/// The first line, cut to a length that fits a log of transitions, with the code by which viewers are not shown a server's words.
fn error_summary(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = line.char_indices().nth(200).map_or(line, |(end, _)| &line[..end]);
    let code = error.rfind(" (SQLSTATE ").and_then(|place| Some((place, error[place..].split_inclusive(')').next()?)));
    match code.filter(|(place, code)| place + code.len() > line.len()) {
        Some((place, code)) => format!("{}{code}", &line[..place.min(line.len())]),
        None => line.to_owned(),
    }
}

/// Returns the job to the queue to be tried again after `delay`. A run that is to rest does not wait for that.
pub async fn retry(
    tx: &mut PgConnection,
    job: &HeldBatch,
    delay: Duration,
    class: ErrorClass,
    error: &str,
) -> Result<Conclusion, LifecycleError> {
    let mut conclusion = rest_or_drop(tx, job, "paused after a batch that failed").await?;
    if conclusion == Conclusion::GoesOn && !job.put_back(tx, job.attempt + 1, delay).await? {
        conclusion = Conclusion::Dropped;
    }
    if conclusion != Conclusion::Dropped {
        runs::note_failure(tx, job.run_id, class, error).await?;
    }
    Ok(conclusion)
}

/// Returns the job to the queue as it is, because this worker cannot go on with it now. A run that is to rest does not wait
/// for a worker that can.
pub async fn give_back(tx: &mut PgConnection, job: &HeldBatch, delay: Duration) -> Result<Conclusion, LifecycleError> {
    let conclusion = rest_or_drop(tx, job, BETWEEN_BATCHES).await?;
    if conclusion == Conclusion::GoesOn && !job.put_back(tx, job.attempt, delay).await? {
        return Ok(Conclusion::Dropped);
    }
    Ok(conclusion)
}

/// Decides whether a batch whose statement was cancelled is wanted any more: [`Conclusion::GoesOn`] changes nothing, the statement
/// was cancelled for another reason.
pub async fn interrupted(tx: &mut PgConnection, job: &HeldBatch) -> Result<Conclusion, LifecycleError> {
    rest_or_drop(tx, job, "paused, and the batch in hand rolled back").await
}

/// After a batch that did not commit: confirms a requested pause, or finishes the job of an ended run, which must not go back to
/// the queue. [`Conclusion::GoesOn`] changes nothing, and the pipeline's row is locked.
async fn rest_or_drop(tx: &mut PgConnection, job: &HeldBatch, reason: &str) -> Result<Conclusion, LifecycleError> {
    if let Some(seen) = current(tx, job).await? {
        match seen.pipeline.status.decide(Command::ConfirmPause) {
            Decision::Change(commands) => return end(tx, job, seen, commands, reason, job.ending()).await,
            Decision::Stay => return Ok(Conclusion::GoesOn),
            Decision::Drop => {}
        }
    }
    job.finish(tx).await?;
    Ok(Conclusion::Dropped)
}

/// Fails the run of a job that no worker has any more, because none survives it.
pub async fn give_up(tx: &mut PgConnection, queued: Queued<BatchJob>, error: &str) -> Result<(), LifecycleError> {
    let job = Held { id: String::new(), worker: "recovery".to_owned(), queued };
    fail_run(tx, &job, Ending { job: None, error: Some((ErrorClass::Fatal, error)) }, error).await?;
    Ok(())
}
