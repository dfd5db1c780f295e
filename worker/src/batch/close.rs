//! After the last batch in a worker's hands: what the pipeline's status becomes.

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::RunStatus,
    lifecycle::execution::{self, HeldJob, Step},
    store::{
        self,
        horizon::{self, Reread},
        pages, pipelines, runs, swaps,
    },
};

use super::{
    chain::observe_phase,
    plan::{Bound, Plan},
    pushdown::Completion,
};
use crate::{environment::Environment, error::BatchError, session::Session, sink::elasticsearch::IndexSink};

/// Finishes, pauses or goes on, in one transaction with the job. What the run read is on disk by then.
pub(super) async fn close(
    env: &Environment,
    mut connection: Session,
    job: &HeldJob,
    plan: &Plan,
    wrote: bool,
) -> Result<Step, BatchError> {
    let begun = Instant::now();
    let waiting = env.in_hand.waits(job.batch.run_id.0).begin();
    if let Some(index) = to_take_over(&mut connection, job, plan).await? {
        // Now Elasticsearch is waited for.
        drop(waiting);
        let (sink, rows) = index;
        sink.finish(rows).await?;
    }
    let _waiting = env.in_hand.waits(job.batch.run_id.0).begin();
    if wrote {
        store::flush(&mut connection).await?;
    }
    if let Some(sum) = end_at_once(&mut connection, job, plan).await? {
        observe_phase(plan, "close", begun.elapsed());
        env.forget_plan(job.batch.run_id);
        summarize(sum);
        return Ok(Step::Finished);
    }
    let mut tx = connection.begin_named("begin").await?;
    let walked = runs::is_walked(&mut tx, job.batch.run_id).await?;
    let written = if walked { complete(&mut tx, job, plan).await? } else { 0 };
    let late = if walked && plan.bound == Bound::Clock { late_starters(&mut tx, job).await? } else { None };
    if late.is_some() || written > 0 {
        // From here on others wait: the pipeline's row first, then the run's, as everywhere.
        pipelines::lock(&mut tx, &job.batch.pipeline_id.into()).await?;
    }
    if let Some(late) = late {
        horizon::owe(&mut tx, job.batch.pipeline_id, late).await?;
    }
    if written > 0 {
        runs::add_written(&mut tx, job.batch.run_id, written).await?;
    }
    let step = execution::conclude(&mut tx, job, walked).await?;
    if step == Step::Dropped {
        return Ok(step);
    }
    if plan.completion.is_some() {
        store::wait_for_disk(&mut tx).await?;
    }
    tx.commit().await?;
    observe_phase(plan, "close", begun.elapsed());
    if step == Step::Finished {
        env.forget_plan(job.batch.run_id);
        if let Some(sum) = runs::sum(&mut connection, job.batch.run_id).await? {
            summarize(sum);
        }
    }
    Ok(step)
}

/// Ends a run that has nothing left to do to its target, if nothing is in the way.
async fn end_at_once(
    connection: &mut PgConnection,
    job: &HeldJob,
    plan: &Plan,
) -> Result<Option<runs::Sum>, BatchError> {
    if plan.completion.is_some() {
        return Ok(None);
    }
    let by_clock = plan.bound == Bound::Clock;
    Ok(execution::finish_at_once(connection, job, &plan.pipeline, by_clock).await?)
}

/// An index that was built takes the place of the old one, before the run's end is written: it is harmless to repeat. Returns
/// it with the number of its rows.
async fn to_take_over<'p>(
    connection: &mut PgConnection,
    job: &HeldJob,
    plan: &'p Plan,
) -> Result<Option<(&'p IndexSink, u64)>, BatchError> {
    let Some(index) = plan.index() else { return Ok(None) };
    let run = runs::find(connection, job.batch.run_id).await?;
    let Some(run) = run.filter(|run| run.status == RunStatus::Running) else { return Ok(None) };
    let walked = runs::is_walked(connection, run.id).await?;
    Ok(walked.then_some((index, run.rows_written.unsigned_abs())))
}

/// What a run does to its target between its last page and its end. Returns how many rows it wrote.
async fn complete(tx: &mut PgConnection, job: &HeldJob, plan: &Plan) -> Result<i64, BatchError> {
    match &plan.completion {
        Some(Completion::Sweep { count, delete }) => sweep(tx, job, count.as_deref(), delete).await,
        Some(Completion::Swap { gathering, replace }) => swap(tx, &gathering.table, replace).await,
        None => Ok(0),
    }
}

/// Removes rows that the query does not return any more. Pages walk by the key, so every key was read once: as many
/// rows in the target as were read means that there are no others.
async fn sweep(tx: &mut PgConnection, job: &HeldJob, count: Option<&str>, delete: &str) -> Result<i64, BatchError> {
    let Some(run) = runs::find(tx, job.batch.run_id).await? else { return Ok(0) };
    if let Some(count) = count
        && pages::execute(tx, count, &[]).await?.rows_read == run.rows_read
    {
        return Ok(0);
    }
    let removed = pages::execute(tx, delete, &[]).await?.rows_written;
    tracing::info!(rows_removed = removed, "removed rows that are gone from the source");
    Ok(0)
}

/// Writes everything that was gathered, all at once.
async fn swap(tx: &mut PgConnection, gathered_in: &str, replace: &str) -> Result<i64, BatchError> {
    let written = pages::execute(tx, replace, &[]).await?.rows_written;
    swaps::remove(tx, gathered_in).await?;
    Ok(written)
}

/// A transaction may publish its start a moment after it took it: whoever is open now and began before the run's
/// bound was not seen when the bound was taken, and is read again.
async fn late_starters(tx: &mut PgConnection, job: &HeldJob) -> Result<Option<Reread>, BatchError> {
    let late = horizon::late_starters(tx, job.batch.run_id).await?;
    Ok(late.map(|(oldest, newest)| Reread { from_key: oldest, once_past: newest }))
}

/// One line at the end of every run, with advice where there is any.
fn summarize(sum: runs::Sum) {
    let runs::Sum { rows_read, rows_written, batches, attempts, seconds } = sum;
    tracing::info!(
        rows_read,
        rows_written,
        batches,
        attempts,
        duration_ms = seconds * 1000.0,
        rows_per_second = if seconds > 0.0 { rows_read as f64 / seconds } else { 0.0 },
        advice = advice(sum),
        "run finished",
    );
}

fn advice(sum: runs::Sum) -> Option<&'static str> {
    let per_batch = sum.seconds / sum.batches.max(1) as f64;
    if sum.batches > 100 && per_batch < 0.02 {
        Some("batches are very short: a larger batch_size would be faster")
    } else if per_batch > 1.0 {
        Some("batches take over a second: a smaller batch_size would pause and recover sooner")
    } else if sum.attempts > 0 {
        Some("some attempts failed: see etl_runs.error for the last one")
    } else {
        None
    }
}
