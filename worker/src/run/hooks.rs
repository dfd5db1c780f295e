//! The hooks of a batch, called in the transaction that commits it.

use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    domain::{HookEvent, Hooks},
    lifecycle::hooks,
    store::runs::{self, BatchCall, BatchOutcome},
};

use crate::error::{BatchError, at_commit};

/// Executes a batch whose rows do not leave the server, with its hooks. What the server says of the batch itself comes back as it
/// is: a row of it may have been refused.
pub(super) async fn run_batch(
    connection: &mut PgConnection,
    hooks: &Hooks,
    call: &BatchCall<'_>,
) -> Result<sqlx::Result<BatchOutcome>, BatchError> {
    if !hooks.has(HookEvent::AfterBatch) {
        return Ok(runs::run_batch(connection, call).await);
    }
    let mut tx = connection.begin().await?;
    let outcome = match runs::run_batch(&mut tx, call).await {
        Ok(outcome) => outcome,
        refused => return Ok(refused),
    };
    call_after_batch(&mut tx, hooks, call, &[]).await?;
    tx.commit().await.map_err(at_commit)?;
    Ok(Ok(outcome))
}

/// Calls the hooks of a batch that is to be committed, first those of the letters that it opened.
pub(super) async fn call_after_batch(
    tx: &mut PgConnection,
    hooks: &Hooks,
    call: &BatchCall<'_>,
    opened: &[i64],
) -> Result<(), BatchError> {
    if hooks.has(HookEvent::OnRowRejected) && !opened.is_empty() {
        hooks::on_row_rejected(tx, call.run, opened).await?;
    }
    if hooks.has(HookEvent::AfterBatch) {
        hooks::after_batch(tx, call.run, call.number).await?;
    }
    Ok(())
}
