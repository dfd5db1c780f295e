//! A batch of a run, and what happens when it goes wrong.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};
use tracing::{Instrument, field::Empty};
use vitrina_shared::{
    domain::{ErrorClass, error_class::without_values},
    jobs::{BatchJob, trace_context},
    lifecycle::{
        LifecycleError,
        execution::{self, Conclusion, HeldBatch},
    },
    metrics::{FENCED, RETRIES},
    store::{
        backends::{self, Reason},
        queue, runs,
    },
};

use super::{
    failure::{self, FailedAttempt, JobKind},
    observe_wakeup,
};
use crate::{
    environment::Environment,
    error::{BatchError, Verdict},
    maintenance::statements,
    plan::Plan,
    run,
    step::Sequence,
};

/// How long a batch waits for a statement that was ended.
const ORPHAN_ENDS: Duration = Duration::from_secs(1);

/// Executes a batch and those that follow it in this worker's hands.
pub async fn run(env: Arc<Environment>, mut job: HeldBatch) {
    observe_wakeup(&job);
    let span = tracing::info_span!(
        "batch",
        pipeline = Empty,
        pipeline_id = %job.pipeline_id,
        run_id = %job.run_id,
        correlation_id = job.correlation_id,
        worker = job.worker,
    );
    trace_context::go_on(&span, job.traceparent.as_deref());
    env.take_up(&job.id);
    // Once the worker stops, the job is left where it is: the worker's end gives all such jobs back at once.
    if !env.stop.is_cancelled() {
        attempt(&env, &mut job).instrument(span).await;
    }
    env.put_down(&job.id);
}

async fn attempt(env: &Environment, job: &mut HeldBatch) {
    match super::execute::<BatchJob, _>(env, job.run_id.0, run::execute(env, job)).await {
        // Another worker goes on while this one waits for its other batches.
        Ok(Conclusion::GoesOn) if env.stop.is_cancelled() => {
            failure::give_back_after(env, job, Duration::ZERO).await;
        }
        Ok(Conclusion::GoesOn | Conclusion::Paused | Conclusion::Finished | Conclusion::Failed) => {}
        Ok(Conclusion::Dropped) => drop_job(env, job).await,
        Err(error) => failure::retry_or_fail(env, job, error).await,
    }
}

/// The run was ended before the job was taken up. Left alone, the job would come back again and again.
async fn drop_job(env: &Environment, job: &HeldBatch) {
    let dropped = async { job.finish(&mut *env.db.acquire().await?).await };
    if let Err(error) = dropped.await {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be dropped; maintenance will release it");
    }
}

#[async_trait]
impl JobKind for BatchJob {
    const ATTEMPT: &'static str = "batch";
    const WHOLE: &'static str = "run";
    type Error = LifecycleError;

    fn batch(&self) -> Option<i64> {
        Some(self.batch)
    }

    fn pool(env: &Environment) -> &PgPool {
        &env.db
    }

    fn given_up() -> BatchError {
        let reason = "the statement did not end after it was cancelled; its connection was left to the server";
        BatchError::Interrupted(reason.to_owned())
    }

    async fn verdict(
        job: &mut HeldBatch,
        env: &Environment,
        error: &BatchError,
    ) -> Result<Option<Verdict>, LifecycleError> {
        if matches!(error, BatchError::TakenOver(_)) {
            metrics::counter!(FENCED).increment(1);
        }
        if matches!(error, BatchError::Interrupted(_)) && has_ended(env, job, error).await? {
            return Ok(None);
        }
        let orphaned = matches!(error, BatchError::Locked(_)) && waits_for_an_orphan(env, job).await;
        let verdict = if orphaned { Verdict::Later(ORPHAN_ENDS) } else { error.verdict(job.attempt) };
        match verdict {
            Verdict::WaitForDatabase | Verdict::Later(_) => return Ok(Some(verdict)),
            Verdict::Drop | Verdict::Retry(..) | Verdict::GiveUp(_) if has_gone_on(env, job).await? => {
                return Ok(Some(Verdict::Later(Duration::ZERO)));
            }
            Verdict::Retry(..) | Verdict::Drop | Verdict::GiveUp(_) => {}
        }
        Ok(Some(verdict))
    }

    async fn put_back(
        job: &HeldBatch,
        env: &Environment,
        tx: &mut PgConnection,
        delay: Duration,
        failure: Option<FailedAttempt<'_>>,
    ) -> Result<(), LifecycleError> {
        let plan = env.plan(job.run_id);
        match failure {
            Some((class, error)) => {
                forget_plan(env, job);
                execution::retry(tx, job, delay, class, error).await?;
            }
            None => {
                execution::give_back(tx, job, delay).await?;
            }
        }
        note_spent(tx, job, plan.as_deref()).await
    }

    async fn count_repeated(job: &HeldBatch, env: &Environment, class: ErrorClass) {
        let pipeline = pipeline_name(env, job).await;
        metrics::counter!(RETRIES, "pipeline" => pipeline, "class" => class.as_str()).increment(1);
    }

    async fn fail(
        job: &HeldBatch,
        env: &Environment,
        tx: &mut PgConnection,
        (class, error): FailedAttempt<'_>,
    ) -> Result<bool, LifecycleError> {
        if execution::fail(tx, job, class, error).await? == Conclusion::Dropped {
            return Ok(false);
        }
        note_spent(tx, job, env.plan(job.run_id).as_deref()).await?;
        Ok(true)
    }

    fn note_failed(job: &HeldBatch, env: &Environment) {
        forget_plan(env, job);
    }
}

/// Whether the batch that failed here was committed all the same: the answer was lost, or a statement that was left to the
/// server was faster. A job that is still this worker's goes on with the next one.
async fn has_gone_on(env: &Environment, job: &mut HeldBatch) -> Result<bool, LifecycleError> {
    let next = runs::next_batch(&mut *env.db.acquire().await?, job.run_id, job.range).await?;
    let Some(next) = next.filter(|next| *next != job.batch) else { return Ok(false) };
    // If the error comes again, it belongs to the next batch.
    job.go_on(next, None);
    Ok(true)
}

/// Notes what steps did for a batch that was not committed: it was spent.
async fn note_spent(tx: &mut PgConnection, job: &HeldBatch, plan: Option<&Plan>) -> Result<(), LifecycleError> {
    let spent = plan.and_then(Plan::steps).map(Sequence::take_spent).unwrap_or_default();
    if !spent.is_empty() {
        runs::add_steps(tx, job.run_id, &spent).await?;
    }
    Ok(())
}

/// The source or the target may have changed: the next attempt reviews both again.
fn forget_plan(env: &Environment, job: &HeldBatch) {
    env.forget_plan(job.run_id);
    env.forget_reviews();
}

/// Whether the lock that a batch did not get is held for its own run: by the statement of a worker that is gone, which the
/// server goes on with. It is ended, and the batch waits for that. No attempt of it has failed. A job that was given to another
/// worker is that worker's, and so are the sessions of its run.
async fn waits_for_an_orphan(env: &Environment, job: &HeldBatch) -> bool {
    let ended = async {
        let mut tx = env.db.begin().await?;
        let sessions = match queue::lock_own(&mut tx, &job.id, &job.worker).await? {
            true => backends::terminate(&mut tx, &[job.run_id.0]).await?,
            false => 0,
        };
        tx.commit().await?;
        Ok::<_, sqlx::Error>(sessions)
    };
    match ended.await {
        Ok(sessions) => {
            statements::note(job.run_id.0, Reason::Orphaned, sessions);
            sessions > 0
        }
        Err(error) => {
            tracing::debug!(job_id = job.id, error = %error, "orphaned statements could not be looked for");
            false
        }
    }
}

/// Whether a batch whose statement was cancelled has ended with that: its run was ended or paused, or this worker stops. No
/// attempt of it has failed.
async fn has_ended(env: &Environment, job: &HeldBatch, error: &BatchError) -> Result<bool, LifecycleError> {
    if env.stop.is_cancelled() {
        // Left where it is: the end of the worker gives all such jobs back at once.
        return Ok(true);
    }
    let mut tx = env.db.begin().await?;
    let conclusion = execution::interrupted(&mut tx, job).await?;
    if conclusion == Conclusion::GoesOn {
        return Ok(false);
    }
    note_spent(&mut tx, job, env.plan(job.run_id).as_deref()).await?;
    tx.commit().await?;
    tracing::info!(job_id = job.id, batch = job.batch, error = %without_values(&error.to_string()), ?conclusion, "batch rolled back");
    Ok(true)
}

async fn pipeline_name(env: &Environment, job: &HeldBatch) -> String {
    if let Some(plan) = env.plan(job.run_id) {
        return plan.pipeline.clone();
    }
    let Ok(mut connection) = env.db.acquire().await else { return String::new() };
    runs::find(&mut connection, job.run_id).await.ok().flatten().map(|run| run.pipeline).unwrap_or_default()
}
