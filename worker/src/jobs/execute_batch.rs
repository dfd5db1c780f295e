//! A batch of a run, and what happens when it goes wrong.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use sqlx::{PgConnection, PgPool};
use tracing::{Instrument, field::Empty};
use vitrina_shared::{
    domain::ErrorClass,
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

use super::{
    failure::{self, FailedJob},
    observe_wakeup,
};
use crate::{
    environment::Environment,
    error::{BatchError, Verdict},
    maintenance::statements,
    run,
};

/// Why a batch ended whose statement did not.
const GIVEN_UP: &str = "the statement did not end after it was cancelled; its connection was left to the server";

/// How long a batch waits for a statement that was ended.
const ORPHAN_ENDS: Duration = Duration::from_secs(1);

/// Executes a batch and those that follow it in this worker's hands.
pub(super) async fn run(env: Arc<Environment>, id: String, batch: BatchJob) {
    env.take_up(&id);
    execute(&env, HeldJob { id: id.clone(), batch, worker: env.name.clone() }).await;
    env.put_down(&id);
}

/// Executes a chain of batches.
async fn execute(env: &Environment, mut job: HeldJob) {
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
            outcome = AssertUnwindSafe(run::execute(env, &mut job)).catch_unwind() => outcome,
            silent = held.given_up() => Ok(Err(given_up(silent))),
        };
        drop(held);
        let outcome = outcome.unwrap_or_else(|_| Err(BatchError::fatal("the batch panicked; the log has the place")));
        match outcome {
            // Another worker goes on while this one waits for its other batches.
            Ok(Step::GoesOn) if env.stop.is_cancelled() => failure::give_back_after(env, &job, Duration::ZERO).await,
            Ok(Step::GoesOn | Step::Paused | Step::Finished) => {}
            Ok(Step::Dropped) => forget(env, &job).await,
            Err(error) => failure::retry_or_fail(env, &mut job, error).await,
        }
    }
    .instrument(span)
    .await;
}

fn given_up(silent: bool) -> BatchError {
    if silent { BatchError::Silent } else { BatchError::Interrupted(GIVEN_UP.to_owned()) }
}

/// The run was ended before the job was taken up. Left alone, the job would come back again and again.
async fn forget(env: &Environment, job: &HeldJob) {
    let dropped = async { queue::finish(&mut *env.db.acquire().await?, &job.id, &job.worker).await };
    if let Err(error) = dropped.await {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be dropped; maintenance will release it");
    }
}

impl FailedJob for HeldJob {
    const ATTEMPT: &'static str = "batch";
    const WHOLE: &'static str = "run";
    type Error = LifecycleError;

    fn id(&self) -> &str {
        &self.id
    }

    fn worker(&self) -> &str {
        &self.worker
    }

    fn batch(&self) -> Option<i64> {
        Some(self.batch.batch)
    }

    fn attempt(&self) -> u32 {
        self.batch.attempt
    }

    fn lost(&mut self) -> &mut u32 {
        &mut self.batch.lost
    }

    fn pool(env: &Environment) -> &PgPool {
        &env.db
    }

    async fn verdict(&mut self, env: &Environment, error: &BatchError) -> Result<Option<Verdict>, LifecycleError> {
        if matches!(error, BatchError::TakenOver(_)) {
            metrics::counter!(FENCED).increment(1);
        }
        if matches!(error, BatchError::Interrupted(_)) && is_settled(env, self, error).await? {
            return Ok(None);
        }
        let orphaned = matches!(error, BatchError::Locked(_)) && waits_for_an_orphan(env, self).await;
        let verdict = if orphaned { Verdict::Later(ORPHAN_ENDS) } else { error.verdict(self.batch.attempt) };
        match verdict {
            Verdict::WaitForDatabase | Verdict::Later(_) => return Ok(Some(verdict)),
            Verdict::Drop | Verdict::Retry(..) | Verdict::GiveUp(_) if has_gone_on(env, self).await? => {
                return Ok(Some(Verdict::Later(Duration::ZERO)));
            }
            Verdict::Retry(..) => forget_plan(env, self),
            Verdict::Drop | Verdict::GiveUp(_) => {}
        }
        Ok(Some(verdict))
    }

    async fn give_back(&self, tx: &mut PgConnection, delay: Duration) -> Result<(), LifecycleError> {
        execution::give_back(tx, self, delay).await.map(|_| ())
    }

    async fn repeat(
        &self,
        tx: &mut PgConnection,
        delay: Duration,
        class: ErrorClass,
        error: &str,
    ) -> Result<(), LifecycleError> {
        execution::retry(tx, self, delay, class, error).await.map(|_| ())
    }

    async fn repeated(&self, env: &Environment, class: ErrorClass) {
        let pipeline = pipeline_name(env, self).await;
        metrics::counter!(RETRIES, "pipeline" => pipeline, "class" => class.as_str()).increment(1);
    }

    async fn fail(&self, tx: &mut PgConnection, class: ErrorClass, error: &str) -> Result<bool, LifecycleError> {
        Ok(execution::fail(tx, self, class, error).await? != Step::Dropped)
    }

    fn failed(&self, env: &Environment) {
        forget_plan(env, self);
    }
}

/// Whether the batch that failed here was committed all the same: nobody heard it, or a statement that was left to the server
/// was faster. A job that is still this worker's goes on with the next one.
async fn has_gone_on(env: &Environment, job: &mut HeldJob) -> Result<bool, LifecycleError> {
    let next = runs::next_batch(&mut *env.db.acquire().await?, job.batch.run_id, job.batch.range).await?;
    let Some(next) = next.filter(|next| *next != job.batch.batch) else { return Ok(false) };
    // The same error again is one of the next batch.
    job.go_on(next, None);
    Ok(true)
}

/// The source or the target may have changed: the next attempt looks at both again.
fn forget_plan(env: &Environment, job: &HeldJob) {
    env.forget_plan(job.batch.run_id);
    env.forget_reviews();
}

/// Whether the lock that a batch did not get is held for its own run: by the statement of a worker that is gone, which the
/// server goes on with. It is ended, and the batch waits for that. No attempt of it has failed. A job that was given to another
/// worker is that worker's, and so are the sessions of its run.
async fn waits_for_an_orphan(env: &Environment, job: &HeldJob) -> bool {
    let ended = async {
        let mut tx = env.db.begin().await?;
        let sessions = match queue::lock_own(&mut tx, &job.id, &job.worker).await? {
            true => backends::terminate(&mut tx, &[job.batch.run_id.0]).await?,
            false => 0,
        };
        tx.commit().await?;
        Ok::<_, sqlx::Error>(sessions)
    };
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
async fn is_settled(env: &Environment, job: &HeldJob, error: &BatchError) -> Result<bool, LifecycleError> {
    if env.stop.is_cancelled() {
        // Left where it is: the end of the worker gives all such jobs back at once.
        return Ok(true);
    }
    let mut tx = env.db.begin().await?;
    let step = execution::interrupted(&mut tx, job).await?;
    if step == Step::GoesOn {
        return Ok(false);
    }
    tx.commit().await?;
    tracing::info!(job_id = job.id, batch = job.batch.batch, error = %error, ?step, "batch rolled back");
    Ok(true)
}

async fn pipeline_name(env: &Environment, job: &HeldJob) -> String {
    if let Some(plan) = env.plan(job.batch.run_id) {
        return plan.pipeline.clone();
    }
    let Ok(mut connection) = env.db.acquire().await else { return String::new() };
    runs::find(&mut connection, job.batch.run_id).await.ok().flatten().map(|run| run.pipeline).unwrap_or_default()
}
