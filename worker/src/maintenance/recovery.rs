//! Brings back what a crash left behind.

use std::time::Duration;

use sqlx::PgPool;
use vitrina_shared::{
    jobs::{BATCH_QUEUE, Job},
    lifecycle::{self, LifecycleError},
    metrics::RECOVERED,
    reports::{self, ReportError},
    store::queue,
};

/// Why recovery could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// Returns the jobs of dead workers to the queue, and gives a job to every active pipeline and every unfinished report
/// that has none: one whose job was lost, or a pipeline whose status somebody set to `RUN_REQUESTED` by hand. Returns how
/// many.
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
    let pipelines = u64::try_from(lifecycle::recover(db).await?).unwrap_or_default();
    let stranded = pipelines + reports::recover(db).await?;
    if rescued + stranded > 0 {
        metrics::counter!(RECOVERED).increment(rescued + stranded);
    }
    Ok(rescued + stranded)
}

/// A job that killed every worker that took it would kill the next one too.
async fn give_up(db: &PgPool, payload: &[u8]) -> Result<(), RecoveryError> {
    match serde_json::from_slice(payload).and_then(Job::decode) {
        Ok(Job::Batch(job)) => {
            tracing::error!(run_id = %job.run_id, batch = job.batch, "every worker that took this batch died");
            lifecycle::give_up(db, &job, "every worker that took this batch died").await?;
        }
        Ok(Job::Report(job)) => {
            tracing::error!(report_id = %job.report_id, "every worker that took this report died");
            reports::give_up(db, &job, "every worker that took this report died").await?;
        }
        Err(error) => tracing::error!(error = %error, "a job that nobody can read was given up"),
    }
    Ok(())
}
