//! What jobs do: one file each. A job says what it is (`vitrina_shared::jobs::Job`), and [`run`] hands it on.

mod execute_batch;
mod make_report;

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;
use vitrina_shared::{
    database,
    jobs::Job,
    metrics::{JOBS_IN_FLIGHT, WAKEUP},
    store::queue,
};

use crate::{environment::Environment, error::BatchError};

/// How soon a database that is away is asked again.
const AGAIN: Duration = Duration::from_millis(250);
/// How long the database may take to settle a job.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// Executes a job. Whatever happens, the queue's row says so afterwards, or another worker will find it.
///
/// A batch keeps the slot that the queue gave it. A report only passes through: it has slots of its own.
pub async fn run(env: Arc<Environment>, id: String, payload: Value) {
    let _in_flight = InFlight::begin();
    match Job::decode(payload) {
        Ok(Job::Batch(batch)) => execute_batch::run(env, id, batch).await,
        Ok(Job::Report(report)) => make_report::start(env, id, report),
        Err(error) => discard(&env, &id, &error).await,
    }
}

/// Counts a job as being executed until it is dropped, however that comes about.
struct InFlight;

impl InFlight {
    fn begin() -> Self {
        metrics::gauge!(JOBS_IN_FLIGHT).increment(1.0);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!(JOBS_IN_FLIGHT).decrement(1.0);
    }
}

/// A payload that cannot be read would be taken up again and again.
async fn discard(env: &Environment, id: &str, error: &serde_json::Error) {
    let reason = format!("the job's payload cannot be read: {error}");
    tracing::error!(job_id = id, error = reason, "job discarded");
    if let Ok(mut connection) = env.db.acquire().await
        && let Err(error) = queue::kill(&mut connection, id, &reason).await
    {
        tracing::warn!(job_id = id, error = %error, "the job could not be discarded");
    }
}

/// How long a job waited after it was queued, by the clocks of server and worker.
fn observe_wakeup(queued_us: Option<i64>, attempt: u32) {
    if let Some(queued) = queued_us.filter(|_| attempt == 0) {
        let waited = (Utc::now().timestamp_micros() - queued).max(0);
        metrics::histogram!(WAKEUP).record(waited as f64 / 1_000_000.0);
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

/// Tells a server that takes no writes, which passes, from a query that tries to write, which does not.
async fn attribute(env: &Environment, error: BatchError) -> BatchError {
    if let BatchError::ReadOnly(message) = &error
        && takes_writes(env).await
    {
        return BatchError::fatal(format!("the query tries to write: {message}"));
    }
    error
}

/// Gives a job back as soon as the database lets us, over the connections of heartbeats where those of jobs cannot be opened.
/// Whoever has some goes on with it.
async fn give_back_when_possible<'a, E: std::fmt::Display>(
    env: &Environment,
    id: &str,
    give_back: impl Fn() -> BoxFuture<'a, Result<(), E>>,
) {
    while !env.stop.is_cancelled() {
        match timeout(ANSWERS_WITHIN, give_back()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::debug!(job_id = id, error = %error, "the job could not be given back yet"),
            Err(_silence) => tracing::debug!(job_id = id, "the job could not be given back yet: no answer"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}
