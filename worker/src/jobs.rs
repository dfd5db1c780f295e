//! What jobs do: one file each. A job says what it is (`vitrina_shared::jobs::Job`), and [`run`] hands it on. What follows from
//! a failure is one function for all (`failure`).

mod execute_batch;
mod failure;
mod make_report;

use std::sync::Arc;

use chrono::Utc;
use serde_json::Value;
use vitrina_shared::{
    jobs::Job,
    metrics::{JOBS_IN_FLIGHT, WAKEUP},
    store::queue,
};

use crate::environment::Environment;

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
