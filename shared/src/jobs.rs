//! How work enters the queue: only inside the transaction it belongs to.
//!
//! There is no function here that takes a pool. Whatever a job depends on is committed with it or not at all.

use apalis_core::task::{builder::TaskBuilder, task_id::TaskId};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::domain::{Checkpoint, PipelineId, RunId};

/// The queue's name in `apalis.jobs`.
pub const BATCH_QUEUE: &str = "vitrina:batches";

/// One batch of one range of a run: the payload of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchJob {
    /// The pipeline.
    pub pipeline_id: PipelineId,
    /// The run.
    pub run_id: RunId,
    /// The range of the run.
    pub range: i32,
    /// The number of the batch within the range.
    pub batch: i64,
    /// The row after which the batch begins.
    pub after: Option<Checkpoint>,
    /// The request that all of this came from.
    pub correlation_id: String,
}

/// Why a job could not be queued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// The payload could not be written.
    #[error("the job could not be encoded: {0}")]
    Encode(#[from] serde_json::Error),
    /// The database refused.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The queue refused.
    #[error("the queue refused the job: {0}")]
    Queue(String),
}

impl From<apalis_postgres::Error> for EnqueueError {
    fn from(error: apalis_postgres::Error) -> Self {
        match error {
            apalis_postgres::Error::Database(error) => Self::Database(error),
            other => Self::Queue(other.to_string()),
        }
    }
}

/// Queues a batch to run as soon as the transaction commits, and returns the job's id.
pub async fn enqueue(tx: &mut PgConnection, job: &BatchJob) -> Result<String, EnqueueError> {
    let id = Uuid::now_v7().to_string();
    let task = TaskBuilder::new(serde_json::to_vec(job)?)
        .task_id(TaskId::from_string(id.clone()))
        .run_at_timestamp(already_due(tx).await?)
        .build();
    apalis_postgres::queries::push_tasks(tx, BATCH_QUEUE, vec![task]).await?;
    Ok(id)
}

/// A time before the transaction's start, by the server's clock.
///
/// The queue announces a job only if its time is not after the transaction's `now()`, which is its start; a job pushed
/// with the client's present time would wait for the next poll.
async fn already_due(tx: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let seconds: i64 =
        sqlx::query_scalar!(r#"select extract(epoch from now())::bigint - 1 as "seconds!""#).fetch_one(tx).await?;
    Ok(u64::try_from(seconds).unwrap_or_default())
}
