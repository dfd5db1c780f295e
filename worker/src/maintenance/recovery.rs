//! Brings back what a crash left behind.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{jobs::BATCH_QUEUE, lifecycle, metrics::RECOVERED, reports, store::queue};

use super::rescue::{self, RecoveryError, Silent};
use crate::error::LONGEST_REST;

/// The longest that any job waits for its time.
const LONGEST_DELAY: Duration = LONGEST_REST.saturating_add(Duration::from_secs(5));
/// When jobs that wait are looked at, for those that no run and no report waits for.
const BACKLOG_AFTER: Duration = Duration::from_secs(5);
/// How many of them are looked at once.
const BACKLOG: i64 = 20_000;

/// Returns the jobs of workers that are gone to the queue, and gives a job to every active pipeline and every unfinished
/// report that has none: one whose job was lost, or a pipeline that was set to `RUN_REQUESTED` by hand. Returns how many.
pub async fn run_once(db: &PgPool, silent: &mut Silent, gone_after: Duration) -> Result<u64, RecoveryError> {
    let rescued = rescue::run_once(db, silent, gone_after).await?;
    if rescued > 0 {
        tracing::warn!(jobs = rescued, "recovered jobs of workers that died");
    }
    let advanced = tidy(db).await?;
    let pipelines = u64::try_from(lifecycle::recover(db).await?).unwrap_or_default();
    let stranded = pipelines + reports::recover(db).await?;
    if rescued + stranded > 0 {
        metrics::counter!(RECOVERED).increment(rescued + stranded);
    }
    Ok(rescued + advanced + stranded)
}

/// Removes unusable jobs from the queue, and makes those due that wait for a time which the clock was set back from. Returns
/// how many became due.
async fn tidy(db: &PgPool) -> Result<u64, RecoveryError> {
    let mut connection = db.acquire().await?;
    let advanced = queue::advance(&mut connection, BATCH_QUEUE, LONGEST_DELAY).await?;
    if advanced > 0 {
        tracing::warn!(jobs = advanced, "jobs waited for a time that is far away: the server's clock was set back");
    }
    let foreign = queue::kill_foreign(&mut connection, BATCH_QUEUE).await?;
    if foreign > 0 {
        tracing::error!(jobs = foreign, "discarded jobs in our queue that Vitrina did not put there");
    }
    let oldest = queue::waiting_for(&mut connection, BATCH_QUEUE).await?;
    if oldest.is_some_and(|waited| waited > BACKLOG_AFTER.as_secs_f64()) {
        let unwanted = queue::kill_unwanted(&mut connection, BATCH_QUEUE, BACKLOG).await?;
        if unwanted > 0 {
            tracing::info!(jobs = unwanted, "discarded jobs whose run or report has ended");
        }
    }
    let exhausted = queue::exhausted(&mut connection, BATCH_QUEUE).await?;
    drop(connection);
    for (id, payload) in exhausted {
        rescue::give_up(db, &id, &payload, &[]).await;
    }
    Ok(advanced)
}
