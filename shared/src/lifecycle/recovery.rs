//! Makes the tables agree again: an active pipeline always has a run, and every unfinished range of the run a job.

use sqlx::PgPool;
use uuid::Uuid;

use super::{
    Cause, LifecycleError, change, lock,
    request::{ensure_run, new_run},
};
use crate::{
    domain::{Command, PipelineId, Status, Trigger},
    store::runs,
};

/// Gives a run and a job for each of its ranges to every active pipeline that lacks one: one whose job was lost, or one whose
/// status was set to `RUN_REQUESTED` by hand. Returns how many pipelines needed it. Any number of processes may call it at once,
/// and a pipeline that cannot be helped does not keep the other pipelines from it.
pub async fn recover(db: &PgPool) -> Result<usize, LifecycleError> {
    let mut connection = db.acquire().await?;
    let stranded = runs::stranded(&mut connection).await?;
    drop(connection);
    let mut recovered = 0;
    for pipeline in stranded {
        match recover_one(db, pipeline).await {
            Ok(needed_it) => recovered += usize::from(needed_it),
            Err(error) if error.is_target_busy() => {
                tracing::info!(pipeline_id = %pipeline, "a pipeline waits for the run of another one on its target");
            }
            Err(error) => tracing::error!(pipeline_id = %pipeline, error = %error, "a pipeline was not recovered"),
        }
    }
    Ok(recovered)
}

async fn recover_one(db: &PgPool, id: PipelineId) -> Result<bool, LifecycleError> {
    let mut tx = db.begin().await?;
    let seen = match lock(&mut tx, &id.into()).await {
        Err(LifecycleError::NoPipeline(_)) => return Ok(false),
        seen => seen?,
    };
    let pipeline = &seen.pipeline;
    let still_active = matches!(pipeline.status, Status::RunRequested | Status::Running | Status::PauseRequested);
    // Another process may have been faster between the look and the lock.
    if !still_active || !runs::stranded(&mut tx).await?.contains(&id) {
        return Ok(false);
    }
    let correlation_id = Uuid::now_v7().to_string();
    let cause = Cause { actor: "recovery", correlation_id: &correlation_id };
    if !pipeline.draft.enabled && seen.run.is_none() {
        change(&mut tx, &seen, Command::Cancel, "disabled", cause).await?;
        tx.commit().await?;
        return Ok(true);
    }
    let new = new_run(&seen, &pipeline.draft, pipeline.draft.mode, Trigger::Recovery);
    let run = ensure_run(&mut tx, &seen, new, None, cause).await?;
    tx.commit().await?;
    tracing::warn!(
        pipeline = %pipeline.draft.name,
        pipeline_id = %id,
        run_id = run.map(|run| tracing::field::display(run.id)),
        status = %pipeline.status,
        "recovered a pipeline that was active without a job",
    );
    Ok(true)
}
