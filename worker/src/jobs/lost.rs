//! Sessions that end under a job: is that the job's own doing?
//!
//! Servers are restarted, networks break and administrators end sessions, and none of that is an attempt. But a query or a trigger
//! may end its own session, or crash the server with all its sessions, and would do so again each time. The rule:
//!
//! - A session that the server ended *with words* counts, unless the server was restarted with it: it has another start then.
//! - One that ended *without a word*, while a statement of the job was under way, counts if the server is still the one of the loss
//!   before and has recovered from a crash since. A server that was killed from outside has another start, and a network that
//!   broke leaves no crash behind.
//! - The first loss has nothing to be compared with, and counts. A restart from outside, and a batch that is committed, begin anew.
//! - From a number of losses on ([`MOST_ENDED`], [`MOST_BROKEN`]) each one that counts is a failed attempt.
//! - A worker that stops before the database answers leaves the job where it is: the rescue counts it then (`MAX_RESCUES`).
//! - After a crash the job rests for a random time, longer each time: of several jobs that lost their sessions together the one
//!   that is not to blame gets on while the other one rests.

use std::time::Duration;

use rand::RngExt;
use tokio::time::timeout;
use vitrina_shared::{
    domain::ErrorClass,
    jobs::Held,
    store::server_life::{self, ServerLife},
};

use super::{AGAIN, ANSWERS_WITHIN};
use crate::{
    environment::Environment,
    error::{BatchError, LostSession},
};

const MOST_ENDED: u32 = 6;
/// Each one costs everyone's sessions.
const MOST_BROKEN: u32 = 3;
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Counts a lost session. How long the job rests, or the failure of an attempt. The database answers by then, or the worker stops.
pub(super) async fn judge<J>(env: &Environment, job: &mut Held<J>, error: &BatchError) -> Result<Duration, BatchError> {
    let Some(lost) = error.lost_session() else { return Ok(Duration::ZERO) };
    let Some(life) = read_life(env).await else { return Ok(Duration::ZERO) };
    let queued = &mut job.queued;
    let before = queued.lost;
    let counted = count(before, queued.lost_on.as_ref(), &life, &lost);
    queued.lost_on = Some(life);
    let most = match lost {
        LostSession::Ended(_) => MOST_ENDED,
        LostSession::Broken => MOST_BROKEN,
    };
    if before >= most && counted > before {
        return Err(failure(before, &lost, error));
    }
    queued.lost = counted;
    let crashed = lost == LostSession::Broken && counted > before && before > 0;
    Ok(if crashed { rest(counted) } else { Duration::ZERO })
}

/// How often a job's session was lost, with this loss, after which the server is as it is `now`.
fn count(times: u32, before: Option<&ServerLife>, now: &ServerLife, lost: &LostSession) -> u32 {
    let Some(before) = before.filter(|before| before.started == now.started) else { return 1 };
    match lost {
        LostSession::Ended(_) => times + 1,
        LostSession::Broken if before.recovered != now.recovered => times + 1,
        LostSession::Broken => times,
    }
}

fn failure(times: u32, lost: &LostSession, error: &BatchError) -> BatchError {
    let message = match lost {
        LostSession::Ended(said) => format!("the server ended the session {times} times: {said}"),
        LostSession::Broken => format!(
            "the server crashed {times} times while it executed a statement of this job, which may be what crashes it: {error}"
        ),
    };
    BatchError::Failed { class: ErrorClass::Transient, message }
}

fn rest(times: u32) -> Duration {
    let most = Duration::from_secs(1 << times.min(6)).min(LONGEST_REST);
    most.mul_f64(rand::rng().random_range(0.0..1.0))
}

/// The server's life, once it answers; nothing once the worker stops. A server that is about to crash may still answer as before:
/// then the next crash is the first that differs.
async fn read_life(env: &Environment) -> Option<ServerLife> {
    while !env.stop.is_cancelled() {
        let asked = async { server_life::read(&mut *env.control.acquire().await?).await };
        if let Ok(Ok(life)) = timeout(ANSWERS_WITHIN, asked).await {
            return Some(life);
        }
        tokio::time::sleep(AGAIN).await;
    }
    None
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;

    fn life(started: i64, recovered: i64) -> ServerLife {
        let at = |seconds| DateTime::<Utc>::from_timestamp(seconds, 0).expect("a time");
        ServerLife { started: at(started), recovered: Some(at(recovered)) }
    }

    #[test]
    fn a_loss_counts_unless_something_outside_explains_it() {
        let ended = LostSession::Ended("the end".to_owned());
        for (before, now, lost, expected) in [
            (None, life(1, 1), &ended, 1),
            (None, life(1, 1), &LostSession::Broken, 1),
            // The server ended this session alone.
            (Some(life(1, 1)), life(1, 1), &ended, 6),
            // A crash, with the same server ever since.
            (Some(life(1, 1)), life(1, 2), &LostSession::Broken, 6),
            (Some(life(1, 1)), life(1, 2), &ended, 6),
            // The network.
            (Some(life(1, 1)), life(1, 1), &LostSession::Broken, 5),
            // Restarted, gently and not, and another server.
            (Some(life(1, 1)), life(2, 1), &ended, 1),
            (Some(life(1, 1)), life(2, 1), &LostSession::Broken, 1),
            (Some(life(1, 1)), life(2, 2), &LostSession::Broken, 1),
        ] {
            assert_eq!(count(5, before.as_ref(), &now, lost), expected, "{before:?}, {now:?}, {lost:?}");
        }
    }
}
