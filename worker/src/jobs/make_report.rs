//! A report, and what happens when it goes wrong.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};
use tracing::{Instrument, field::Empty};
use uuid::Uuid;
use vitrina_shared::{
    jobs::{ReportJob, trace_context},
    metrics::{REPORT_DURATION, REPORTS},
    reports::{self, HeldReport, ReportError},
    store::backends::Reason,
};

use super::{
    failure::{self, FailedAttempt, JobKind},
    observe_wakeup,
};
use crate::{environment::Environment, error::BatchError, maintenance::statements, report};

/// How soon a report looks for a slot again when all are taken.
const SLOT_AGAIN: Duration = Duration::from_millis(500);

/// Begins a report beside the slots of batches. It ends with the worker's life: the worker that rescues its job begins anew.
pub fn start(env: Arc<Environment>, mut job: HeldReport) {
    env.take_up(&job.id);
    let span = tracing::info_span!(
        "report",
        report_id = %job.report_id,
        kind = %job.kind,
        pipeline = Empty,
        pipeline_id = Empty,
        correlation_id = job.correlation_id,
        worker = job.worker,
    );
    trace_context::go_on(&span, job.traceparent.as_deref());
    let made = async move {
        tokio::select! {
            () = attempt_report(&env, &mut job) => {}
            () = env.life.cancelled() => {}
        }
        env.put_down(&job.id);
    };
    tokio::spawn(made.instrument(span));
}

async fn attempt_report(env: &Environment, job: &mut HeldReport) {
    let Some(_slot) = env.report_slots.take(job.kind) else {
        // Another worker may have room.
        return failure::give_back_after(env, job, SLOT_AGAIN).await;
    };
    observe_wakeup(job);
    let (begun, id) = (Instant::now(), job.report_id.0);
    let outcome = tokio::select! {
        outcome = super::execute::<ReportJob, _>(env, id, report::make_report(env, job)) => {
            outcome.map_err(BatchError::during_statement)
        }
        // Left where it is: the worker's end gives all such jobs back at once.
        () = give_up_when_stopped(env, id) => return statements::cancel(&env.reports, id, Reason::Shutdown).await,
    };
    match outcome {
        Ok(()) => {
            let took = begun.elapsed();
            count(job, "DONE");
            metrics::histogram!(REPORT_DURATION, "kind" => job.kind.as_str()).record(took.as_secs_f64());
            tracing::info!(duration_ms = took.as_secs_f64() * 1000.0, "report made");
        }
        Err(error) => failure::retry_or_fail(env, job, error).await,
    }
}

/// Waits until the worker stops, and lets go of the report's connections then.
async fn give_up_when_stopped(env: &Environment, id: Uuid) {
    env.stop.cancelled().await;
    env.in_hand.give_up(id);
}

fn count(job: &HeldReport, status: &'static str) {
    metrics::counter!(REPORTS, "kind" => job.kind.as_str(), "status" => status).increment(1);
}

#[async_trait]
impl JobKind for ReportJob {
    const ATTEMPT: &'static str = "report";
    const WHOLE: &'static str = "report";
    type Error = ReportError;

    fn pool(env: &Environment) -> &PgPool {
        &env.reports
    }

    fn given_up() -> BatchError {
        BatchError::RunEnded("the report has ended".to_owned())
    }

    async fn put_back(
        job: &HeldReport,
        _env: &Environment,
        tx: &mut PgConnection,
        delay: Duration,
        failure: Option<FailedAttempt<'_>>,
    ) -> Result<(), ReportError> {
        reports::put_back(tx, job, delay, failure).await
    }

    async fn fail(
        job: &HeldReport,
        _env: &Environment,
        tx: &mut PgConnection,
        failure: FailedAttempt<'_>,
    ) -> Result<bool, ReportError> {
        reports::fail(tx, job, failure).await
    }

    fn note_failed(job: &HeldReport, _env: &Environment) {
        count(job, "FAILED");
    }
}
