//! Removes jobs, reports and runs that ended a while ago, workers that are long gone, and what cancelled runs had gathered.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{
    config::Retention,
    jobs::BATCH_QUEUE,
    store::{queue, reports, runs, swaps},
};

use crate::plan::SWAP_PREFIX;

/// How long finished jobs stay, for whoever wants to look at them.
const KEEP_JOBS: Duration = Duration::from_secs(3600);
/// How many runs or reports a statement removes, so that no other waits for it for long.
const BATCH: i64 = 500;
/// How many such statements follow one another; what is left then is removed the next time.
const MOST_BATCHES: u32 = 20;

/// Removes what is old. Failing to do so harms nobody; the next time will do it. A table that is still in use is left for
/// then: who waits for its lock keeps all others waiting who come after.
pub async fn run_once(db: &PgPool, keep: Retention) -> sqlx::Result<()> {
    let mut connection = db.acquire().await?;
    for table in swaps::abandoned(&mut connection, SWAP_PREFIX).await? {
        if let Err(error) = swaps::remove(&mut connection, &table).await {
            tracing::debug!(table, error = %error, "a table could not be removed");
        }
    }
    let jobs = queue::prune(&mut connection, BATCH_QUEUE, KEEP_JOBS).await?;
    let mut ended = 0;
    for _ in 0..MOST_BATCHES {
        let reports = reports::prune(&mut connection, keep.reports, BATCH).await?;
        let runs = runs::prune(&mut connection, keep.runs, BATCH).await?;
        ended += reports + runs;
        if reports.max(runs) < BATCH.unsigned_abs() {
            break;
        }
    }
    if jobs + ended > 0 {
        tracing::debug!(jobs, runs_and_reports = ended, "removed what ended long ago");
    }
    Ok(())
}
