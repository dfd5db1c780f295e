//! Sessions that execute a user's text for a run or a report.
//!
//! Their transactions carry the id in their name, so that a cancellation finds them (`store::backends`). A session whose
//! work was given up closes its connection: back in the pool, it would wait for its statement and keep its place.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{PgConnection, PgPool, Postgres, Transaction, pool::PoolConnection};
use vitrina_shared::store::backends;

use crate::in_hand::{Waiting, WorkHandle};

/// The longest time that any statement of the services has.
pub const LONGEST_STATEMENT: Duration = Duration::from_secs(600);

/// Where the sessions of a run or report come from.
#[derive(Debug, Clone)]
pub struct Sessions {
    pool: PgPool,
    work: WorkHandle,
}

impl Sessions {
    /// Sessions of a pool for this work, which close with their connections once it is given up.
    pub fn new(pool: &PgPool, work: WorkHandle) -> Self {
        Self { pool: pool.clone(), work }
    }

    /// Notes that the server is waited for until what is returned is dropped.
    pub fn wait(&self) -> Waiting {
        self.work.waits.begin()
    }

    pub async fn acquire(&self) -> sqlx::Result<Session> {
        let connection = self.pool.acquire().await?;
        Ok(Session { connection, work: self.work.clone(), in_the_middle: false })
    }
}

/// A connection in the hands of a job.
#[derive(Debug)]
pub struct Session {
    connection: PoolConnection<Postgres>,
    work: WorkHandle,
    /// Whether dropping it now would leave a statement under way.
    in_the_middle: bool,
}

impl Session {
    /// Begins a transaction that carries the id. `begin` is the statement.
    pub async fn begin_named(&mut self, begin: &str) -> sqlx::Result<Transaction<'_, Postgres>> {
        backends::begin(&mut self.connection, self.work.id, begin).await
    }

    /// Notes that a statement is under way: a session dropped before [`Session::has_ended`] closes its connection.
    pub fn may_not_end(&mut self) {
        self.in_the_middle = true;
    }

    /// The statement has ended: the connection can be used again.
    pub fn has_ended(&mut self) {
        self.in_the_middle = false;
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.in_the_middle || self.work.given_up.is_cancelled() {
            self.connection.close_on_drop();
        }
    }
}
