//! A batch of a run, and what happens when it goes wrong.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use sqlx::PgPool;
use tokio::time::timeout;
use tracing::{Instrument, field::Empty};
use vitrina_shared::{
    domain::{ErrorClass, error_class::without_values},
    jobs::{BatchJob, trace_context},
    lifecycle::{
        LifecycleError,
        execution::{self, HeldJob, Step},
    },
    metrics::{FENCED, RETRIES},
    store::{
        backends::{self, Reason},
        queue, runs,
    },
};

use super::{ANSWERS_WITHIN, attribute, give_back_when_possible, observe_wakeup, wait_for_database};
use crate::{
    batch,
    environment::Environment,
    error::{BatchError, Verdict},
    maintenance::statements,
};

/// Why a batch ended whose statement did not.
const GIVEN_UP: &str = "the statement did not end after it was cancelled; its connection was left to the server";

/// How long a batch waits for a statement that was ended.
const ORPHAN_ENDS: Duration = Duration::from_secs(1);

/// Executes a batch and those that follow it in this worker's hands.
pub(super) async fn run(env: Arc<Environment>, id: String, batch: BatchJob) {
    env.take_up(&id);
    let held = execute(&env, HeldJob { id, batch, worker: env.name.clone() }).await;
    env.put_down(&held);
}

/// Executes a chain of batches and returns the job that was held last.
async fn execute(env: &Environment, mut job: HeldJob) -> String {
    observe_wakeup(job.batch.queued_us, job.batch.attempt);
    let span = tracing::info_span!(
        "batch",
        pipeline = Empty,
        pipeline_id = %job.batch.pipeline_id,
        run_id = %job.batch.run_id,
        correlation_id = job.batch.correlation_id,
        worker = job.worker,
    );
    trace_context::go_on(&span, job.batch.traceparent.as_deref());
    async {
        if env.stop.is_cancelled() {
            // Left where it is: whoever ends the worker gives all such jobs back at once.
            return;
        }
        let held = env.in_hand.take_up(job.batch.run_id.0);
        let outcome = tokio::select! {
            outcome = AssertUnwindSafe(batch::execute(env, &mut job)).catch_unwind() => outcome,
            silent = held.given_up() => Ok(Err(given_up(silent))),
        };
        drop(held);
        let outcome = outcome.unwrap_or_else(|_| Err(BatchError::fatal("the batch panicked; the log has the place")));
        match outcome {
            Ok(Step::GoesOn | Step::Paused | Step::Finished) => {}
            Ok(Step::Dropped) => forget(env, &job).await,
            Err(error) => {
                let error = attribute(env, error).await.unless_lost(job.batch.lost);
                if error.lost_session() {
                    job.batch.lost += 1;
                }
                settle_in_time(env, &job, &error).await;
            }
        }
    }
    .instrument(span)
    .await;
    job.id
}

fn given_up(silent: bool) -> BatchError {
    if silent { BatchError::Silent } else { BatchError::Interrupted(GIVEN_UP.to_owned()) }
}

/// The run was ended before the job was taken up. Left alone, the job would come back again and again.
async fn forget(env: &Environment, job: &HeldJob) {
    if let Err(error) = drop_job(env, job).await {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be dropped; maintenance will release it");
    }
}

/// Does what the error asks for. A database that does not answer to that keeps no slot.
async fn settle_in_time(env: &Environment, job: &HeldJob, error: &BatchError) {
    if matches!(error, BatchError::Away(_) | BatchError::ReadOnly(_)) {
        report(job, error, &Verdict::WaitForDatabase);
        give_back_when_possible(env, &job.id, || give_back(env, &env.control, job, Duration::ZERO).boxed()).await;
        return wait_for_database(env).await;
    }
    if timeout(ANSWERS_WITHIN, settle(env, job, error)).await.is_err() {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be settled: no answer; maintenance will release it");
    }
}

/// Does what the error asks for. If even that fails, the job stays ours and is released by maintenance.
async fn settle(env: &Environment, job: &HeldJob, error: &BatchError) {
    if matches!(error, BatchError::Interrupted(_)) && is_settled(env, job, error).await {
        return;
    }
    let orphaned = matches!(error, BatchError::Locked(_)) && waits_for_an_orphan(env, job).await;
    let verdict = if orphaned { Verdict::Later(ORPHAN_ENDS) } else { error.verdict(job.batch.attempt) };
    report(job, error, &verdict);
    let result = match verdict {
        Verdict::Drop => drop_job(env, job).await,
        Verdict::WaitForDatabase => give_back(env, &env.db, job, Duration::ZERO).await,
        Verdict::Later(delay) => give_back(env, &env.db, job, delay).await,
        Verdict::Retry(delay, class) => retry(env, job, delay, class, error).await,
        Verdict::GiveUp(class) => fail(env, job, class, error).await,
    };
    if let Err(error) = result {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be settled; maintenance will release it");
    }
}

/// Whether the lock that a batch did not get is held for its own run: by the statement of a worker that is gone, which the
/// server goes on with. It is ended, and the batch waits for that. No attempt of it has failed.
async fn waits_for_an_orphan(env: &Environment, job: &HeldJob) -> bool {
    let ended = async { backends::terminate(&mut *env.db.acquire().await?, &[job.batch.run_id.0]).await };
    match ended.await {
        Ok(sessions) => {
            statements::note(job.batch.run_id.0, Reason::Orphaned, sessions);
            sessions > 0
        }
        Err(error) => {
            tracing::debug!(job_id = job.id, error = %error, "orphaned statements could not be looked for");
            false
        }
    }
}

/// Settles a batch whose statement was cancelled because nobody wants it any more, or because this worker stops. No
/// attempt of it has failed.
async fn is_settled(env: &Environment, job: &HeldJob, error: &BatchError) -> bool {
    if env.stop.is_cancelled() {
        // Left where it is: whoever ends the worker gives all such jobs back at once.
        return true;
    }
    let decided = async {
        let mut tx = env.db.begin().await?;
        let step = execution::interrupted(&mut tx, job).await?;
        if step != Step::GoesOn {
            tx.commit().await?;
        }
        Ok::<_, LifecycleError>(step)
    };
    match decided.await {
        Ok(Step::GoesOn) => false,
        Ok(step @ (Step::Paused | Step::Finished | Step::Dropped)) => {
            tracing::info!(job_id = job.id, batch = job.batch.batch, error = %error, ?step, "batch rolled back");
            true
        }
        Err(error) => {
            tracing::warn!(job_id = job.id, error = %error, "the job could not be settled; maintenance will release it");
            true
        }
    }
}

fn report(job: &HeldJob, error: &BatchError, verdict: &Verdict) {
    match verdict {
        Verdict::Drop => {
            if matches!(error, BatchError::TakenOver(_)) {
                metrics::counter!(FENCED).increment(1);
            }
            tracing::warn!(job_id = job.id, batch = job.batch.batch, error = %error, "batch dropped");
        }
        Verdict::WaitForDatabase => tracing::warn!(job_id = job.id, error = %error, "waiting for the database"),
        Verdict::Later(_) => tracing::debug!(job_id = job.id, error = %error, "job given back"),
        Verdict::Retry(delay, class) => tracing::warn!(
            job_id = job.id, batch = job.batch.batch, attempt = job.batch.attempt + 1, error_class = %class,
            error = %without_values(&error.to_string()), delay_ms = delay.as_millis() as u64, "batch failed and will be repeated",
        ),
        Verdict::GiveUp(class) => tracing::error!(
            job_id = job.id, batch = job.batch.batch, attempt = job.batch.attempt + 1, error_class = %class,
            error = %without_values(&error.to_string()), "run failed",
        ),
    }
}

/// The batch is not ours any more; the job's row, if it still says so, is.
async fn drop_job(env: &Environment, job: &HeldJob) -> Result<(), LifecycleError> {
    queue::finish(&mut *env.db.acquire().await?, &job.id, &job.worker).await?;
    Ok(())
}

async fn give_back(env: &Environment, db: &PgPool, job: &HeldJob, delay: Duration) -> Result<(), LifecycleError> {
    let mut tx = db.begin().await?;
    execution::give_back(&mut tx, job, delay).await?;
    tx.commit().await?;
    env.wake_after(delay);
    Ok(())
}

async fn retry(
    env: &Environment,
    job: &HeldJob,
    delay: Duration,
    class: ErrorClass,
    error: &BatchError,
) -> Result<(), LifecycleError> {
    // The source or the target may have changed: the next attempt looks at both again.
    env.forget_plan(job.batch.run_id);
    env.forget_reviews();
    let mut tx = env.db.begin().await?;
    execution::retry(&mut tx, job, delay, class, &error.to_string()).await?;
    tx.commit().await?;
    env.wake_after(delay);
    let pipeline = pipeline_name(env, job).await;
    metrics::counter!(RETRIES, "pipeline" => pipeline, "class" => class.as_str()).increment(1);
    Ok(())
}

async fn fail(env: &Environment, job: &HeldJob, class: ErrorClass, error: &BatchError) -> Result<(), LifecycleError> {
    let mut tx = env.db.begin().await?;
    let step = execution::fail(&mut tx, job, class, &error.to_string()).await?;
    if step == Step::Dropped {
        return Ok(());
    }
    tx.commit().await?;
    env.forget_plan(job.batch.run_id);
    env.forget_reviews();
    Ok(())
}

async fn pipeline_name(env: &Environment, job: &HeldJob) -> String {
    if let Some(plan) = env.plan(job.batch.run_id) {
        return plan.pipeline.clone();
    }
    let Ok(mut connection) = env.db.acquire().await else { return String::new() };
    runs::find(&mut connection, job.batch.run_id).await.ok().flatten().map(|run| run.pipeline).unwrap_or_default()
}
