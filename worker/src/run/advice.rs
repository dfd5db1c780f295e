//! One line at the end of every run, with advice where there is any.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::advice::Facts,
    lifecycle::execution::HeldBatch,
    store::runs::{self, Sum},
};

use super::progress;
use crate::plan::Plan;

/// Logs what a run did. The planner is asked only about runs whose batches took long.
pub(super) async fn summarize(connection: &mut PgConnection, job: &HeldBatch, plan: &Plan, sum: Sum) {
    let Sum { rows_read, rows_written, batches, attempts, seconds } = sum;
    let steps = match plan.steps() {
        Some(_) => runs::steps(connection, job.run_id).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut facts = Facts { batches, attempts, seconds, fixed_share: None, steps: &steps };
    if facts.batches_are_long() {
        facts.fixed_share = progress::fixed_share(connection, plan, job).await;
    }
    let advice = facts.advice();
    tracing::info!(
        rows_read,
        rows_written,
        batches,
        attempts,
        duration_ms = seconds * 1000.0,
        rows_per_second = if seconds > 0.0 { rows_read as f64 / seconds } else { 0.0 },
        advice = (!advice.is_empty()).then(|| advice.join("; ")),
        "run finished",
    );
}
