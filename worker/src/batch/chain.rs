//! Batch after batch, while nothing else wants the slot.
//!
//! The worker keeps the chain's job from batch to batch: no hop through the queue, and yet a durable row from which another
//! worker goes on should this one die, where the range stands by then. After a while the chain yields by a new job to whoever
//! waits, so that pipelines take turns.

use std::time::{Duration, Instant};

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{ErrorClass, error_class::without_values},
    jobs::{self, BATCH_QUEUE},
    lifecycle::execution::{HeldJob, Step},
    metrics::{self, BATCH_DURATION, BATCH_PHASE, RETRIES},
    progress::{self, Progress, pace},
    store::{
        queue,
        runs::{self, BatchCall, BatchOutcome},
    },
};

use super::{
    ahead::Ahead,
    close, estimate,
    open::{Opened, open},
    plan::{Bound, Plan, Route},
    stream::{self, Streamed},
};
use crate::{
    environment::Environment,
    error::{BatchError, is_row_error},
    in_hand::Waiting,
};

/// How often a chain tells of its progress.
const TELL_EVERY: Duration = Duration::from_millis(500);
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
    announce_series(&plan.pipeline);
    observe_phase(&plan, "open", opened.elapsed());
    let mut begun = Instant::now();
    let mut told = begun;
    let waits = env.in_hand.waits(job.batch.run_id.0);
    if walked {
        // The worker that wrote the last batch died before it could end the run.
        return close::close(env, connection, job, &plan, cut, true).await;
    }
    let mut ahead = Ahead::default();
    loop {
        let waiting = waits.begin();
        if begun.elapsed() >= STREAK && !somebody_waits(&mut connection).await {
            begun = Instant::now();
        }
        let keeps = begun.elapsed() < STREAK && !env.stop.is_cancelled();
        let next_job = (!keeps).then(jobs::new_id);
        let call = BatchCall {
            run: job.batch.run_id,
            range: job.batch.range,
            number: job.batch.batch,
            job: &job.id,
            worker: &job.worker,
            statement: plan.page(),
            page_size: plan.page_size,
            by_time: plan.bound == Bound::Clock,
            next_job: next_job.as_deref(),
        };
        let start = Instant::now();
        // Whoever lets go of this job meanwhile lets go of the statement too.
        connection.may_not_end();
        let streamed = execute_one(env, &mut connection, &plan, job, &call, &mut ahead, waiting).await;
        connection.has_ended();
        let Streamed { outcome, rejected } = streamed?;
        record(&plan, job, &outcome, rejected, start.elapsed());
        if outcome.goes_on {
            job.go_on(job.batch.batch + 1, outcome.last.clone());
        }
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            let _waiting = waits.begin();
            if tell(&mut connection, &plan, job, &outcome).await.is_err() {
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
        Route::Stream(stream) => return stream::execute(env, connection, stream, job, call, ahead, waiting).await,
        Route::Pushdown { careful, .. } => careful.as_ref(),
    };
    match (runs::execute_batch(connection, call).await, careful) {
        (Ok(outcome), _) => Ok(Streamed { outcome, rejected: 0 }),
        (Err(error), Some(stream)) if is_row_error(&error) => {
            tracing::warn!(batch = call.number, error = %without_values(&error.to_string()), "a row was refused: the page is written row by row where needed");
            stream::execute(env, connection, stream, job, call, ahead, waiting).await
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Shows a pipeline's counters from 0 on: what Prometheus has not seen before does not count as an increase.
fn announce_series(pipeline: &str) {
    metrics::add_pipeline(pipeline);
    for class in [ErrorClass::Transient, ErrorClass::RateLimited] {
        ::metrics::counter!(RETRIES, "pipeline" => pipeline.to_owned(), "class" => class.as_str()).increment(0);
    }
}

/// Notes how long a part of the work took: `open`, `page` or `close`.
pub(super) fn observe_phase(plan: &Plan, phase: &'static str, took: Duration) {
    let pipeline = metrics::histogram_label(&plan.pipeline);
    ::metrics::histogram!(BATCH_PHASE, "pipeline" => pipeline, "phase" => phase).record(took.as_secs_f64());
}

/// Notes how a batch went. Its rows are counted by the batch itself, on its run: a count kept here would die with us.
fn record(plan: &Plan, job: &HeldJob, outcome: &BatchOutcome, rejected: u64, took: Duration) {
    let pipeline = metrics::histogram_label(&plan.pipeline);
    ::metrics::histogram!(BATCH_DURATION, "pipeline" => pipeline).record(took.as_secs_f64());
    observe_phase(plan, "page", took);
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

/// Tells of the run's progress. A run goes on if that fails.
async fn tell(connection: &mut PgConnection, plan: &Plan, job: &HeldJob, outcome: &BatchOutcome) -> sqlx::Result<()> {
    let rows_total = match outcome.run_rows_total {
        Some(total) => Some(total),
        None => estimate::total(connection, plan, job, outcome).await?,
    };
    let (rows_per_second, eta_seconds) = pace(outcome.run_rows_read, rows_total, Some(outcome.run_seconds));
    let progress = Progress {
        pipeline_id: job.batch.pipeline_id.0,
        pipeline: plan.pipeline.clone(),
        run_id: job.batch.run_id.0,
        rows_read: outcome.run_rows_read,
        rows_written: outcome.run_rows_written,
        rows_total,
        rows_per_second,
        eta_seconds,
    };
    if let Err(error) = progress::announce(connection, &progress).await {
        tracing::debug!(error = %error, "progress was not told");
    }
    Ok(())
}
