//! Batch after batch, while nothing else wants the slot.
//!
//! The worker keeps the chain's job from batch to batch: no hop through the queue, and yet a durable row from which another
//! worker goes on should this one die, where the range stands by then. After a while the chain yields by a new job to whoever
//! waits, so that pipelines take turns.

use std::time::{Duration, Instant};

use sqlx::PgConnection;
use vitrina_shared::{
    domain::error_class::without_values,
    jobs::{self, BATCH_QUEUE},
    lifecycle::execution::{HeldJob, Step},
    store::{
        queue,
        runs::{self, BatchCall, BatchOutcome},
    },
};

use super::{
    ahead::Ahead,
    close,
    open::{Opened, open},
    progress, series,
    stream::{self, Streamed},
};
use crate::{
    environment::Environment,
    error::{BatchError, is_row_error},
    in_hand::Waiting,
    plan::{Plan, Route},
    source::Bound,
};

/// How often a chain announces its progress.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(500);
/// How long one chain keeps its slot, while others wait for one.
const STREAK: Duration = Duration::from_secs(1);

/// Executes the job's batch and those after it. `job` always says which batch failed when an error comes back.
pub async fn execute(env: &Environment, job: &mut HeldJob) -> Result<Step, BatchError> {
    let opened = Instant::now();
    let (plan, walked, cut, mut connection) = match open(env, job).await? {
        Opened::Go { plan, walked, cut, session } => (plan, walked, cut, session),
        Opened::Done(step) => return Ok(step),
    };
    tracing::Span::current().record("pipeline", &plan.pipeline);
    series::announce(&plan.pipeline);
    series::observe_phase(&plan.pipeline, "open", opened.elapsed());
    let mut begun = Instant::now();
    let mut announced = begun;
    let waits = env.in_hand.waits(job.batch.run_id.0);
    if walked {
        // The worker that wrote the last batch died before it could end the run.
        return close::close(env, connection, job, &plan, cut, true).await;
    }
    let mut ahead = Ahead::default();
    loop {
        if env.stop.is_cancelled() {
            return Ok(Step::GoesOn);
        }
        let waiting = waits.begin();
        if begun.elapsed() >= STREAK && !somebody_waits(&mut connection).await {
            begun = Instant::now();
        }
        let next_job = (begun.elapsed() >= STREAK).then(jobs::new_id);
        let call = BatchCall {
            run: job.batch.run_id,
            range: job.batch.range,
            number: job.batch.batch,
            job: &job.id,
            worker: &job.worker,
            statement: plan.page(),
            page_size: plan.walk().page_size,
            by_time: plan.walk().bound == Bound::Clock,
            next_job: next_job.as_deref(),
        };
        let start = Instant::now();
        // Whoever lets go of this job meanwhile lets go of the statement too.
        connection.may_not_end();
        let streamed = execute_one(env, &mut connection, &plan, job, &call, &mut ahead, waiting).await;
        connection.has_ended();
        let Streamed { outcome, rejected } = streamed?;
        record(&plan, job, &outcome, rejected, start.elapsed());
        // What fails from here on is no attempt at a batch that was committed.
        job.go_on(job.batch.batch + 1, outcome.last.clone());
        if announced.elapsed() > ANNOUNCE_EVERY {
            announced = Instant::now();
            let _waiting = waits.begin();
            if progress::announce(&mut connection, &plan, job, &outcome).await.is_err() {
                // A user's query that failed may have changed the session: the pool looks at it before it is used again.
                connection = env.sessions(&env.db, job.batch.run_id.0).acquire().await?;
            }
        }
        if !outcome.goes_on {
            return close::close(env, connection, job, &plan, cut, outcome.rows_read > 0).await;
        }
        if next_job.is_some() {
            return Ok(Step::GoesOn);
        }
    }
}

/// Whether a job is due that nobody has taken; where that cannot be found out, probably.
async fn somebody_waits(connection: &mut PgConnection) -> bool {
    queue::next_due(connection, BATCH_QUEUE).await.map_or(true, |due| due == Some(Duration::ZERO))
}

/// Executes one batch. A page of which the server refused a row is written once more, with care.
async fn execute_one(
    env: &Environment,
    connection: &mut PgConnection,
    plan: &Plan,
    job: &HeldJob,
    call: &BatchCall<'_>,
    ahead: &mut Ahead,
    waiting: Waiting,
) -> Result<Streamed, BatchError> {
    let careful = match &plan.route {
        Route::Stream(stream) => {
            return stream::execute(env, connection, (stream, &*plan.sink), job, call, ahead, waiting).await;
        }
        Route::Pushdown { careful, .. } => careful.as_ref(),
    };
    match (runs::execute_batch(connection, call).await, careful) {
        (Ok(outcome), _) => Ok(Streamed { outcome, rejected: 0 }),
        (Err(error), Some(stream)) if is_row_error(&error) => {
            tracing::warn!(batch = call.number, error = %without_values(&error.to_string()), "a row was refused: the page is written row by row where needed");
            stream::execute(env, connection, (stream, &*plan.sink), job, call, ahead, waiting).await
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Notes how a batch went.
fn record(plan: &Plan, job: &HeldJob, outcome: &BatchOutcome, rejected: u64, took: Duration) {
    series::observe_batch(&plan.pipeline, took);
    tracing::info!(
        job_id = job.id,
        batch = job.batch.batch,
        rows_read = outcome.rows_read,
        rows_written = outcome.rows_written,
        rows_rejected = (rejected > 0).then_some(rejected),
        duration_ms = took.as_secs_f64() * 1000.0,
        "batch committed",
    );
}
