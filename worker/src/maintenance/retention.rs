//! Removes jobs, reports and runs that ended a while ago, old entries of the transition log, calls that were answered a while ago, and workers that are long gone.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{
    config::Retention,
    jobs::BATCH_QUEUE,
    store::{calls, queue, reports, runs, transitions, worker_steps},
};

/// How long finished jobs stay, so that an operator can look at them.
const KEEP_JOBS: Duration = Duration::from_secs(3600);
/// How many runs, reports or entries a statement removes, so that no other waits for it for long.
const BATCH: i64 = 500;
/// How many such statements follow one another; what is left then is removed the next time.
const MOST_BATCHES: u32 = 20;

/// Removes what is old. A failure does no harm: the next time removes it.
pub async fn run_once(db: &PgPool, keep: Retention) -> sqlx::Result<()> {
    let mut connection = db.acquire().await?;
    let jobs = queue::prune(&mut connection, BATCH_QUEUE, KEEP_JOBS).await?;
    worker_steps::prune(&mut connection).await?;
    let mut removed = 0;
    for _ in 0..MOST_BATCHES {
        let reports = reports::prune(&mut connection, keep.reports, BATCH).await?;
        let runs = runs::prune(&mut connection, keep.runs, BATCH).await?;
        let transitions = transitions::prune(&mut connection, keep.transitions, BATCH).await?;
        let calls = calls::prune(&mut connection, keep.calls, BATCH).await?;
        removed += reports + runs + transitions + calls;
        if reports.max(runs).max(transitions).max(calls) < BATCH.unsigned_abs() {
            break;
        }
    }
    if jobs + removed > 0 {
        tracing::debug!(jobs, runs_reports_transitions_and_calls = removed, "removed what ended long ago");
    }
    Ok(())
}
