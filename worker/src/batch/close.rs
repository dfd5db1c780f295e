//! After the last batch in a worker's hands: what the pipeline's status becomes.

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{RunStatus, removal},
    lifecycle::{
        self,
        execution::{self, HeldJob, Step},
    },
    store::{self, horizon, pages, pipelines, runs, state, swaps},
};

use super::{
    advice,
    chain::observe_phase,
    plan::Plan,
    pushdown::{Completion, Page},
};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit, while_rows_are_kept},
    session::Session,
    sink::elasticsearch::IndexSink,
};

/// Finishes, pauses or goes on, in one transaction with the job. What the run read is on disk by then. Of a run that is `cut` into
/// ranges the last live job does; those before it leave when their ranges are walked.
pub(super) async fn close(
    env: &Environment,
    mut connection: Session,
    job: &HeldJob,
    plan: &Plan,
    cut: bool,
    wrote: bool,
) -> Result<Step, BatchError> {
    let begun = Instant::now();
    let waiting = env.in_hand.waits(job.batch.run_id.0).begin();
    if cut && execution::leave(&mut connection, job).await? {
        return Ok(Step::GoesOn);
    }
    let mut dropped = 0;
    if let Some((index, rows)) = to_take_over(&mut connection, job, plan).await? {
        // Now Elasticsearch is waited for.
        drop(waiting);
        let refuse = |removed, of| refusal(plan, removed, of);
        dropped = index.finish(rows, refuse).await?.cast_signed();
    }
    let _waiting = env.in_hand.waits(job.batch.run_id.0).begin();
    if wrote {
        store::flush(&mut connection).await?;
    }
    if dropped == 0
        && let Some(sum) = end_at_once(&mut connection, job, plan).await?
    {
        observe_phase(plan, "close", begun.elapsed());
        env.forget_plan(job.batch.run_id);
        advice::summarize(&mut connection, job, plan, sum).await;
        return Ok(Step::Finished);
    }
    let mut tx = connection.begin_named("begin").await?;
    let walked = runs::is_walked(&mut tx, job.batch.run_id).await?;
    let Changed { written, removed } = if walked { complete(&mut tx, job, plan).await? } else { Changed::default() };
    let removed = removed + dropped;
    // A transaction may publish its start a moment after it took it: one that is open now and began before the run's bound
    // was not seen when the bound was taken, and is read again.
    let late = if walked && plan.settles_by().is_by_clock() {
        horizon::late_starters(&mut tx, job.batch.run_id).await?
    } else {
        Vec::new()
    };
    let leaves = plan.leaves.as_ref().filter(|_| walked);
    // From here on others wait: the pipeline's row first, then the run's, as everywhere.
    if removed > 0 {
        lifecycle::forget_others(&mut tx, job.batch.pipeline_id, &plan.target, job.cause()).await?;
    } else if leaves.is_some() && plan.index().is_some_and(IndexSink::rebuilds) {
        // The index that was replaced may have had other documents, and as many; checkpoints of others are of that index.
        pipelines::note_removal(&mut tx, job.batch.pipeline_id, &plan.target).await?;
    } else if !late.is_empty() || leaves.is_some() || written > 0 {
        pipelines::lock(&mut tx, &job.batch.pipeline_id.into()).await?;
    }
    if !late.is_empty() {
        horizon::owe(&mut tx, job.batch.pipeline_id, &late).await?;
    }
    if written > 0 {
        runs::add_written(&mut tx, job.batch.run_id, written).await?;
    }
    if removed > 0 {
        runs::add_removed(&mut tx, job.batch.run_id, removed).await?;
    }
    if let Some(leaves) = leaves {
        state::leave(&mut tx, job.batch.run_id, leaves.last_settled.is_none(), &leaves.walks_by).await?;
    }
    let step = execution::conclude(&mut tx, job, walked).await?;
    if step == Step::Dropped {
        return Ok(step);
    }
    if plan.completion.is_some() || plan.leaves.is_some() {
        store::wait_for_disk(&mut tx).await?;
    }
    tx.commit().await.map_err(at_commit)?;
    observe_phase(plan, "close", begun.elapsed());
    if step == Step::Finished {
        env.forget_plan(job.batch.run_id);
        if let Some(sum) = runs::sum(&mut connection, job.batch.run_id).await? {
            advice::summarize(&mut connection, job, plan, sum).await;
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
    if plan.completion.is_some() || plan.leaves.is_some() {
        return Ok(None);
    }
    Ok(execution::finish(connection, job, &plan.pipeline).await?)
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

/// What a run did to its target besides its pages.
#[derive(Debug, Default)]
struct Changed {
    /// Rows that it inserted or changed.
    written: i64,
    /// Rows that it removed.
    removed: i64,
}

/// What a run does to its target between its last page and its end.
async fn complete(tx: &mut PgConnection, job: &HeldJob, plan: &Plan) -> Result<Changed, BatchError> {
    match &plan.completion {
        Some(Completion::Sweep { count, delete }) => {
            let removed = sweep(tx, job, plan, count.as_deref(), delete).await?;
            Ok(Changed { written: 0, removed })
        }
        Some(Completion::Swap { gathering, delete, make_room, replace }) => {
            let removed = remove(tx, plan, delete).await?;
            if let Some(make_room) = make_room {
                pages::execute(tx, make_room, &[]).await?;
            }
            let replaced = pages::execute(tx, replace, &[]).await;
            let replaced = if make_room.is_none() { replaced.map_err(while_rows_are_kept)? } else { replaced? };
            let written = replaced.rows_written;
            swaps::remove(tx, &gathering.table).await?;
            Ok(Changed { written, removed })
        }
        None => Ok(Changed::default()),
    }
}

/// Removes rows that the query does not return any more. Pages walk by the key, so every key was read once: as many
/// rows in the target as were read, all of which were written, means that there are no others.
async fn sweep(
    tx: &mut PgConnection,
    job: &HeldJob,
    plan: &Plan,
    count: Option<&str>,
    delete: &str,
) -> Result<i64, BatchError> {
    let Some(run) = runs::find(tx, job.batch.run_id).await? else { return Ok(0) };
    // A row that was refused is not in the target, and another one may be there in its place.
    if let Some(count) = count.filter(|_| run.rows_rejected == 0)
        && pages::execute(tx, count, &[]).await?.rows_read == run.rows_read
    {
        return Ok(0);
    }
    remove(tx, plan, delete).await
}

/// Removes rows, if the run may remove so many: otherwise the error rolls the transaction back.
async fn remove(tx: &mut PgConnection, plan: &Plan, delete: &str) -> Result<i64, BatchError> {
    let removed = pages::execute(tx, delete, &[]).await?.rows_written;
    if removed == 0 {
        return Ok(0);
    }
    let table = plan.target.strip_prefix("analytics.").unwrap_or_default();
    let left = match removal::is_allowed(plan.max_removed, removed.unsigned_abs(), 0) {
        // So few are allowed of however many.
        true => 0,
        false => pages::execute(tx, &Page::count_rows(table), &[]).await?.rows_read,
    };
    if let Some(refusal) = refusal(plan, removed.unsigned_abs(), (left + removed).unsigned_abs()) {
        return Err(BatchError::fatal(refusal));
    }
    tracing::info!(rows_removed = removed, "removed rows that are gone from the source");
    Ok(removed)
}

fn refusal(plan: &Plan, removed: u64, of: u64) -> Option<String> {
    removal::refusal(plan.max_removed, removed, of, &plan.target, &plan.pipeline)
}
