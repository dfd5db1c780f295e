//! Brings back what a crash left behind.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{
    jobs::{BATCH_QUEUE, BatchJob},
    lifecycle::{self, LifecycleError},
    metrics::RECOVERED,
    store::queue,
};

/// Why recovery could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
}

/// Returns the jobs of dead workers to the queue, and gives a job to every active pipeline that has none: one whose job
/// was lost, or one whose status somebody set to `RUN_REQUESTED` by hand. Returns how many.
pub async fn run_once(db: &PgPool, dead_after: Duration) -> Result<u64, RecoveryError> {
    let mut connection = db.acquire().await?;
    let rescued = queue::rescue(&mut connection, BATCH_QUEUE, dead_after).await?;
    if rescued > 0 {
        queue::announce(&mut connection).await?;
        tracing::warn!(jobs = rescued, "recovered jobs of workers that died");
    }
    let foreign = queue::kill_foreign(&mut connection, BATCH_QUEUE).await?;
    if foreign > 0 {
        tracing::error!(jobs = foreign, "discarded jobs that somebody else put into our queue");
    }
    let exhausted = queue::kill_exhausted(&mut connection, BATCH_QUEUE).await?;
    drop(connection);
    for payload in exhausted {
        give_up(db, &payload).await?;
    }
    let stranded = u64::try_from(lifecycle::recover(db).await?).unwrap_or_default();
    if rescued + stranded > 0 {
        metrics::counter!(RECOVERED).increment(rescued + stranded);
    }
    Ok(rescued + stranded)
}

/// A batch that killed every worker that took it would kill the next one too.
async fn give_up(db: &PgPool, payload: &[u8]) -> Result<(), RecoveryError> {
    let Ok(job) = serde_json::from_slice::<BatchJob>(payload) else { return Ok(()) };
    tracing::error!(run_id = %job.run_id, batch = job.batch, "every worker that took this batch died");
    lifecycle::give_up(db, &job, "every worker that took this batch died").await?;
    Ok(())
}
