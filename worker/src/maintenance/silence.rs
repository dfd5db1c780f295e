//! Gives up work whose connection fell silent: it waits for the server, and the server does not work on it.
//!
//! Neither side of such a connection notices that it is cut off, so a statement on it would keep its slot for ever. Another
//! connection asks the server. A session that executes a statement is left alone, however long it takes: `statement_timeout`
//! ends it. One that waits for its client, or is not there at all, will not answer; if the work has received nothing at the next
//! check, its remaining sessions are ended and the job returns to the queue. That counts as no failed attempt. Only sessions that
//! did nothing since the first check are ended: a newer one may belong to the next worker.

use std::time::Duration;

use sqlx::PgPool;
use uuid::Uuid;
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
    let sessions = backends::sessions(&mut connection, &waiting, PATIENCE).await?;
    let works = |id: &Uuid| sessions.iter().any(|session| session.id == *id && session.works);
    let silent: Vec<_> = waiting.into_iter().filter(|id| !works(id)).collect();
    let mut given_up = 0;
    for id in in_hand.note_silent(&silent, quiet) {
        // Before the job goes back: the sessions of the worker that takes it next have the same name.
        let own = sessions.iter().filter(|session| session.id == id);
        let ended = backends::terminate_unchanged(&mut connection, own).await?;
        statements::note(id, Reason::Orphaned, ended);
        if in_hand.give_up_silent(id) {
            tracing::warn!(id = %id, sessions = ended, "a connection fell silent: its job goes back to the queue");
            given_up += 1;
        }
    }
    Ok(given_up)
}
