//! Takes jobs from PostgreSQL with apalis, the moment they are committed.
//!
//! What apalis does here: it registers the worker, fetches jobs one at a time and runs a bounded number of them at once.
//! What we do ourselves, because its way would lose or repeat work: wake-ups (`wake`), finishing and retrying jobs (in
//! the batch's own transaction), heartbeats and rescue (`maintenance`).

mod wake;

use std::{sync::Arc, time::Duration};

use apalis::prelude::{BackendExt, Data, TaskId, WorkerBuilder, WorkerBuilderExt, WorkerError};
use apalis_core::backend::codec::Codec;
use apalis_postgres::{Config, PostgresStorage};
use serde_json::Value;
use sqlx::PgPool;
use tokio_util::task::AbortOnDropHandle;
use vitrina_shared::{
    config::WorkerConfig,
    jobs::{BATCH_QUEUE, Held, Job},
    metrics::JOBS_IN_FLIGHT,
    store::queue,
};

pub use self::wake::Wake;
use crate::{
    environment::Environment,
    jobs::{execute_batch, make_report},
};

/// How often apalis says that the worker lives. `maintenance` does so much more often.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// Runs jobs until the environment's stop token is cancelled; then no new job is taken and those in hand end.
/// An error of the database ends it at once.
pub async fn run(db: &PgPool, env: Arc<Environment>, wakeups: Wake, config: &WorkerConfig) -> Result<(), WorkerError> {
    let settings = Config::default()
        .queue(BATCH_QUEUE)
        // Further ones would wait in a buffer of this worker while another one is idle.
        .batch_size(1)
        .heartbeat_interval(HEARTBEAT)
        // Rescue is ours and comes much sooner.
        .missed_heartbeats(3600)
        .persist_results(false)
        .lock_tasks(false);
    let backend: PostgresStorage<Value> = PostgresStorage::new(db).with_config(settings);
    let backend = backend.with_codec(Payload).poll_with_strategy(wakeups).poll_with_interval(config.poll);
    let stop = env.stop.clone();
    let worker =
        WorkerBuilder::new(env.name.as_str()).backend(backend).data(env).concurrency(config.concurrency).build(handle);
    worker
        .run_until(async move {
            stop.cancelled().await;
            Ok::<(), WorkerError>(())
        })
        .await
}

async fn handle(payload: Value, id: TaskId, env: Data<Arc<Environment>>) -> Result<(), std::convert::Infallible> {
    // A task of its own: apalis looks for jobs whenever its task is woken, which every answer of the database would do.
    // It ends with its worker all the same.
    let executed = AbortOnDropHandle::new(tokio::spawn(execute(Arc::clone(&env), id.to_string(), payload)));
    if let Err(error) = executed.await {
        tracing::error!(error = %error, "a job ended unexpectedly; maintenance will release it");
    }
    Ok(())
}

/// Executes a job in a slot that the queue gave, and then one that others gave back for want of what this worker has. Its next turn
/// comes with the slot's next job.
async fn execute(env: Arc<Environment>, id: String, payload: Value) {
    let _in_flight = InFlight::begin();
    execute_job(env.clone(), id, payload).await;
    if let Some((id, payload)) = take_from_elsewhere(&env).await {
        execute_job(env, id, serde_json::from_slice(&payload).unwrap_or_default()).await;
    }
}

async fn take_from_elsewhere(env: &Environment) -> Option<(String, Vec<u8>)> {
    let has = env.steps.current().has();
    if has.is_empty() || env.stop.is_cancelled() {
        return None;
    }
    let taken =
        async { queue::elsewhere::take(&mut *env.control.acquire().await?, BATCH_QUEUE, &env.name, &has).await };
    taken.await.unwrap_or_else(|error: sqlx::Error| {
        tracing::debug!(error = %error, "jobs that other workers gave back could not be looked for");
        None
    })
}

/// Executes a job. Whatever happens, the queue's row says so afterwards, or another worker will find it.
///
/// A batch keeps the slot that the queue gave it. A report only passes through: it has slots of its own.
async fn execute_job(env: Arc<Environment>, id: String, payload: Value) {
    let worker = env.name.clone();
    match Job::decode(payload) {
        Ok(Job::Batch(queued)) => execute_batch::run(env, Held { id, worker, queued }).await,
        Ok(Job::Report(queued)) => make_report::start(env, Held { id, worker, queued }),
        Err(error) => discard(&env, &id, &error).await,
    }
}

/// Counts a job as being executed until it is dropped, however that comes about.
struct InFlight;

impl InFlight {
    fn begin() -> Self {
        metrics::gauge!(JOBS_IN_FLIGHT).increment(1.0);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!(JOBS_IN_FLIGHT).decrement(1.0);
    }
}

/// A payload that cannot be read would be taken up again and again.
async fn discard(env: &Environment, id: &str, error: &serde_json::Error) {
    let reason = format!("the job's payload cannot be read: {error}");
    tracing::error!(job_id = id, error = reason, "job discarded");
    if let Ok(mut connection) = env.db.acquire().await
        && let Err(error) = queue::kill(&mut connection, id, &reason).await
    {
        tracing::warn!(job_id = id, error = %error, "the job could not be discarded");
    }
}

/// Reads a payload as JSON. What is none becomes `null`: an error here would end the worker, and the next one that takes
/// the job, while [`execute`] takes a job that it cannot read out of the queue.
#[derive(Debug, Clone)]
struct Payload;

impl Codec<Value> for Payload {
    type Error = serde_json::Error;
    type Compact = Vec<u8>;

    fn encode(&self, value: &Value) -> Result<Self::Compact, Self::Error> {
        serde_json::to_vec(value)
    }

    fn decode(&self, bytes: &Self::Compact) -> Result<Value, Self::Error> {
        Ok(serde_json::from_slice(bytes).unwrap_or_default())
    }
}
