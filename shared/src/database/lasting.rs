//! A pool that is replaced once it gives out no connection any more, although the database is there.
//!
//! The driver asks a connection that comes back whether it is still there, without a limit, and keeps its place until it has
//! answered (`silence` limits everything around that). Connections that fall silent just then take their places with them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sqlx::{Connection, PgConnection, PgPool, postgres::PgConnectOptions};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How often a connection is asked for.
const EVERY: Duration = Duration::from_secs(3);
/// How often in a row it may be in vain. Each takes as long as a request waits for one.
const IN_VAIN: u32 = 2;
const CONNECTS_WITHIN: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub struct LastingPool {
    open: Arc<dyn Fn() -> PgPool + Send + Sync>,
    current: Arc<Mutex<PgPool>>,
}

impl LastingPool {
    /// A pool that `open` opens, now and whenever it must be replaced.
    pub fn new(open: impl Fn() -> PgPool + Send + Sync + 'static) -> Self {
        let current = Arc::new(Mutex::new(open()));
        Self { open: Arc::new(open), current }
    }

    pub fn current(&self) -> PgPool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the pool whenever that is needed, until `stop` is cancelled.
    pub async fn replace_when_stuck(&self, stop: &CancellationToken) {
        let mut in_vain = 0;
        loop {
            tokio::select! {
                () = sleep(EVERY) => {}
                () = stop.cancelled() => return,
            }
            let pool = self.current();
            in_vain = if pool.acquire().await.is_ok() { 0 } else { in_vain + 1 };
            if in_vain >= IN_VAIN && answers(&pool.connect_options()).await {
                tracing::warn!("no connection of the pool came back, and the database answers: the pool is replaced");
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = (self.open)();
                in_vain = 0;
                // Connections in use are closed when they come back. Those that fell silent may never come back: hence the limit.
                tokio::spawn(async move { timeout(Duration::from_secs(60), pool.close()).await });
            }
        }
    }
}

impl fmt::Debug for LastingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LastingPool").field(&self.current()).finish()
    }
}

pub async fn answers(options: &PgConnectOptions) -> bool {
    let asked = async {
        let mut connection = PgConnection::connect_with(options).await?;
        connection.ping().await?;
        connection.close().await
    };
    matches!(timeout(CONNECTS_WITHIN, asked).await, Ok(Ok(())))
}
