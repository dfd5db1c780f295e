//! Ends statements that are not wanted any more: those of runs and reports that have ended, and those of batches that keep
//! a pipeline from resting.
//!
//! Cancelling a run cancels its statement at once (`lifecycle::cancel`). This is for what that could not see: a
//! statement that began just then, an API that died after its commit, and pauses. A worker looks only at what it has in
//! hand, by primary key, and at `pg_stat_activity` only where something is found: that is hardly ever.

use std::time::Duration;

use sqlx::PgPool;
use uuid::Uuid;
use vitrina_shared::{
    metrics::CANCELLED_STATEMENTS,
    store::backends::{self, Reason},
};

use crate::{in_hand::InHand, session::LONGEST_STATEMENT};

/// How much longer it may be there.
const GRACE: Duration = Duration::from_secs(30);

/// Cancels what is not wanted any more, and gives up what did not end by that. Returns how many statements it cancelled.
pub async fn run_once(db: &PgPool, in_hand: &InHand, pause_after: Duration) -> sqlx::Result<u64> {
    let ids = in_hand.ids();
    if ids.is_empty() {
        return Ok(0);
    }
    let mut connection = db.acquire().await?;
    let unwanted = backends::unwanted(&mut connection, &ids, pause_after).await?;
    let mut cancelled = 0;
    for (id, reason) in &unwanted {
        let statements = backends::cancel(&mut connection, *id).await?;
        note(*id, *reason, statements);
        cancelled += statements;
    }
    let unwanted: Vec<Uuid> = unwanted.into_iter().map(|(id, _)| id).collect();
    for id in in_hand.note_unwanted(&unwanted) {
        // Before the job goes back: the sessions of the worker that takes it next have the same name. A query can go on after it was
        // cancelled; it cannot go on after this, once the server looks.
        let sessions = backends::terminate(&mut connection, &[id]).await?;
        tracing::warn!(id = %id, sessions, "a cancelled statement did not end: its session is ended and its connection given up");
        in_hand.give_up(id);
    }
    Ok(cancelled)
}

/// Ends sessions whose statement goes on although its time is up, as a query can that catches its cancellation.
pub async fn end_overdue(db: &PgPool) -> sqlx::Result<()> {
    let ended = backends::terminate_overdue(&mut *db.acquire().await?, LONGEST_STATEMENT + GRACE).await?;
    if ended > 0 {
        tracing::warn!(sessions = ended, "statements went on although their time was up: their sessions are ended");
    }
    Ok(())
}

/// Cancels the statements of a run or report. Failing to do so does no harm: they end with their connection.
pub async fn cancel(db: &PgPool, id: Uuid, reason: Reason) {
    let cancelled = async { backends::cancel(&mut *db.acquire().await?, id).await };
    match cancelled.await {
        Ok(statements) => note(id, reason, statements),
        Err(error) => tracing::warn!(id = %id, error = %error, "statements could not be cancelled"),
    }
}

/// Counts and logs what was cancelled for a run or report.
pub fn note(id: Uuid, reason: Reason, statements: u64) {
    if statements > 0 {
        metrics::counter!(CANCELLED_STATEMENTS, "reason" => reason.as_str()).increment(statements);
        tracing::warn!(id = %id, reason = reason.as_str(), statements, "cancelled what the server executes for it");
    }
}
