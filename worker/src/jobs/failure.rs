//! What follows when an attempt at a job failed, for batches and reports alike:
//!
//! who is to blame → what is to be done about it → one line in the log → drop, give back, repeat or fail, in one transaction.
//!
//! If even that fails, the job stays this worker's and maintenance releases it.

use std::{fmt::Display, time::Duration};

use sqlx::{PgConnection, PgPool};
use tokio::time::timeout;
use vitrina_shared::{
    database,
    domain::{ErrorClass, error_class::without_values},
    store::queue,
};

use crate::{
    environment::Environment,
    error::{BatchError, Verdict},
};

/// How soon a database that is away is asked again.
const AGAIN: Duration = Duration::from_millis(250);
/// How long the database may take to settle a job.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// A job in the hands of this worker, and how its kind is dropped, given back, repeated and failed.
pub(super) trait FailedJob: Send + Sync {
    /// What an attempt is called in the log.
    const ATTEMPT: &'static str;
    /// What fails with the last attempt.
    const WHOLE: &'static str;
    type Error: Display + From<sqlx::Error> + Send;

    fn id(&self) -> &str;
    fn worker(&self) -> &str;
    /// The number of the batch.
    fn batch(&self) -> Option<i64>;
    /// Attempts that failed before.
    fn attempt(&self) -> u32;
    /// How often the server ended its session.
    fn lost(&mut self) -> &mut u32;
    /// The connections of such jobs.
    fn pool(env: &Environment) -> &PgPool;

    /// What is to be done about the error; nothing where the job was settled meanwhile.
    fn verdict(
        &mut self,
        env: &Environment,
        error: &BatchError,
    ) -> impl Future<Output = Result<Option<Verdict>, Self::Error>> + Send;

    /// Returns it to the queue as it is.
    fn give_back(&self, tx: &mut PgConnection, delay: Duration)
    -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Returns it to the queue with one more failed attempt.
    fn repeat(
        &self,
        tx: &mut PgConnection,
        delay: Duration,
        class: ErrorClass,
        error: &str,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// It was repeated.
    fn repeated(&self, env: &Environment, class: ErrorClass) -> impl Future<Output = ()> + Send;

    /// Ends it with what it belongs to. Whether it was still this worker's: if not, nothing may be committed.
    fn fail(
        &self,
        tx: &mut PgConnection,
        class: ErrorClass,
        error: &str,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// It failed.
    fn failed(&self, env: &Environment);
}

/// Does what the error asks for. A database that does not answer to that keeps no slot.
pub(super) async fn retry_or_fail<J: FailedJob>(env: &Environment, job: &mut J, error: BatchError) {
    let error = attribute(env, error).await.unless_lost(*job.lost());
    if error.lost_session() {
        *job.lost() += 1;
    }
    if matches!(error, BatchError::Away(_) | BatchError::ReadOnly(_)) {
        log(job, &error, &Verdict::WaitForDatabase);
        give_back_when_possible(env, job).await;
        return wait_for_database(env).await;
    }
    match timeout(ANSWERS_WITHIN, apply_verdict(env, job, &error)).await {
        Ok(done) => warn_unsettled(job, done),
        Err(_silence) => tracing::warn!(
            job_id = job.id(), error = %error, "the job could not be settled: no answer; maintenance will release it"
        ),
    }
}

/// Gives a job back after `delay`. If that fails, the job stays this worker's.
pub(super) async fn give_back_after<J: FailedJob>(env: &Environment, job: &J, delay: Duration) {
    warn_unsettled(job, give_back(env, J::pool(env), job, delay).await);
}

fn warn_unsettled<J: FailedJob>(job: &J, done: Result<(), J::Error>) {
    if let Err(error) = done {
        tracing::warn!(job_id = job.id(), error = %error, "the job could not be settled; maintenance will release it");
    }
}

async fn apply_verdict<J: FailedJob>(env: &Environment, job: &mut J, error: &BatchError) -> Result<(), J::Error> {
    let Some(verdict) = job.verdict(env, error).await? else { return Ok(()) };
    log(job, error, &verdict);
    let db = J::pool(env);
    match verdict {
        Verdict::Drop => {
            queue::finish(&mut *db.acquire().await?, job.id(), job.worker()).await?;
        }
        Verdict::WaitForDatabase => give_back(env, db, job, Duration::ZERO).await?,
        Verdict::Later(delay) => give_back(env, db, job, delay).await?,
        Verdict::Retry(delay, class) => {
            let mut tx = db.begin().await?;
            job.repeat(&mut tx, delay, class, &error.to_string()).await?;
            tx.commit().await?;
            env.wake_after(delay);
            job.repeated(env, class).await;
        }
        Verdict::GiveUp(class) => {
            let mut tx = db.begin().await?;
            if job.fail(&mut tx, class, &error.to_string()).await? {
                tx.commit().await?;
                job.failed(env);
            }
        }
    }
    Ok(())
}

async fn give_back<J: FailedJob>(env: &Environment, db: &PgPool, job: &J, delay: Duration) -> Result<(), J::Error> {
    let mut tx = db.begin().await?;
    job.give_back(&mut tx, delay).await?;
    tx.commit().await?;
    env.wake_after(delay);
    Ok(())
}

/// Gives a job back as soon as the database allows it, over the connections of heartbeats where those of jobs cannot be opened.
/// A worker that has connections goes on with it.
async fn give_back_when_possible<J: FailedJob>(env: &Environment, job: &J) {
    while !env.stop.is_cancelled() {
        match timeout(ANSWERS_WITHIN, give_back(env, &env.control, job, Duration::ZERO)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::debug!(job_id = job.id(), error = %error, "the job could not be given back yet"),
            Err(_silence) => tracing::debug!(job_id = job.id(), "the job could not be given back yet: no answer"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Waits until the connections of jobs can be used again and the database takes writes, or the worker stops. Meanwhile the job
/// keeps its slot: a worker that cannot open connections takes no job that another could do.
async fn wait_for_database(env: &Environment) {
    while !env.stop.is_cancelled() {
        tokio::time::sleep(AGAIN).await;
        if takes_writes(env).await {
            return;
        }
    }
}

async fn takes_writes(env: &Environment) -> bool {
    let asked = async { database::takes_writes(&mut *env.db.acquire().await?).await };
    matches!(timeout(ANSWERS_WITHIN, asked).await, Ok(Ok(true)))
}

/// Tells a server that takes no writes, which passes, from a query that tries to write, which does not. Asked twice: one session
/// learns of a changed setting a moment after another.
async fn attribute(env: &Environment, error: BatchError) -> BatchError {
    let BatchError::ReadOnly(message) = &error else { return error };
    if !takes_writes(env).await {
        return error;
    }
    tokio::time::sleep(AGAIN).await;
    match takes_writes(env).await {
        true => BatchError::fatal(format!("the query tries to write: {message}")),
        false => error,
    }
}

/// The run or the report has the values that the log leaves out.
fn log<J: FailedJob>(job: &J, error: &BatchError, verdict: &Verdict) {
    let (job_id, batch, attempt) = (job.id(), job.batch(), job.attempt() + 1);
    let error = error.to_string();
    let error = without_values(&error);
    match verdict {
        Verdict::Drop => tracing::warn!(job_id, batch, error = %error, "{} dropped", J::ATTEMPT),
        Verdict::WaitForDatabase => tracing::warn!(job_id, error = %error, "waiting for the database"),
        Verdict::Later(_) => tracing::debug!(job_id, error = %error, "job given back"),
        Verdict::Retry(delay, class) => tracing::warn!(
            job_id, batch, attempt, error_class = %class, error = %error, delay_ms = delay.as_millis() as u64,
            "{} failed and will be repeated", J::ATTEMPT,
        ),
        Verdict::GiveUp(class) => {
            tracing::error!(job_id, batch, attempt, error_class = %class, error = %error, "{} failed", J::WHOLE);
        }
    }
}
