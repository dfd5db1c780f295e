//! How many rows a run will read, by the planner's estimate, for whoever watches it.

use sqlx::PgConnection;
use vitrina_shared::{
    lifecycle::execution::HeldJob,
    store::{
        backends,
        runs::{self, BatchOutcome},
    },
};

use super::plan::{Bound, Plan};

/// Planning takes no longer than this, and writes nothing.
const LIMITED: &str = "begin read only; set local statement_timeout = '5s'; set local lock_timeout = '2s'";

/// Estimates what is left after a batch and notes the total on the run. A run goes on without it.
pub(super) async fn total(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    outcome: &BatchOutcome,
) -> Option<i64> {
    let total = rows_left(connection, plan, job, outcome)
        .await
        .inspect_err(|error| tracing::debug!(error = %error, "no estimate"))
        .ok()?
        .map(|left| outcome.run_rows_read + left)?;
    runs::set_total(connection, job.batch.run_id, total).await.ok()?;
    Some(total)
}

async fn rows_left(
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    outcome: &BatchOutcome,
) -> sqlx::Result<Option<i64>> {
    let upper = runs::upper(connection, job.batch.run_id, job.batch.range).await?;
    let mut tx = backends::begin(connection, job.batch.run_id.0, LIMITED).await?;
    let plan: serde_json::Value = sqlx::query_scalar("select etl_page.estimate($1, $2, $3, $4, $5)")
        .bind(&plan.estimate)
        .bind(&outcome.last)
        .bind(&upper)
        .bind(plan.page_size)
        .bind(plan.bound == Bound::Clock)
        .fetch_one(&mut *tx)
        .await?;
    tx.rollback().await?;
    Ok(plan.pointer("/0/Plan/Plan Rows").and_then(serde_json::Value::as_f64).map(|rows| rows as i64))
}
