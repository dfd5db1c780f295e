//! After the last batch in a worker's hands: what the pipeline's status becomes.

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::RunStatus,
    lifecycle::{
        self,
        execution::{self, HeldJob, Step},
    },
    store::{self, horizon, pipelines, runs, state},
};

use super::{advice, series::observe_phase};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    plan::Plan,
    session::Session,
    sink::{Completed, ExternalSink, InsideSink, Writing},
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
    let (inside, outside) = match plan.sink.writing() {
        Writing::Inside(sink) => (Some(sink), Completed::default()),
        Writing::Before(sink) => {
            let rows = rows_to_finish(&mut connection, job).await?;
            // Now the sink is waited for.
            drop(waiting);
            (None, finish(&**sink, job, rows).await?)
        }
    };
    let completes = inside.is_some_and(InsideSink::completes);
    let _waiting = env.in_hand.waits(job.batch.run_id.0).begin();
    if wrote {
        store::flush(&mut connection).await?;
    }
    // Ended at once, where nothing is left to do to the target and nothing is in the way.
    if outside.removed == 0
        && !completes
        && !plan.walk().starts_over
        && let Some(sum) = execution::finish(&mut connection, job, &plan.pipeline).await?
    {
        observe_phase(&plan.pipeline, "close", begun.elapsed());
        env.forget_plan(job.batch.run_id);
        advice::summarize(&mut connection, job, plan, sum).await;
        return Ok(Step::Finished);
    }
    let mut tx = connection.begin_named("begin").await?;
    let walked = runs::is_walked(&mut tx, job.batch.run_id).await?;
    let Completed { written, removed, replaced } = match inside.filter(|_| walked) {
        Some(sink) => sink.complete(&mut tx, job.batch.run_id, &plan.keys).await?,
        None => outside,
    };
    // A transaction may publish its start a moment after it took it: one that is open now and began before the run's bound
    // was not seen when the bound was taken, and is read again.
    let late = if walked && plan.walk().settles_by.is_by_clock() {
        horizon::late_starters(&mut tx, job.batch.run_id).await?
    } else {
        Vec::new()
    };
    let leaves = plan.walk().starts_over && walked;
    // From here on others wait: the pipeline's row first, then the run's, as everywhere.
    if removed > 0 {
        lifecycle::forget_others(&mut tx, job.batch.pipeline_id, &plan.target, job.cause()).await?;
    } else if leaves && replaced {
        // What was replaced may have had other rows, and as many; checkpoints of others are of that.
        pipelines::note_removal(&mut tx, job.batch.pipeline_id, &plan.target).await?;
    } else if !late.is_empty() || leaves || written > 0 {
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
    if leaves {
        let walk = plan.walk();
        state::leave(&mut tx, job.batch.run_id, !walk.leaves_settled(), &walk.versions_walk_by()).await?;
    }
    let step = execution::conclude(&mut tx, job, walked).await?;
    if step == Step::Dropped {
        return Ok(step);
    }
    if completes || plan.walk().starts_over {
        store::wait_for_disk(&mut tx).await?;
    }
    tx.commit().await.map_err(at_commit)?;
    observe_phase(&plan.pipeline, "close", begun.elapsed());
    if step == Step::Finished {
        env.forget_plan(job.batch.run_id);
        if let Some(sum) = runs::sum(&mut connection, job.batch.run_id).await? {
            advice::summarize(&mut connection, job, plan, sum).await;
        }
    }
    Ok(step)
}

/// How many rows the run has written, if it has walked to its end and was not ended meanwhile.
async fn rows_to_finish(connection: &mut PgConnection, job: &HeldJob) -> Result<Option<u64>, BatchError> {
    let run = runs::find(connection, job.batch.run_id).await?;
    let Some(run) = run.filter(|run| run.status == RunStatus::Running) else { return Ok(None) };
    let walked = runs::is_walked(connection, run.id).await?;
    Ok(walked.then_some(run.rows_written.unsigned_abs()))
}

/// Finishes an external sink, before the run's end is written: it is harmless to repeat.
async fn finish(sink: &dyn ExternalSink, job: &HeldJob, rows: Option<u64>) -> Result<Completed, BatchError> {
    match rows {
        Some(rows) => sink.finish(job.batch.run_id, rows).await,
        None => Ok(Completed::default()),
    }
}
