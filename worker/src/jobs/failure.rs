//! What follows when an attempt at a job failed, for batches and reports alike:
//!
//! the cause → the verdict → one line in the log → drop, give back, repeat or fail, in one transaction.
//!
//! If even that fails, the job stays this worker's and maintenance releases it.

use std::{fmt::Display, time::Duration};

use async_trait::async_trait;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use tokio::time::timeout;
use vitrina_shared::{
    database,
    domain::{ErrorClass, error_class::without_values},
    jobs::Held,
};

use super::{AGAIN, ANSWERS_WITHIN, lost};
use crate::{
    environment::Environment,
    error::{BatchError, Verdict},
};

pub(super) type FailedAttempt<'a> = (ErrorClass, &'a str);

/// A kind of job: how one is given up, put back and failed.
#[async_trait]
pub(super) trait JobKind: Clone + Serialize + Send + Sync {
    /// What an attempt is called in the log.
    const ATTEMPT: &'static str;
    /// What fails with the last attempt.
    const WHOLE: &'static str;
    type Error: Display + From<sqlx::Error> + Send;

    /// The number of the batch, if it is one.
    fn batch(&self) -> Option<i64> {
        None
    }

    /// The connections of such jobs.
    fn pool(env: &Environment) -> &PgPool;
    /// The error of an attempt whose statement outlived its cancellation.
    fn given_up() -> BatchError;

    /// What is to be done about the error; nothing where the job has ended meanwhile.
    async fn verdict(
        job: &mut Held<Self>,
        _env: &Environment,
        error: &BatchError,
    ) -> Result<Option<Verdict>, Self::Error> {
        Ok(Some(error.verdict(job.attempt)))
    }

    /// Returns the job to the queue, with one more failed attempt where there is a failure.
    async fn put_back(
        job: &Held<Self>,
        env: &Environment,
        tx: &mut PgConnection,
        delay: Duration,
        failure: Option<FailedAttempt<'_>>,
    ) -> Result<(), Self::Error>;

    async fn count_repeated(_job: &Held<Self>, _env: &Environment, _class: ErrorClass) {}

    /// Ends the job with what it belongs to. Whether it was still this worker's: if not, nothing may be committed.
    async fn fail(
        job: &Held<Self>,
        env: &Environment,
        tx: &mut PgConnection,
        failure: FailedAttempt<'_>,
    ) -> Result<bool, Self::Error>;

    fn note_failed(job: &Held<Self>, env: &Environment);
}

/// Does what the error asks for. A database that does not answer to that keeps no slot.
pub(super) async fn retry_or_fail<J: JobKind>(env: &Environment, job: &mut Held<J>, error: BatchError) {
    let mut error = blame_server_or_query(env, error).await;
    job.queued.needs = error.needs();
    if error.verdict(job.attempt) == Verdict::WaitForDatabase {
        log(job, &error, &Verdict::WaitForDatabase);
        match lost::judge(env, job, &error).await {
            Ok(rest) => {
                give_back_when_possible(env, job, rest).await;
                return wait_for_database(env).await;
            }
            Err(failure) => error = failure,
        }
        // Connections in the pool may have broken with it.
        wait_for_database(env).await;
    }
    match timeout(ANSWERS_WITHIN, apply_verdict(env, job, &error)).await {
        Ok(done) => warn_unwritten(job, done),
        Err(_silence) => tracing::warn!(
            job_id = job.id, error = %without_values(&error.to_string()), "what becomes of the job could not be written: no answer; maintenance will release it"
        ),
    }
}

/// Gives a job back after `delay`. If that fails, the job stays this worker's.
pub(super) async fn give_back_after<J: JobKind>(env: &Environment, job: &Held<J>, delay: Duration) {
    warn_unwritten(job, put_back(env, J::pool(env), job, delay, None).await);
}

fn warn_unwritten<J: JobKind>(job: &Held<J>, done: Result<(), J::Error>) {
    if let Err(error) = done {
        tracing::warn!(job_id = job.id, error = %without_values(&error.to_string()), "what becomes of the job could not be written; maintenance will release it");
    }
}

async fn apply_verdict<J: JobKind>(env: &Environment, job: &mut Held<J>, error: &BatchError) -> Result<(), J::Error> {
    let Some(verdict) = J::verdict(job, env, error).await? else { return Ok(()) };
    log(job, error, &verdict);
    let db = J::pool(env);
    match verdict {
        Verdict::Drop => {
            job.finish(&mut *db.acquire().await?).await?;
        }
        Verdict::WaitForDatabase => put_back(env, db, job, Duration::ZERO, None).await?,
        Verdict::Later(delay) => put_back(env, db, job, delay, None).await?,
        Verdict::Retry(delay, class) => {
            put_back(env, db, job, delay, Some((class, &error.to_string()))).await?;
            J::count_repeated(job, env, class).await;
        }
        Verdict::GiveUp(class) => {
            let mut tx = db.begin().await?;
            if J::fail(job, env, &mut tx, (class, &error.to_string())).await? {
                tx.commit().await?;
                J::note_failed(job, env);
            }
        }
    }
    Ok(())
}

async fn put_back<J: JobKind>(
    env: &Environment,
    db: &PgPool,
    job: &Held<J>,
    delay: Duration,
    failure: Option<FailedAttempt<'_>>,
) -> Result<(), J::Error> {
    let mut tx = db.begin().await?;
    J::put_back(job, env, &mut tx, delay, failure).await?;
    tx.commit().await?;
    env.wake_after(delay);
    Ok(())
}

/// Gives a job back as soon as the database allows it, over the connections of heartbeats where those of jobs cannot be opened.
/// A worker that has connections goes on with it.
async fn give_back_when_possible<J: JobKind>(env: &Environment, job: &Held<J>, delay: Duration) {
    while !env.stop.is_cancelled() {
        match timeout(ANSWERS_WITHIN, put_back(env, &env.control, job, delay, None)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::debug!(job_id = job.id, error = %error, "the job could not be given back yet"),
            Err(_silence) => tracing::debug!(job_id = job.id, "the job could not be given back yet: no answer"),
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
async fn blame_server_or_query(env: &Environment, error: BatchError) -> BatchError {
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
fn log<J: JobKind>(job: &Held<J>, error: &BatchError, verdict: &Verdict) {
    let (job_id, batch, attempt) = (&job.id, job.queued.job.batch(), job.attempt + 1);
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
