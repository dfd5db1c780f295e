//! How work enters the queue: only inside the transaction it belongs to.
//!
//! There is no function here that takes a pool. Whatever a job depends on is committed with it or not at all.

pub mod trace_context;

use apalis_core::task::{builder::TaskBuilder, task_id::TaskId};
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::Value;
use sqlx::PgConnection;
use ulid::Ulid;

use crate::domain::{PipelineId, Position, ReportId, ReportKind, RunId};

/// The queue's name in `apalis.jobs`.
pub const BATCH_QUEUE: &str = "vitrina:batches";

/// How often a job may come back from a worker that died: one that kills its worker would kill them all.
pub const MAX_RESCUES: u8 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Batch(BatchJob),
    Report(ReportJob),
}

impl Job {
    /// Reads a payload. One without a `job` is a batch: the format before there were reports.
    pub fn decode(payload: Value) -> Result<Self, serde_json::Error> {
        match payload.get("job").and_then(Value::as_str) {
            None => serde_json::from_value(payload).map(Self::Batch),
            Some(REPORT) => serde_json::from_value(payload).map(Self::Report),
            Some(other) => Err(serde_json::Error::custom(format!("there are no jobs of kind `{other}`"))),
        }
    }
}

const REPORT: &str = "report";

/// A report to be made: the payload of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportJob {
    job: String,
    pub report_id: ReportId,
    pub kind: ReportKind,
    #[serde(default)]
    pub attempt: u32,
    /// How often the server ended its session.
    #[serde(default)]
    pub lost: u32,
    /// When it was queued, in microseconds of the server's clock.
    #[serde(default)]
    pub queued_us: Option<i64>,
    /// The request that all of this came from.
    pub correlation_id: String,
    /// Where its trace stands, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

impl ReportJob {
    pub fn new(report_id: ReportId, kind: ReportKind, correlation_id: &str) -> Self {
        let correlation_id = correlation_id.to_owned();
        Self {
            job: REPORT.to_owned(),
            report_id,
            kind,
            attempt: 0,
            lost: 0,
            queued_us: None,
            correlation_id,
            traceparent: trace_context::current(),
        }
    }

    /// The same after one more attempt that failed.
    pub fn again(&self) -> Self {
        Self { attempt: self.attempt + 1, ..self.clone() }
    }
}

/// One batch of one range of a run: the payload of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchJob {
    pub pipeline_id: PipelineId,
    pub run_id: RunId,
    pub range: i32,
    /// The number of the batch within the range.
    pub batch: i64,
    /// The row after which the batch begins.
    pub after: Option<Position>,
    /// How often this batch failed.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub lost: u32,
    /// When it was queued, in microseconds of the server's clock; absent where the job never waited.
    #[serde(default)]
    pub queued_us: Option<i64>,
    pub correlation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    #[error("the job could not be encoded: {0}")]
    Encode(#[from] serde_json::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("the queue refused the job: {0}")]
    Queue(String),
}

impl From<apalis_postgres::Error> for EnqueueError {
    fn from(error: apalis_postgres::Error) -> Self {
        if let apalis_postgres::Error::Database(error) = error {
            Self::Database(error)
        } else {
            Self::Queue(error.to_string())
        }
    }
}

/// A new id for a job. The queue reads no other kind.
pub fn new_id() -> String {
    Ulid::generate().to_string()
}

/// Queues a batch to run as soon as the transaction commits, and returns the job's id.
pub async fn enqueue(tx: &mut PgConnection, job: &BatchJob) -> Result<String, EnqueueError> {
    let clock = read_clock(tx).await?;
    let job = BatchJob { queued_us: Some(clock.now_us), ..job.clone() };
    push(tx, serde_json::to_vec(&job)?, &clock).await
}

/// Queues a report to be made as soon as the transaction commits, and returns the job's id.
pub async fn enqueue_report(tx: &mut PgConnection, job: &ReportJob) -> Result<String, EnqueueError> {
    let clock = read_clock(tx).await?;
    let job = ReportJob { queued_us: Some(clock.now_us), ..job.clone() };
    push(tx, serde_json::to_vec(&job)?, &clock).await
}

async fn push(tx: &mut PgConnection, payload: Vec<u8>, clock: &Clock) -> Result<String, EnqueueError> {
    let id = new_id();
    let task = TaskBuilder::new(payload)
        .task_id(TaskId::from_string(id.clone()))
        .run_at_timestamp(clock.already_due)
        .max_attempts(MAX_RESCUES.into())
        .build();
    apalis_postgres::queries::push_tasks(tx, BATCH_QUEUE, vec![task]).await?;
    Ok(id)
}

struct Clock {
    now_us: i64,
    already_due: u64,
}

/// Reads the server's clock, and a time before the transaction's start.
///
/// The queue announces a job only if its time is not after the transaction's `now()`, which is its start; a job pushed
/// with the client's present time would wait for the next poll.
async fn read_clock(tx: &mut PgConnection) -> Result<Clock, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint as "now_us!",
               extract(epoch from now())::bigint - 1 as "already_due!"
        "#
    )
    .fetch_one(tx)
    .await?;
    Ok(Clock { now_us: row.now_us, already_due: u64::try_from(row.already_due).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_that_does_not_say_what_it_is_is_a_batch() {
        let id = uuid::Uuid::now_v7();
        let payload =
            json!({"pipeline_id": id, "run_id": id, "range": 0, "batch": 7, "after": null, "correlation_id": "c"});
        let Ok(Job::Batch(batch)) = Job::decode(payload) else { panic!("no batch") };
        assert_eq!((batch.batch, batch.attempt), (7, 0));
    }

    #[test]
    fn a_report_reads_back_as_one_and_never_as_a_batch() {
        let job = ReportJob::new(ReportId::generate(), ReportKind::Preview, "c");
        let payload = serde_json::to_value(&job).expect("a payload");
        assert_eq!(Job::decode(payload.clone()).expect("a report"), Job::Report(job));
        assert!(serde_json::from_value::<BatchJob>(payload).is_err());
    }

    #[test]
    fn what_is_neither_is_refused() {
        for payload in [json!(null), json!({}), json!({"job": "dance"}), json!({"job": "report"})] {
            assert!(Job::decode(payload.clone()).is_err(), "{payload}");
        }
    }
}
