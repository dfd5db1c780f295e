//! A report, and what happens when it goes wrong.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration, time::Instant};

use futures_util::FutureExt;
use sqlx::PgPool;
use tokio::time::timeout;
use tracing::{Instrument, field::Empty};
use vitrina_shared::{
    domain::error_class::without_values,
    jobs::{ReportJob, trace_context},
    metrics::{REPORT_DURATION, REPORTS},
    reports::{self, HeldReport, ReportError},
    store::{backends::Reason, queue},
};

use super::{ANSWERS_WITHIN, attribute, give_back_when_possible, observe_wakeup, wait_for_database};
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
    let job = HeldReport { id, job, worker: env.name.clone() };
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
            () = make(&env, &job) => {}
            () = env.life.cancelled() => {}
        }
        env.put_down(&job.id);
    };
    tokio::spawn(made.instrument(span));
}

async fn make(env: &Environment, job: &HeldReport) {
    let Some(_slot) = env.report_slots.take(job.job.kind) else {
        // Another worker may have room.
        return settled(job, give_back(env, &env.reports, job, SLOT_AGAIN).await);
    };
    observe_wakeup(job.job.queued_us, job.job.attempt);
    let begun = Instant::now();
    let held = env.in_hand.take_up(job.job.report_id.0);
    let outcome = tokio::select! {
        outcome = AssertUnwindSafe(report::make(env, job)).catch_unwind() => outcome,
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
        Err(error) => {
            let error = attribute(env, error).await.unless_lost(job.job.lost);
            if error.lost_session() {
                let job = HeldReport { job: job.job.lost(), ..job.clone() };
                return settle_in_time(env, &job, &error).await;
            }
            settle_in_time(env, job, &error).await;
        }
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

/// Does what the error asks for. A database that does not answer to that keeps no slot.
async fn settle_in_time(env: &Environment, job: &HeldReport, error: &BatchError) {
    if matches!(error, BatchError::Away(_) | BatchError::ReadOnly(_)) {
        tell(job, error, &Verdict::WaitForDatabase);
        give_back_when_possible(env, &job.id, || give_back(env, &env.control, job, Duration::ZERO).boxed()).await;
        return wait_for_database(env).await;
    }
    if timeout(ANSWERS_WITHIN, settle(env, job, error)).await.is_err() {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be settled: no answer; maintenance will release it");
    }
}

/// Does what the error asks for.
async fn settle(env: &Environment, job: &HeldReport, error: &BatchError) {
    let verdict = error.verdict(job.job.attempt);
    tell(job, error, &verdict);
    let result = match verdict {
        Verdict::Drop => drop_job(env, job).await,
        Verdict::WaitForDatabase => give_back(env, &env.reports, job, Duration::ZERO).await,
        Verdict::Later(delay) => give_back(env, &env.reports, job, delay).await,
        Verdict::Retry(delay, class) => {
            let again = async {
                let mut tx = env.reports.begin().await?;
                reports::retry(&mut tx, job, delay, class, &error.to_string()).await?;
                tx.commit().await?;
                env.wake_after(delay);
                Ok(())
            };
            again.await
        }
        Verdict::GiveUp(class) => {
            let end = async {
                let mut tx = env.reports.begin().await?;
                if reports::fail(&mut tx, job, class, &error.to_string()).await? {
                    tx.commit().await?;
                    count(job, "FAILED");
                }
                Ok(())
            };
            end.await
        }
    };
    settled(job, result);
}

fn tell(job: &HeldReport, error: &BatchError, verdict: &Verdict) {
    let error = error.to_string();
    // Whoever may read the report finds there what the log leaves out.
    let error = without_values(&error);
    match verdict {
        Verdict::Drop => tracing::warn!(job_id = job.id, error = %error, "report dropped"),
        Verdict::WaitForDatabase => tracing::warn!(job_id = job.id, error = %error, "waiting for the database"),
        Verdict::Later(_) => tracing::debug!(job_id = job.id, error = %error, "job given back"),
        Verdict::Retry(delay, class) => tracing::warn!(
            job_id = job.id, attempt = job.job.attempt + 1, error_class = %class, error = %error,
            delay_ms = delay.as_millis() as u64, "report failed and will be repeated",
        ),
        Verdict::GiveUp(class) => tracing::error!(
            job_id = job.id, attempt = job.job.attempt + 1, error_class = %class, error = %error, "report failed",
        ),
    }
}

/// If even that fails, the job stays ours and is released by maintenance.
fn settled(job: &HeldReport, result: Result<(), ReportError>) {
    if let Err(error) = result {
        tracing::warn!(job_id = job.id, error = %error, "the job could not be settled; maintenance will release it");
    }
}

async fn drop_job(env: &Environment, job: &HeldReport) -> Result<(), ReportError> {
    queue::finish(&mut *env.reports.acquire().await?, &job.id, &job.worker).await?;
    Ok(())
}

async fn give_back(env: &Environment, db: &PgPool, job: &HeldReport, delay: Duration) -> Result<(), ReportError> {
    let mut tx = db.begin().await?;
    reports::give_back(&mut tx, job, delay).await?;
    tx.commit().await?;
    env.wake_after(delay);
    Ok(())
}
