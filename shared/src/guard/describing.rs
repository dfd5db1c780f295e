//! Descriptions with a deadline.
//!
//! Descriptions have their own connections. A description that does not return in time, because the server does not check
//! for interrupts, is given up together with its connection: the server is asked to end the session, the pool opens another
//! connection, and the author keeps its turn until the session has ended.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, PgPool, pool::PoolConnection, postgres::Postgres};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{sleep, timeout},
};

use uuid::Uuid;

use super::{
    Description, GuardError, QueryLimits, Refusal, SourceQuery, SourceSchemas, check_functions, describe,
    keep_temporary_schema,
};
use crate::store::backends;

/// Longer than the statements of a description may take.
const PATIENCE: Duration = Duration::from_secs(8);
/// How often the server is asked whether it has let go.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a turn is kept for a server that does not let go.
const LONGEST: Duration = Duration::from_secs(300);

/// The connections on which queries are described, one at a time per author.
#[derive(Debug, Clone)]
pub struct Describing {
    pool: PgPool,
    turn: Option<Arc<OwnedSemaphorePermit>>,
}

impl Describing {
    pub fn new(pool: PgPool) -> Self {
        Self { pool, turn: None }
    }

    /// The same for an author who describes one query at a time.
    pub fn on_turn(&self, turn: OwnedSemaphorePermit) -> Self {
        Self { pool: self.pool.clone(), turn: Some(Arc::new(turn)) }
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Lets the server describe and judge a parsed query. `walk` names the key and the id of its placeholders.
    pub async fn describe(
        &self,
        query: SourceQuery,
        walk: (Option<&str>, Option<&str>),
        schemas: &SourceSchemas,
    ) -> Result<(SourceQuery, Description), GuardError> {
        let (this, schemas) = (self.clone(), schemas.clone());
        let walk = (walk.0.map(str::to_owned), walk.1.map(str::to_owned));
        // A task of its own: a request that is given up meanwhile must not leave a connection in the middle of a statement.
        let described = tokio::spawn(async move {
            let mut connection = this.pool.acquire().await?;
            let limits = QueryLimits::default();
            let asked = async {
                if connection.cached_statements_size() == 0 {
                    keep_temporary_schema(&mut connection).await?;
                }
                check_functions(&mut connection, &query, &schemas).await?;
                let walk = (walk.0.as_deref(), walk.1.as_deref());
                describe(&mut connection, &query, walk, &schemas, &limits).await
            };
            match timeout(PATIENCE, asked).await {
                Ok(described) => described.map(|description| (query, description)),
                Err(_) if this.give_up(connection, limits.mark).await => {
                    Err(Refusal::NotDescribed { seconds: PATIENCE.as_secs() }.into())
                }
                // The server is not at work on it: the connection fell silent.
                Err(_) => Err(GuardError::Database(sqlx::Error::PoolTimedOut)),
            }
        });
        described.await.unwrap_or(Err(GuardError::Database(sqlx::Error::WorkerCrashed)))
    }

    /// Gives the connection up and asks the server to end the session. Returns whether the session may still exist; then
    /// the turn is kept until it has ended.
    async fn give_up(self, connection: PoolConnection<Postgres>, mark: Uuid) -> bool {
        tracing::warn!("a query was not described in time; its session is ended and its connection given up");
        drop(connection.detach());
        let ended = async { backends::terminate(&mut *self.pool.acquire().await?, &[mark]).await };
        let at_work = match timeout(PATIENCE, ended).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(sessions) => sessions > 0,
            Err(error) => {
                tracing::warn!(error = %error, "the session could not be ended");
                true
            }
        };
        if at_work {
            tokio::spawn(async move {
                let _let_go = timeout(LONGEST, self.let_go(mark)).await;
                drop(self.turn);
            });
        }
        at_work
    }

    /// Waits until the server has no session with this mark.
    async fn let_go(&self, mark: Uuid) {
        loop {
            let found = async { backends::any(&mut *self.pool.acquire().await?, mark).await };
            if let Ok(false) = found.await {
                return;
            }
            sleep(LOOK_EVERY).await;
        }
    }
}
