//! What a run that is under way announces: rows so far, rows in total by the source's estimate, and pace.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::Position,
    lifecycle::execution::HeldJob,
    progress::{self, Progress, pace},
    store::runs::{self, BatchOutcome},
};

use crate::{error::BatchError, plan::Plan, source::PageQuery};

/// Announces the run's progress. The run goes on if that fails; after an error the caller gives the connection back.
pub(super) async fn announce(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
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
        pipeline_id: job.batch.pipeline_id.0,
        pipeline: plan.pipeline.clone(),
        run_id: job.batch.run_id.0,
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
    job: &HeldJob,
    outcome: &BatchOutcome,
) -> Result<Option<i64>, BatchError> {
    let run = job.batch.run_id;
    let page = page(connection, job, outcome.last.clone()).await?;
    let left = plan.reading.estimate(connection, run, &page).await?;
    let Some(total) = left.map(|left| outcome.run_rows_read + left) else { return Ok(None) };
    runs::set_total(connection, run, total).await?;
    Ok(Some(total))
}

/// The share of a page's cost that comes before its first row, where the source can tell.
pub(super) async fn fixed_share(connection: &mut PgConnection, plan: &Plan, job: &HeldJob) -> Option<f64> {
    let page = page(connection, job, job.batch.after.clone()).await.ok()?;
    let share = plan.reading.fixed_share(connection, job.batch.run_id, &page).await;
    share.inspect_err(|error| tracing::debug!(error = %error, "no estimate")).ok()?
}

async fn page(connection: &mut PgConnection, job: &HeldJob, after: Option<Position>) -> sqlx::Result<PageQuery> {
    Ok(PageQuery { after, upper: runs::upper(connection, job.batch.run_id).await? })
}
