//! How many rows a run will read, by the planner's estimate, for whoever watches it.

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use vitrina_shared::{
    guard::{self, QueryLimits},
    lifecycle::execution::HeldJob,
    store::runs::{self, BatchOutcome},
};

use super::plan::Plan;

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
    let after = outcome.last.as_ref().map(|position| position.0.clone());
    let value = |place: usize| after.as_ref().and_then(|after| after.get(place).cloned().flatten());
    let mut tx = connection.begin_with("begin read only").await?;
    guard::restrict(&mut tx, &QueryLimits::default()).await?;
    let plan: serde_json::Value = sqlx::query_scalar(AssertSqlSafe(format!("explain (format json) {}", plan.estimate)))
        .bind(value(0))
        .bind(value(1))
        .bind(&upper)
        .bind(plan.page_size)
        .bind(&after)
        .bind(&upper)
        .fetch_one(&mut *tx)
        .await?;
    tx.rollback().await?;
    Ok(plan.pointer("/0/Plan/Plan Rows").and_then(serde_json::Value::as_f64).map(|rows| rows as i64))
}
