//! Runs that repeat an earlier one.

use sqlx::{Connection, PgConnection, PgPool};

use super::{
    Cause, LifecycleError, lock, refuse_shared_target,
    request::{NewRun, RequestedRun, insert_run, refuse_busy},
};
use crate::{
    domain::{Command, IllegalTransition, Mode, Pipeline, PipelineDraft, RunId, Status, Trigger},
    store::{self, runs},
};

/// Requests a new run with the inputs of an earlier one: its configuration and where it began. It moves the pipeline's
/// checkpoint only if that was not forgotten since the earlier run was requested.
pub async fn run_again(db: &PgPool, earlier: RunId, cause: Cause<'_>) -> Result<RequestedRun, LifecycleError> {
    let mut connection = db.acquire().await?;
    let requested = match repeat_run(&mut connection, earlier, cause).await {
        Err(error) if error.is_target_busy() => {
            let found = runs::find(&mut connection, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
            refuse_busy(&mut connection, &found.pipeline_id.into()).await?;
            repeat_run(&mut connection, earlier, cause).await?
        }
        requested => requested?,
    };
    store::flush(&mut connection).await?;
    Ok(requested)
}

async fn repeat_run(
    connection: &mut PgConnection,
    earlier: RunId,
    cause: Cause<'_>,
) -> Result<RequestedRun, LifecycleError> {
    let mut tx = connection.begin().await?;
    let found = runs::find(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    let seen = lock(&mut tx, &found.pipeline_id.into()).await?;
    let Pipeline { draft, status, .. } = &seen.pipeline;
    if !draft.enabled {
        return Err(LifecycleError::Disabled(draft.name.clone()));
    }
    if status.has_unfinished_run() {
        return Err(IllegalTransition { from: *status, command: Command::RequestRun }.into());
    }
    let mut inputs = runs::inputs(&mut tx, earlier).await?.ok_or(LifecycleError::NoRun(earlier))?;
    // What the earlier run was allowed to remove was allowed once.
    inputs.options.max_removed = draft.options.max_removed;
    refuse_changed(earlier, &inputs, draft)?;
    if found.mode == Mode::Full && inputs.mode == Mode::Incremental {
        refuse_shared_target(&mut tx, &seen.pipeline).await?;
    }
    // It begins where the earlier one did, or before that where the checkpoint was moved back since, because rows were read
    // again. It must not be moved over rows that are still to be read.
    let from = found.checkpoint_from.map(|from| match &seen.checkpoint {
        Some(now) => from.or_before(now.clone()),
        None => from,
    });
    let new = NewRun {
        inputs: &inputs,
        mode: found.mode,
        from: from.as_ref(),
        cuts: &[],
        trigger: Trigger::Again,
        repeats: Some(earlier),
    };
    let reason = format!("run {earlier} again");
    let run = insert_run(&mut tx, &seen, new, Some(&reason), cause).await?;
    let run = run.ok_or(LifecycleError::ChangedUnderLock)?;
    tx.commit().await?;
    Ok(RequestedRun { run, status: Status::RunRequested, already_active: false })
}

/// A repeated run writes the pipeline's target and moves its checkpoint, which must mean the same to the runs that follow.
fn refuse_changed(run: RunId, inputs: &PipelineDraft, draft: &PipelineDraft) -> Result<(), LifecycleError> {
    let walk = |draft: &PipelineDraft| -> Vec<String> {
        draft.incremental_key.iter().chain(&draft.incremental_id_key).map(|name| format!("`{name}`")).collect()
    };
    let (then, now) = (walk(inputs), walk(draft));
    let pipeline = draft.name.clone();
    if inputs.mode == Mode::Incremental && draft.mode == Mode::Incremental && then != now {
        let (then, now) = (then.join(", "), now.join(", "));
        return Err(LifecycleError::WalksOtherwise { run, then, pipeline, now });
    }
    let differs = draft.differs_from_run(inputs);
    if differs.is_empty() { Ok(()) } else { Err(LifecycleError::ChangedSince { run, differs, pipeline }) }
}
