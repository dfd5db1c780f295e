//! Connections that fall silent: a machine, a proxy or a table of a firewall in between forgot them, and neither side gets
//! an error.
//!
//! A statement on such a connection would wait for ever, and so would the pool that tests it. So every wait of a pool has a
//! limit here. If an idle connection does not answer, the pool closes all older ones untested, since the same cause has
//! probably cut them off. A connection that is returned in the middle of a statement gets a moment to end it, and is closed
//! after that.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use sqlx::{Connection, PgConnection, pool::PoolConnectionMetadata, postgres::PgPoolOptions};
use tokio::time::timeout;

/// For how long a connection is used again without asking whether it is still there.
const TRUSTED: Duration = Duration::from_secs(1);
/// How long an idle connection may take to answer. Half of what a caller waits for a connection: the rest is for a new one.
const ANSWERS_WITHIN: Duration = Duration::from_millis(1500);
/// How long a connection may take to end what it is in the middle of when it comes back. Statements whose caller gave up
/// have ended by then, or will not.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// How long every connection is asked before it is used, after one did not come back.
const DOUBTS_FOR: Duration = Duration::from_secs(10);

/// Resets a session, and returns whether it can be used again.
pub(super) type Renew = for<'c> fn(&'c mut PgConnection) -> BoxFuture<'c, sqlx::Result<bool>>;

/// The state of a pool: since when its connections are suspected to be silent.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// When a connection was found silent: all that were opened before are closed.
    suspicious_since: Option<Instant>,
    /// A connection did not come back: until then every one is asked before it is used.
    doubtful_until: Option<Instant>,
    /// Connections in use, and when that number last changed.
    in_use: usize,
    /// How often one was taken.
    taken: u64,
    changed_at: Option<Instant>,
}

impl Silence {
    /// Bounds every wait of a pool. `renew` resets a session before it is used again.
    pub fn bounds(&self, options: PgPoolOptions, renew: Renew) -> PgPoolOptions {
        let (opened, taken, returned) = (self.clone(), self.clone(), self.clone());
        options
            .after_connect(move |_, _| {
                opened.note(1);
                Box::pin(async { Ok(()) })
            })
            .before_acquire(move |connection, meta| {
                let silence = taken.clone();
                Box::pin(async move { Ok(silence.may_take(connection, &meta).await) })
            })
            .after_release(move |connection, meta| {
                returned.note(-1);
                let silence = returned.clone();
                Box::pin(async move { silence.may_keep(connection, &meta, renew).await })
            })
    }

    /// Observes whether a statement does not return.
    pub fn watch(&self) -> Watch {
        Watch(self.clone())
    }

    /// Asks a connection that has been idle for a while whether it is still one. A busy one would only lose a round trip.
    async fn may_take(&self, connection: &mut PgConnection, meta: &PoolConnectionMetadata) -> bool {
        if self.distrusts(meta.age) {
            return false;
        }
        if meta.idle_for > TRUSTED || self.doubts() {
            match timeout(ANSWERS_WITHIN, connection.ping()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = %error, "an idle connection was lost");
                    return false;
                }
                Err(_silence) => {
                    tracing::warn!("an idle connection to the database is silent; all that are as old are closed");
                    self.lock().suspicious_since = Some(Instant::now());
                    return false;
                }
            }
        }
        self.note(1);
        true
    }

    /// Lets a connection end what it is in the middle of, and makes its session new again.
    async fn may_keep(
        &self,
        connection: &mut PgConnection,
        meta: &PoolConnectionMetadata,
        renew: Renew,
    ) -> sqlx::Result<bool> {
        if self.distrusts(meta.age) {
            return Ok(false);
        }
        match timeout(ENDS_WITHIN, renew(connection)).await {
            Ok(ended) => ended,
            Err(_silence) => {
                tracing::warn!("a connection to the database did not end its statement and is closed");
                // Connections that were idle for a moment only are asked again before they are used.
                self.lock().doubtful_until = Some(Instant::now() + DOUBTS_FOR);
                Ok(false)
            }
        }
    }

    /// Whether a connection of this age is older than the last suspicion.
    fn distrusts(&self, age: Duration) -> bool {
        self.lock().suspicious_since.is_some_and(|since| age > since.elapsed())
    }

    fn doubts(&self) -> bool {
        self.lock().doubtful_until.is_some_and(|until| Instant::now() < until)
    }

    fn note(&self, change: isize) {
        let mut state = self.lock();
        state.in_use = state.in_use.saturating_add_signed(change);
        state.taken += u64::from(change > 0);
        state.changed_at = Some(Instant::now());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how a pool is used, and whether a statement of it does not come back.
#[derive(Debug, Clone)]
pub struct Watch(Silence);

impl Watch {
    pub fn taken(&self) -> u64 {
        self.0.lock().taken
    }

    /// Whether connections are in use, and for as long as `limit` none was taken or returned.
    pub fn is_stuck(&self, limit: Duration) -> bool {
        let state = self.0.lock();
        state.in_use > 0 && state.changed_at.is_some_and(|at| at.elapsed() > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_opened_before_the_suspicion_is_distrusted() {
        let silence = Silence::default();
        assert!(!silence.distrusts(Duration::from_secs(3600)));
        silence.lock().suspicious_since = Some(Instant::now());
        assert!(silence.distrusts(Duration::from_secs(1)));
        assert!(!silence.distrusts(Duration::ZERO));
    }

    #[test]
    fn a_pool_is_stuck_while_nothing_comes_back() {
        let silence = Silence::default();
        assert!(!silence.watch().is_stuck(Duration::ZERO));
        silence.note(1);
        assert!(silence.watch().is_stuck(Duration::ZERO));
        silence.note(-1);
        assert!(!silence.watch().is_stuck(Duration::ZERO));
    }
}
