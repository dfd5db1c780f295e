//! What a run that is under way shows: its metrics, and how far it is (rows so far and in total, by an estimate, and pace).

use std::time::Duration;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{ErrorClass, Position},
    lifecycle::execution::HeldBatch,
    metrics::{self, BATCH_DURATION, BATCH_PHASE, RETRIES},
    progress::{self, Progress, pace},
    store::runs::{self, BatchOutcome},
};

use crate::{error::BatchError, plan::Plan, source::PageQuery};

/// Shows a pipeline's counters from 0 on: what Prometheus has not seen before does not count as an increase.
pub(super) fn show_series(pipeline: &str) {
    metrics::add_pipeline(pipeline);
    for class in [ErrorClass::Transient, ErrorClass::RateLimited] {
        ::metrics::counter!(RETRIES, "pipeline" => pipeline.to_owned(), "class" => class.as_str()).increment(0);
    }
}

/// Notes how long a part of the work took: `open`, `page` or `close`.
pub(super) fn observe_phase(pipeline: &str, phase: &'static str, took: Duration) {
    let pipeline = metrics::histogram_label(pipeline);
    ::metrics::histogram!(BATCH_PHASE, "pipeline" => pipeline, "phase" => phase).record(took.as_secs_f64());
}

/// Notes how long a batch took. Its rows are counted by the batch itself, on its run: a count kept here would die with the worker.
pub(super) fn observe_batch(pipeline: &str, took: Duration) {
    let label = metrics::histogram_label(pipeline);
    ::metrics::histogram!(BATCH_DURATION, "pipeline" => label).record(took.as_secs_f64());
    observe_phase(pipeline, "page", took);
}

/// Announces the run's progress. The run goes on if that fails; after an error the caller gives the connection back.
pub(super) async fn announce(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldBatch,
    outcome: &BatchOutcome,
) -> Result<(), BatchError> {
    let rows_total = match outcome.run_rows_total {
        Some(total) => Some(total),
        None => estimate_total(connection, plan, job, outcome)
            .await
            .inspect_err(|error| tracing::debug!(error = %error, "no estimate"))?,
    };
    let (rows_per_second, eta_seconds) = pace(outcome.run_rows_read, rows_total, Some(outcome.run_seconds));
    let progress = Progress {
        pipeline_id: job.pipeline_id.0,
        pipeline: plan.pipeline.clone(),
        run_id: job.run_id.0,
        rows_read: outcome.run_rows_read,
        rows_written: outcome.run_rows_written,
        rows_total,
        rows_per_second,
        eta_seconds,
    };
    if let Err(error) = progress::announce(connection, &progress).await {
        tracing::debug!(error = %error, "progress was not announced");
    }
    Ok(())
}

/// Estimates what is left after a batch, and notes the total on the run.
async fn estimate_total(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldBatch,
    outcome: &BatchOutcome,
) -> Result<Option<i64>, BatchError> {
    let run = job.run_id;
    let page = page(connection, job, outcome.last.clone()).await?;
    let left = plan.reading.estimate(connection, run, &page).await?;
    let Some(total) = left.map(|left| outcome.run_rows_read + left) else { return Ok(None) };
    runs::set_total(connection, run, total).await?;
    Ok(Some(total))
}

/// The share of a page's cost that comes before its first row, where the source can tell.
pub(super) async fn fixed_share(connection: &mut PgConnection, plan: &Plan, job: &HeldBatch) -> Option<f64> {
    let page = page(connection, job, job.after.clone()).await.ok()?;
    let share = plan.reading.fixed_share(connection, job.run_id, &page).await;
    share.inspect_err(|error| tracing::debug!(error = %error, "no estimate")).ok()?
}

async fn page(connection: &mut PgConnection, job: &HeldBatch, after: Option<Position>) -> sqlx::Result<PageQuery> {
    Ok(PageQuery { after, upper: runs::upper(connection, job.run_id).await? })
}
