//! Warns if a service has more rights than it needs.
//!
//! Everything works under the owner's account too, so a wrong configuration would stay unnoticed. But only the limited
//! rights of the services' account keep a mistake of ours from destroying a user's table.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use sqlx::PgPool;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::store::server::{self, Excess};

/// How long to wait before asking again when the database is away.
const RETRY: Duration = Duration::from_secs(2);

pub const USE_THE_APP_ACCOUNT: &str =
    "leave this account to `vitrina migrate`, and give the services a DATABASE_URL with the account vitrina_app";

/// Whether this process has said it: the API and workers of one process share their account.
static SAID: AtomicBool = AtomicBool::new(false);

/// Logs a warning, once in the life of the process, if the account has more rights than a service needs. Asks in the
/// background until the database has answered: a service starts without it.
pub fn warn_when_connected(db: PgPool, stop: CancellationToken) {
    tokio::spawn(async move {
        while !stop.is_cancelled() {
            match timeout(RETRY, ask(&db)).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok((account, excess)) => return warn(&account, excess),
                Err(error) => tracing::debug!(error = %error, "the rights of the account are not known yet"),
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = stop.cancelled() => {}
            }
        }
    });
}

async fn ask(db: &PgPool) -> sqlx::Result<(String, Option<Excess>)> {
    server::account(&mut *db.acquire().await?).await
}

fn warn(account: &str, excess: Option<Excess>) {
    if let Some(excess) = excess
        && !SAID.swap(true, Ordering::Relaxed)
    {
        tracing::warn!(account, "the service connects as an account that {excess}: {USE_THE_APP_ACCOUNT}");
    }
}
