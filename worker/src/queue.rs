//! Takes jobs from PostgreSQL with apalis, the moment they are committed.
//!
//! What apalis does here: it registers the worker, fetches jobs one at a time and runs a bounded number of them at once.
//! What we do ourselves, because its way would lose or repeat work: wake-ups (`wake`), finishing and retrying jobs (in
//! the batch's own transaction), heartbeats and rescue (`maintenance`).

mod payload;
mod wake;

use std::{sync::Arc, time::Duration};

use apalis::prelude::{BackendExt, Data, TaskId, WorkerBuilder, WorkerBuilderExt, WorkerError};
use apalis_postgres::{Config, PostgresStorage};
use serde_json::Value;
use sqlx::PgPool;
use tokio_util::task::AbortOnDropHandle;
use vitrina_shared::jobs::BATCH_QUEUE;

use self::payload::Payload;
pub use self::wake::Wake;
use crate::{environment::Environment, jobs};

/// How the queue is read.
pub struct QueueOptions {
    pub concurrency: usize,
    /// The net under lost notifications.
    pub poll: Duration,
}

/// How often apalis reports. We report much more often.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// Runs jobs until the environment's stop token is cancelled; then no new job is taken and those in hand end.
/// An error of the database ends it at once.
pub async fn run(db: &PgPool, env: Arc<Environment>, wakeups: Wake, options: &QueueOptions) -> Result<(), WorkerError> {
    let config = Config::default()
        .queue(BATCH_QUEUE)
        // More than one would wait in a buffer where nobody works on them.
        .batch_size(1)
        .heartbeat_interval(HEARTBEAT)
        // Rescue is ours and comes much sooner.
        .missed_heartbeats(3600)
        .persist_results(false)
        .lock_tasks(false);
    let backend: PostgresStorage<Value> = PostgresStorage::new(db).with_config(config);
    let backend = backend.with_codec(Payload).poll_with_strategy(wakeups).poll_with_interval(options.poll);
    let stop = env.stop.clone();
    let worker =
        WorkerBuilder::new(env.name.as_str()).backend(backend).data(env).concurrency(options.concurrency).build(handle);
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
    let run = AbortOnDropHandle::new(tokio::spawn(jobs::run(Arc::clone(&env), id.to_string(), payload)));
    if let Err(error) = run.await {
        tracing::error!(error = %error, "a job ended unexpectedly; maintenance will release it");
    }
    Ok(())
}
