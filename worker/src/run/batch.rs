//! Batch after batch, while no other job waits for the slot.
//!
//! The worker keeps the chain's job from batch to batch: no hop through the queue, and yet a durable row from which another
//! worker goes on should this one die, where the range stands by then. After a while the chain yields by a new job to those
//! that wait, so that pipelines take turns.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use vitrina_shared::{
    domain::error_class::without_values,
    jobs::{self, BATCH_QUEUE},
    lifecycle::execution::{Conclusion, HeldBatch},
    progress::pace,
    store::{
        self, queue,
        runs::{BatchCall, BatchOutcome},
    },
};

use super::{
    finish, hooks,
    prefetch::Prefetched,
    progress,
    stream::{self, ExecutedBatch},
};
use crate::{
    environment::Environment,
    error::{BatchError, is_row_error},
    in_hand::Waits,
    plan::{Plan, Route},
    session::Session,
    source::Bound,
};

const ANNOUNCE_EVERY: Duration = Duration::from_millis(500);
/// How long one chain keeps its slot while other jobs wait for one.
const STREAK: Duration = Duration::from_secs(1);

pub(super) struct BegunRun {
    pub plan: Arc<Plan>,
    /// Whether its range was walked to its end before.
    pub walked: bool,
    /// Whether the run has other ranges.
    pub cut: bool,
    /// What batches are executed over. One session for all of a job: another one would cost a round trip for the question
    /// whether it is still there, and where that is far, a new connection.
    pub session: Session,
}

/// Executes batches until the range is walked, the run rests, or another worker is to go on.
pub(super) async fn walk_range(
    env: &Environment,
    job: &mut HeldBatch,
    BegunRun { plan, walked, cut, session }: BegunRun,
) -> Result<Conclusion, BatchError> {
    let now = Instant::now();
    let (waits, prefetched) = (env.in_hand.waits(job.run_id.0), Prefetched::default());
    let mut chain =
        Chain { env, job, plan, session, waits, prefetched, streak_began: now, announced: now, eta_seconds: None };
    // The range may have been walked by a worker that died before it could end the run. What another worker wrote, or this one in
    // a range that it left, may not be on disk either.
    let (mut is_over, mut wrote) = (walked, walked || cut || chain.job.batch > 0);
    let first = chain.job.batch;
    while !is_over {
        if env.stop.is_cancelled() {
            return Ok(Conclusion::GoesOn);
        }
        let next_job = chain.yields().await.then(jobs::new_id);
        let outcome = chain.execute_next(next_job.as_deref()).await?;
        if chain.announced.elapsed() > ANNOUNCE_EVERY {
            chain.announce_progress(&outcome).await?;
        }
        if outcome.goes_on && chain.job.batch == first + 1 {
            chain.flush().await?;
        }
        is_over = !outcome.goes_on;
        wrote |= outcome.rows_read > 0;
        if !is_over && next_job.is_some() {
            return Ok(Conclusion::GoesOn);
        }
    }
    let Chain { job, plan, session, .. } = chain;
    finish::finish_run(env, session, job, &plan, cut, wrote).await.map_err(BatchError::during_statement)
}

struct Chain<'a> {
    env: &'a Environment,
    job: &'a mut HeldBatch,
    plan: Arc<Plan>,
    session: Session,
    waits: Waits,
    prefetched: Prefetched,
    streak_began: Instant,
    announced: Instant,
    /// As the last batch has it.
    eta_seconds: Option<f64>,
}

impl Chain<'_> {
    /// Whether another worker is to go on after the next batch, because a job is due and waits for a slot; probably, where that
    /// cannot be found out.
    async fn yields(&mut self) -> bool {
        if self.streak_began.elapsed() < STREAK {
            return false;
        }
        let _waiting = self.waits.begin();
        let yields = self.finds_other_job().await.unwrap_or(true);
        if !yields {
            self.streak_began = Instant::now();
        }
        yields
    }

    /// Whether a job is due, or one waits for a worker that has what this one has.
    async fn finds_other_job(&mut self) -> sqlx::Result<bool> {
        if queue::next_due(&mut self.session, BATCH_QUEUE).await? == Some(Duration::ZERO) {
            return Ok(true);
        }
        let has = self.env.steps.current().has();
        Ok(!has.is_empty() && queue::elsewhere::waits_for(&mut self.session, BATCH_QUEUE, &has).await?)
    }

    /// Executes the next batch, and moves the job on to the one after it.
    async fn execute_next(&mut self, next_job: Option<&str>) -> Result<BatchOutcome, BatchError> {
        let start = Instant::now();
        // Should the job be given up meanwhile, the connection is closed with the statement.
        self.session.may_not_end();
        let executed = self.push_down_or_stream(next_job).await;
        self.session.has_ended();
        let ExecutedBatch { outcome, rejected } = executed.map_err(BatchError::during_statement)?;
        self.record(&outcome, rejected, start.elapsed());
        (_, self.eta_seconds) = pace(outcome.run_rows_read, outcome.run_rows_total, Some(outcome.run_seconds));
        // What fails from here on is no attempt at a batch that was committed.
        self.job.go_on(self.job.batch + 1, outcome.last.clone());
        Ok(outcome)
    }

    /// Executes a batch. A page of which the server refused a row is written once more, with care.
    async fn push_down_or_stream(&mut self, next_job: Option<&str>) -> Result<ExecutedBatch, BatchError> {
        let Self { env, plan, session, prefetched, eta_seconds, .. } = self;
        let job = &*self.job;
        let call = BatchCall {
            run: job.run_id,
            range: job.range,
            number: job.batch,
            job: &job.id,
            worker: &job.worker,
            statement: plan.page(),
            page_size: plan.walk().page_size,
            by_time: plan.walk().bound == Bound::Clock,
            next_job,
        };
        let waiting = self.waits.begin();
        let stream = match &plan.route {
            Route::Stream(stream) => stream,
            Route::Pushdown { careful, .. } => match (hooks::run_batch(session, &plan.hooks, &call).await?, careful) {
                (Ok(outcome), _) => return Ok(ExecutedBatch { outcome, rejected: 0 }),
                (Err(error), Some(stream)) if is_row_error(&error) => {
                    let error = error.to_string();
                    tracing::warn!(
                        batch = call.number, error = %without_values(&error),
                        "a row was refused: the page is written row by row where needed",
                    );
                    stream
                }
                (Err(error), _) => return Err(error.into()),
            },
        };
        let at = (job, *eta_seconds);
        let through = (&*plan.pipeline, stream, &*plan.sink, &plan.hooks);
        stream::stream_batch(env, session, through, at, &call, prefetched, waiting).await
    }

    /// Waits until what was committed is on disk. After its first batch a worker does: should it die with the server again and again,
    /// the next one finds that batch, and does not count the deaths against it.
    async fn flush(&mut self) -> Result<(), BatchError> {
        let _waiting = self.waits.begin();
        Ok(store::flush(&mut self.session).await?)
    }

    async fn announce_progress(&mut self, outcome: &BatchOutcome) -> Result<(), BatchError> {
        self.announced = Instant::now();
        let _waiting = self.waits.begin();
        if progress::announce(&mut self.session, &self.plan, self.job, outcome).await.is_err() {
            // A user's query that failed may have changed the session: the pool checks it before it is used again.
            self.session = self.env.sessions(&self.env.db, self.job.run_id.0).acquire().await?;
        }
        Ok(())
    }

    fn record(&self, outcome: &BatchOutcome, rejected: u64, took: Duration) {
        progress::observe_batch(&self.plan.pipeline, took);
        tracing::info!(
            job_id = self.job.id,
            batch = self.job.batch,
            rows_read = outcome.rows_read,
            rows_written = outcome.rows_written,
            rows_rejected = (rejected > 0).then_some(rejected),
            duration_ms = took.as_secs_f64() * 1000.0,
            "batch committed",
        );
    }
}
