//! What jobs do: one file for each kind, and what all kinds have in common.
//!
//! [`execute`] is an attempt at a job; what follows if it failed is one function for all (`failure`).

pub mod execute_batch;
mod failure;
mod lost;
pub mod make_report;

use std::{panic::AssertUnwindSafe, time::Duration};

use chrono::Utc;
use futures_util::FutureExt;
use uuid::Uuid;
use vitrina_shared::{jobs::Held, metrics::WAKEUP};

use self::failure::JobKind;
use crate::{environment::Environment, error::BatchError};

/// How soon a database that is away is asked again.
const AGAIN: Duration = Duration::from_millis(250);
/// How long the database may take to write what becomes of a job.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// Executes an attempt at a job of a run or report, until it ends, panics or is given up with a statement that does not.
async fn execute<J: JobKind, T>(
    env: &Environment,
    id: Uuid,
    attempt: impl Future<Output = Result<T, BatchError>>,
) -> Result<T, BatchError> {
    let work = env.in_hand.take_up(id);
    let outcome = tokio::select! {
        outcome = AssertUnwindSafe(attempt).catch_unwind() => outcome,
        silent = work.given_up() => Ok(Err(if silent { BatchError::Silent } else { J::given_up() })),
    };
    let panicked = |_| Err(BatchError::fatal(format!("the {} panicked; the log has the place", J::ATTEMPT)));
    outcome.unwrap_or_else(panicked)
}

/// How long a job waited after it was queued, by the clocks of server and worker.
fn observe_wakeup<J>(job: &Held<J>) {
    if let Some(queued) = job.queued_us.filter(|_| job.attempt == 0) {
        let waited = (Utc::now().timestamp_micros() - queued).max(0);
        metrics::histogram!(WAKEUP).record(waited as f64 / 1_000_000.0);
    }
}
