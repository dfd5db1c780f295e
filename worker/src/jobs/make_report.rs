//! A report, and what happens when it goes wrong.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration, time::Instant};

use futures_util::FutureExt;
use sqlx::{PgConnection, PgPool};
use tracing::{Instrument, field::Empty};
use vitrina_shared::{
    domain::ErrorClass,
    jobs::{ReportJob, trace_context},
    metrics::{REPORT_DURATION, REPORTS},
    reports::{self, HeldReport, ReportError},
    store::backends::Reason,
};

use super::{
    failure::{self, FailedJob},
    observe_wakeup,
};
use crate::{
    environment::Environment,
    error::{BatchError, Verdict},
    in_hand::Held,
    maintenance::statements,
    report,
};

/// Why a report ended whose statement did not.
const GIVEN_UP: &str = "the report has ended";

/// How soon a report looks for a slot again when all are taken.
const SLOT_AGAIN: Duration = Duration::from_millis(500);

/// Begins a report beside the slots of batches. It ends with the worker's life: whoever rescues its job begins anew.
pub(super) fn start(env: Arc<Environment>, id: String, job: ReportJob) {
    env.take_up(&id);
    let mut job = HeldReport { id, job, worker: env.name.clone() };
    let span = tracing::info_span!(
        "report",
        report_id = %job.job.report_id,
        kind = %job.job.kind,
        pipeline = Empty,
        pipeline_id = Empty,
        correlation_id = job.job.correlation_id,
        worker = job.worker,
    );
    trace_context::go_on(&span, job.job.traceparent.as_deref());
    let made = async move {
        tokio::select! {
            () = make(&env, &mut job) => {}
            () = env.life.cancelled() => {}
        }
        env.put_down(&job.id);
    };
    tokio::spawn(made.instrument(span));
}

async fn make(env: &Environment, job: &mut HeldReport) {
    let Some(_slot) = env.report_slots.take(job.job.kind) else {
        // Another worker may have room.
        return failure::give_back_after(env, job, SLOT_AGAIN).await;
    };
    observe_wakeup(job.job.queued_us, job.job.attempt);
    let begun = Instant::now();
    let held = env.in_hand.take_up(job.job.report_id.0);
    let outcome = tokio::select! {
        outcome = AssertUnwindSafe(report::make_report(env, job)).catch_unwind() => outcome,
        // Left where it is: whoever ends the worker gives all such jobs back at once.
        () = stopped(env, &held) => return statements::cancel(&env.reports, job.job.report_id.0, Reason::Shutdown).await,
        silent = held.given_up() => Ok(Err(given_up(silent))),
    };
    drop(held);
    let outcome = outcome.unwrap_or_else(|_| Err(BatchError::fatal("the report panicked; the log has the place")));
    match outcome {
        Ok(()) => {
            let took = begun.elapsed();
            count(job, "DONE");
            metrics::histogram!(REPORT_DURATION, "kind" => job.job.kind.as_str()).record(took.as_secs_f64());
            tracing::info!(duration_ms = took.as_secs_f64() * 1000.0, "report made");
        }
        Err(error) => failure::retry_or_fail(env, job, error).await,
    }
}

fn given_up(silent: bool) -> BatchError {
    if silent { BatchError::Silent } else { BatchError::RunEnded(GIVEN_UP.to_owned()) }
}

/// Waits until the worker stops, and lets go of the report's connections then.
async fn stopped(env: &Environment, held: &Held<'_>) {
    env.stop.cancelled().await;
    held.give_up();
}

fn count(job: &HeldReport, status: &'static str) {
    metrics::counter!(REPORTS, "kind" => job.job.kind.as_str(), "status" => status).increment(1);
}

impl FailedJob for HeldReport {
    const ATTEMPT: &'static str = "report";
    const WHOLE: &'static str = "report";
    type Error = ReportError;

    fn id(&self) -> &str {
        &self.id
    }

    fn worker(&self) -> &str {
        &self.worker
    }

    fn batch(&self) -> Option<i64> {
        None
    }

    fn attempt(&self) -> u32 {
        self.job.attempt
    }

    fn lost(&mut self) -> &mut u32 {
        &mut self.job.lost
    }

    fn pool(env: &Environment) -> &PgPool {
        &env.reports
    }

    async fn verdict(&mut self, _env: &Environment, error: &BatchError) -> Result<Option<Verdict>, ReportError> {
        Ok(Some(error.verdict(self.job.attempt)))
    }

    async fn give_back(&self, tx: &mut PgConnection, delay: Duration) -> Result<(), ReportError> {
        reports::give_back(tx, self, delay).await
    }

    async fn repeat(
        &self,
        tx: &mut PgConnection,
        delay: Duration,
        class: ErrorClass,
        error: &str,
    ) -> Result<(), ReportError> {
        reports::retry(tx, self, delay, class, error).await
    }

    async fn repeated(&self, _env: &Environment, _class: ErrorClass) {}

    async fn fail(&self, tx: &mut PgConnection, class: ErrorClass, error: &str) -> Result<bool, ReportError> {
        reports::fail(tx, self, class, error).await
    }

    fn failed(&self, _env: &Environment) {
        count(self, "FAILED");
    }
}
