//! After the last batch in a worker's hands: what the pipeline's status becomes.

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{HookEvent, RunStatus},
    lifecycle::{
        self,
        execution::{self, Conclusion, HeldBatch},
    },
    store::{self, horizon, pipelines, runs, state},
};

use super::{advice, progress::observe_phase};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    in_hand::Waiting,
    plan::Plan,
    session::Session,
    sink::{Completed, ExternalSink, InsideSink, Writing},
};

/// Finishes, pauses or goes on, in one transaction with the job. What the run read is on disk by then. Of a run that is `cut` into
/// ranges the last live job does; those before it leave when their ranges are walked.
pub(super) async fn finish_run(
    env: &Environment,
    mut session: Session,
    job: &HeldBatch,
    plan: &Plan,
    cut: bool,
    wrote: bool,
) -> Result<Conclusion, BatchError> {
    let begun = Instant::now();
    let waits = env.in_hand.waits(job.run_id.0);
    let waiting = waits.begin();
    if cut && execution::leave(&mut session, job).await? {
        return Ok(Conclusion::GoesOn);
    }
    if wrote {
        store::flush(&mut session).await?;
    }
    let (inside, outside) = match plan.sink.writing() {
        Writing::Inside(sink) => (Some(sink), Completed::default()),
        Writing::Before(sink) => (None, finish_external(&mut session, &**sink, job, waiting).await?),
    };
    let _waiting = waits.begin();
    // One statement ends the run where nothing is left to do to the target and nothing is in the way.
    let needs_more = outside.removed > 0
        || inside.is_some_and(InsideSink::completes)
        || plan.walk().starts_over
        || plan.hooks.has(HookEvent::OnSuccess);
    let mut sum = match needs_more {
        true => None,
        false => execution::finish(&mut session, job, &plan.pipeline).await?,
    };
    let conclusion = match sum {
        Some(_) => Conclusion::Finished,
        None => conclude(&mut session, job, plan, inside, outside).await?,
    };
    if conclusion == Conclusion::Dropped {
        return Ok(conclusion);
    }
    observe_phase(&plan.pipeline, "close", begun.elapsed());
    if matches!(conclusion, Conclusion::Finished | Conclusion::Failed) {
        env.forget_plan(job.run_id);
    }
    if conclusion == Conclusion::Finished {
        if sum.is_none() {
            sum = runs::sum(&mut session, job.run_id).await?;
        }
        if let Some(sum) = sum {
            advice::summarize(&mut session, job, plan, sum).await;
        }
    }
    Ok(conclusion)
}

/// Finishes an external sink, if the run has walked to its end and was not ended meanwhile. That comes before the run's end is
/// written, since it is harmless to repeat.
async fn finish_external(
    connection: &mut PgConnection,
    sink: &dyn ExternalSink,
    job: &HeldBatch,
    waiting: Waiting,
) -> Result<Completed, BatchError> {
    let run = runs::find(connection, job.run_id).await?;
    let Some(run) = run.filter(|run| run.status == RunStatus::Running) else { return Ok(Completed::default()) };
    if !runs::is_walked(connection, run.id).await? {
        return Ok(Completed::default());
    }
    // Now the sink is waited for.
    drop(waiting);
    sink.finish(run.id, run.rows_written.unsigned_abs()).await
}

/// Completes a sink inside, notes what the run leaves, and decides what follows, in one transaction.
async fn conclude(
    session: &mut Session,
    job: &HeldBatch,
    plan: &Plan,
    inside: Option<&dyn InsideSink>,
    outside: Completed,
) -> Result<Conclusion, BatchError> {
    let mut tx = session.begin_named("begin").await?;
    let walked = runs::is_walked(&mut tx, job.run_id).await?;
    let completed = match inside.filter(|_| walked) {
        Some(sink) => sink.complete(&mut tx, job.run_id, plan.keys.as_deref()).await?,
        None => outside,
    };
    note_completed(&mut tx, job, plan, completed, walked).await?;
    let conclusion = execution::conclude(&mut tx, job, walked, &plan.hooks).await?;
    if conclusion == Conclusion::Dropped {
        return Ok(conclusion);
    }
    if inside.is_some_and(InsideSink::completes) || plan.walk().starts_over {
        store::wait_for_disk(&mut tx).await?;
    }
    tx.commit().await.map_err(at_commit)?;
    Ok(conclusion)
}

/// Notes what was written and removed after the last page, the checkpoint that a full run leaves, and what must be read again.
async fn note_completed(
    tx: &mut PgConnection,
    job: &HeldBatch,
    plan: &Plan,
    Completed { written, removed, replaced }: Completed,
    walked: bool,
) -> Result<(), BatchError> {
    let (run, pipeline, walk) = (job.run_id, job.pipeline_id, plan.walk());
    // A transaction may publish its start a moment after it took it: one that is open now and began before the run's bound
    // was not seen when the bound was taken, and is read again.
    let late = match walked && walk.settles_by.is_by_clock() {
        true => horizon::late_starters(tx, run).await?,
        false => Vec::new(),
    };
    let leaves = walk.starts_over && walked;
    // From here on other changes of the pipeline wait: its row is locked first, then the run's, as everywhere.
    if removed > 0 {
        lifecycle::forget_others(tx, pipeline, &plan.target, job.cause()).await?;
    } else if leaves && replaced {
        // What was replaced may have had other rows, and as many; checkpoints of other pipelines are of that.
        pipelines::note_removal(tx, pipeline, &plan.target).await?;
    } else if !late.is_empty() || leaves || written > 0 {
        pipelines::lock(tx, &pipeline.into()).await?;
    }
    if !late.is_empty() {
        horizon::owe(tx, pipeline, &late).await?;
    }
    if written > 0 {
        runs::add_written(tx, run, written).await?;
    }
    if removed > 0 {
        runs::add_removed(tx, run, removed).await?;
    }
    if leaves {
        state::leave(tx, run, !walk.leaves_settled(), &walk.versions_walk_by()).await?;
    }
    Ok(())
}
