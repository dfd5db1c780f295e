//! How work enters the queue: only inside the transaction it belongs to.
//!
//! There is no function here that takes a pool. Whatever a job depends on is committed with it or not at all.

pub mod trace_context;

use std::{ops::Deref, time::Duration};

use apalis_core::task::{builder::TaskBuilder, task_id::TaskId};
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::Value;
use sqlx::PgConnection;
use ulid::Ulid;

use crate::{
    domain::{PipelineId, Position, ReportId, ReportKind, RunId},
    store::{queue, server_life::ServerLife},
};

pub const BATCH_QUEUE: &str = "vitrina:batches";

/// How often a job may come back from a worker that died: one that kills its worker would kill them all.
pub const MAX_RESCUES: u8 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Batch(Queued<BatchJob>),
    Report(Queued<ReportJob>),
}

impl Job {
    /// Reads a payload. One without a `job` is a batch (the format before there were reports).
    pub fn decode(payload: Value) -> Result<Self, serde_json::Error> {
        match payload.get("job").and_then(Value::as_str) {
            None => serde_json::from_value(payload).map(Self::Batch),
            Some(REPORT) => serde_json::from_value(payload).map(Self::Report),
            Some(other) => Err(serde_json::Error::custom(format!("there are no jobs of kind `{other}`"))),
        }
    }
}

const REPORT: &str = "report";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportJob {
    job: String,
    pub report_id: ReportId,
    pub kind: ReportKind,
}

impl ReportJob {
    pub fn new(report_id: ReportId, kind: ReportKind) -> Self {
        Self { job: REPORT.to_owned(), report_id, kind }
    }
}

/// One batch of one range of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchJob {
    pub pipeline_id: PipelineId,
    pub run_id: RunId,
    pub range: i32,
    pub batch: i64,
    /// The row after which the batch begins.
    pub after: Option<Position>,
}

/// The payload of a job: what is to be done, and what is known of its way through the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued<J> {
    #[serde(flatten)]
    pub job: J,
    #[serde(default)]
    pub attempt: u32,
    /// How often its session ended by what may be its own doing.
    #[serde(default)]
    pub lost: u32,
    /// The server after the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_on: Option<ServerLife>,
    /// When it was queued, in microseconds of the server's clock; absent where the job never waited.
    #[serde(default)]
    pub queued_us: Option<i64>,
    pub correlation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What the worker lacked that gave it back (`store::queue::elsewhere`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<String>>,
}

impl<J> Queued<J> {
    /// A job that was not tried yet, as part of the current trace.
    pub fn new(job: J, correlation_id: &str) -> Self {
        let (correlation_id, traceparent) = (correlation_id.to_owned(), trace_context::current());
        Self { job, attempt: 0, lost: 0, lost_on: None, queued_us: None, correlation_id, traceparent, needs: None }
    }
}

impl<J> Deref for Queued<J> {
    type Target = J;

    fn deref(&self) -> &J {
        &self.job
    }
}

/// A job in the hands of a worker.
#[derive(Debug, Clone)]
pub struct Held<J> {
    pub id: String,
    pub worker: String,
    pub queued: Queued<J>,
}

impl<J: Serialize + Clone> Held<J> {
    /// Takes the job out of the queue. Whether this worker still had it.
    pub async fn finish(&self, tx: &mut PgConnection) -> sqlx::Result<bool> {
        queue::finish(tx, &self.id, &self.worker).await
    }

    /// Returns the job to the queue for `delay`, after so many failed attempts. Whether this worker still had it.
    pub async fn put_back(&self, tx: &mut PgConnection, attempt: u32, delay: Duration) -> Result<bool, EnqueueError> {
        let payload = serde_json::to_vec(&Queued { attempt, ..self.queued.clone() })?;
        let returned = queue::put_back(tx, &self.id, &self.worker, &payload, delay).await?;
        queue::announce(tx).await?;
        Ok(returned)
    }
}

impl<J> Deref for Held<J> {
    type Target = Queued<J>;

    fn deref(&self) -> &Queued<J> {
        &self.queued
    }
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

/// Queues a job to be executed as soon as the transaction commits, and returns its id.
///
/// The queue announces a job only if its time is not after the transaction's `now()`, which is its start; a job pushed
/// with the client's present time would wait for the next poll.
pub async fn enqueue<J: Serialize>(tx: &mut PgConnection, job: Queued<J>) -> Result<String, EnqueueError> {
    let clock = sqlx::query!(
        r#"
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint as "now_us!",
               extract(epoch from now())::bigint - 1 as "already_due!"
        "#
    )
    .fetch_one(&mut *tx)
    .await?;
    let id = new_id();
    let task = TaskBuilder::new(serde_json::to_vec(&Queued { queued_us: Some(clock.now_us), ..job })?)
        .task_id(TaskId::from_string(id.clone()))
        .run_at_timestamp(u64::try_from(clock.already_due).unwrap_or_default())
        .max_attempts(MAX_RESCUES.into())
        .build();
    apalis_postgres::queries::push_tasks(tx, BATCH_QUEUE, vec![task]).await?;
    Ok(id)
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
        let job = Queued::new(ReportJob::new(ReportId::generate(), ReportKind::Preview), "c");
        let payload = serde_json::to_value(&job).expect("a payload");
        assert_eq!(Job::decode(payload.clone()).expect("a report"), Job::Report(job));
        assert!(serde_json::from_value::<Queued<BatchJob>>(payload).is_err());
    }

    #[test]
    fn what_is_neither_is_refused() {
        for payload in [json!(null), json!({}), json!({"job": "dance"}), json!({"job": "report"})] {
            assert!(Job::decode(payload.clone()).is_err(), "{payload}");
        }
    }
}
