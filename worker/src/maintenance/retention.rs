//! Removes jobs and reports that ended a while ago, workers that are long gone, and what cancelled runs had gathered.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{
    jobs::BATCH_QUEUE,
    store::{queue, reports, swaps},
};

use crate::batch::SWAP_PREFIX;

/// How long finished jobs stay, for whoever wants to look at them.
const KEEP: Duration = Duration::from_secs(3600);
/// How long finished reports stay, for whoever asked for them.
const KEEP_REPORTS: Duration = Duration::from_secs(24 * 3600);

/// Removes what is old. Failing to do so harms nobody; the next time will do it. A table that is still in use is left for
/// then: who waits for its lock keeps all others waiting who come after.
pub async fn run_once(db: &PgPool) -> sqlx::Result<()> {
    let mut connection = db.acquire().await?;
    for table in swaps::abandoned(&mut connection, SWAP_PREFIX).await? {
        if let Err(error) = swaps::remove(&mut connection, &table).await {
            tracing::debug!(table, error = %error, "a table could not be removed");
        }
    }
    reports::prune(&mut connection, KEEP_REPORTS).await?;
    let jobs = queue::prune(&mut connection, BATCH_QUEUE, KEEP).await?;
    if jobs > 0 {
        tracing::debug!(jobs, "removed finished jobs");
    }
    Ok(())
}
