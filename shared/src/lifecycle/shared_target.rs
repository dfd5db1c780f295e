//! Pipelines that write one target: what one of them removes, another one has read already and would not write again.

use sqlx::PgConnection;

use super::{Cause, LifecycleError, forget_checkpoint};
use crate::{
    domain::{Pipeline, PipelineId, Status},
    store::{horizon, pipelines, state},
};

/// Why a pipeline forgets its checkpoint.
const REMOVED: &str =
    "checkpoint forgotten: another pipeline removed rows of the target, the next run reads everything";

/// The name of another pipeline that writes other rows to this one's target.
pub async fn other_writer(tx: &mut PgConnection, pipeline: &Pipeline) -> sqlx::Result<Option<String>> {
    Ok(other_writers(tx, pipeline).await?.next().map(|other| other.draft.name))
}

/// The pipelines that write other rows to this one's target.
async fn other_writers<'p>(
    tx: &mut PgConnection,
    pipeline: &'p Pipeline,
) -> sqlx::Result<impl Iterator<Item = Pipeline> + use<'p>> {
    let sharing = pipelines::sharing(tx, pipeline.draft.final_target().0).await?;
    let is_other = |other: &Pipeline| other.id != pipeline.id && !other.draft.reads_alike(&pipeline.draft);
    Ok(sharing.into_iter().filter(is_other))
}

/// Refuses to remove every row that the pipeline's own query does not return where another pipeline writes rows there.
pub async fn refuse_shared_target(tx: &mut PgConnection, pipeline: &Pipeline) -> Result<(), LifecycleError> {
    let target = pipeline.draft.final_target().0.to_owned();
    match other_writer(tx, pipeline).await? {
        Some(other) => Err(LifecycleError::SharedTarget { target, other }),
        None => Ok(()),
    }
}

/// Whether a pipeline that writes other rows to this one's target has a checkpoint, which says that they are there.
pub async fn others_have_checkpoints(tx: &mut PgConnection, pipeline: &Pipeline) -> sqlx::Result<bool> {
    for other in other_writers(tx, pipeline).await? {
        if state::find(tx, other.id).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Notes that a pipeline removed rows of its target, locks its row, and forgets the checkpoints of the pipelines that write other
/// rows there: they say that those rows are there. Such pipelines are disabled, or share the target unseen.
pub async fn forget_others(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    target: &str,
    cause: Cause<'_>,
) -> Result<(), LifecycleError> {
    let others = pipelines::note_removal(tx, pipeline, target).await?;
    if others.is_empty() {
        return Ok(());
    }
    let Some(pipeline) = pipelines::find(tx, &pipeline.into()).await? else { return Ok(()) };
    for other in others {
        let Some(other) = pipelines::find(tx, &other.into()).await? else { continue };
        if other.draft.reads_alike(&pipeline.draft) {
            continue;
        }
        let has_checkpoint = state::find(tx, other.id).await?.is_some();
        if has_checkpoint && other.status == Status::Idle {
            forget_checkpoint(tx, &other, REMOVED, cause).await?;
        } else {
            // Its status says something else that must not be forgotten, or a run that rests would leave a checkpoint.
            state::forget(tx, other.id).await?;
            horizon::forget(tx, other.id).await?;
        }
    }
    Ok(())
}
