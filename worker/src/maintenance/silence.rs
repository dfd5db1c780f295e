//! Gives up work whose connection fell silent: it waits for the server, and the server does not work on it.
//!
//! Neither side of such a connection is told that it is cut off, so a statement on it would keep its slot for ever. Another
//! connection asks the server. A session that executes a statement is left alone, however long it takes: `statement_timeout`
//! ends it. One that waits for its client, or is not there at all, will not answer; if the work has heard nothing by the next
//! look either, what is left of its sessions is ended, and the job goes back to the queue. That is nobody's failed attempt.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::store::backends::{self, Reason};

use super::statements;
use crate::in_hand::{InHand, PATIENCE};

/// For how many heartbeats work may wait before the server is asked about it.
const QUIET_HEARTBEATS: u32 = 6;

/// Looks for silent work and gives it up. Returns how much.
pub async fn run_once(db: &PgPool, in_hand: &InHand, heartbeat: Duration) -> sqlx::Result<usize> {
    let quiet = PATIENCE.max(heartbeat * QUIET_HEARTBEATS);
    let waiting = in_hand.waiting(quiet);
    if waiting.is_empty() {
        return Ok(0);
    }
    let mut connection = db.acquire().await?;
    let working = backends::working(&mut connection, &waiting, PATIENCE).await?;
    let silent: Vec<_> = waiting.into_iter().filter(|id| !working.contains(id)).collect();
    let silent = in_hand.note_silent(&silent, quiet);
    for id in &silent {
        // Before the job goes back: the sessions of whoever takes it next have the same name.
        let sessions = backends::terminate(&mut connection, &[*id]).await?;
        statements::note(*id, Reason::Orphaned, sessions);
        tracing::warn!(id = %id, sessions, "a connection fell silent: its job goes back to the queue");
        in_hand.give_up_silent(*id);
    }
    Ok(silent.len())
}
