//! Creating, changing and removing pipelines; allowing targets, and functions for hooks; setting limits.
//!
//! A draft arrives here validated (see [`crate::validation`]). Validation asks the server and takes time, so it holds
//! no lock; the version tells whether the pipeline changed meanwhile.

mod hooks;
mod limits;
mod sharing;
mod targets;

use sqlx::PgPool;

pub use hooks::{HookListError, allow_function, revoke_function};
pub use limits::{ForgetLimitError, SetLimitError, forget_limit, set_limit};
pub use sharing::{conflict, sharing_problem};
pub use targets::{
    AllowError, Allowed, ForgetError, PlannedWriter, WantedTarget, allow_target, forget_target, try_target,
};

use crate::{
    domain::{Pipeline, PipelineDraft, PipelineId, PipelineRef, Status},
    lifecycle::{self, Cause, LifecycleError},
    store::{self, pipelines, state},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCheckpoint {
    /// It stays, unless the change itself says that it means nothing any more: other key columns, another target.
    Keep,
    /// It means nothing any more: the key columns have other types.
    Forget,
}

/// Why a change made a pipeline forget its checkpoint.
const NARROWED: &str =
    "checkpoint forgotten: the query changed after rows were removed by it, the next run reads everything";
const OUTDATED: &str = "checkpoint forgotten: the key columns or the target changed, the next run reads everything";

#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error("there is no pipeline `{0}`")]
    NoPipeline(PipelineRef),
    #[error("a pipeline named `{0}` exists already")]
    NameTaken(String),
    #[error("target `{0}` is not in the whitelist")]
    TargetNotAllowed(String),
    #[error("the pipeline was changed meanwhile: it is at version {0} now")]
    VersionChanged(i64),
    #[error("cannot {action} pipeline `{name}` while it is {status}{}", listed(.fields))]
    Busy {
        action: &'static str,
        name: String,
        status: Status,
        /// The fields that must stay.
        fields: Vec<&'static str>,
    },
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

fn listed(fields: &[&str]) -> String {
    if fields.is_empty() {
        ": cancel its run first".to_owned()
    } else {
        format!(": {} must stay until its run ends", fields.join(", "))
    }
}

pub async fn create(db: &PgPool, draft: &PipelineDraft) -> Result<Pipeline, DefinitionError> {
    let mut tx = db.begin().await?;
    let id = PipelineId::generate();
    pipelines::insert(&mut tx, id, draft).await.map_err(|error| refusal(error, draft))?;
    let pipeline = read_back(&mut tx, id).await?;
    tx.commit().await?;
    tracing::info!(pipeline = %draft.name, pipeline_id = %id, "pipeline created");
    Ok(pipeline)
}

/// Changes a pipeline that is still at `version`. Disabling one that is running pauses it after the current batch. A
/// checkpoint that means nothing to the changed pipeline is forgotten, as by a reset.
pub async fn change(
    db: &PgPool,
    id: PipelineId,
    version: i64,
    draft: &PipelineDraft,
    checkpoint: OnCheckpoint,
    cause: Cause<'_>,
) -> Result<Pipeline, DefinitionError> {
    let mut tx = db.begin().await?;
    let current = locked(&mut tx, &id.into()).await?;
    if current.version != version {
        return Err(DefinitionError::VersionChanged(current.version));
    }
    check_busy(&current, draft)?;
    pipelines::update(&mut tx, id, draft).await.map_err(|error| refusal(error, draft))?;
    let changed = read_back(&mut tx, id).await?;
    let must_pause = !draft.enabled && matches!(current.status, Status::RunRequested | Status::Running);
    if must_pause {
        lifecycle::pause(&mut tx, &id.into(), "disabled", cause).await?;
    }
    let outdated = checkpoint == OnCheckpoint::Forget || !current.draft.shares_checkpoint(draft);
    // What was removed because the old query did not return it is behind the checkpoint for the new one.
    let narrowed = !current.draft.reads_alike(draft) && pipelines::has_removed_rows(&mut tx, id).await?;
    let reason = if outdated { OUTDATED } else { NARROWED };
    let outdated = outdated || narrowed;
    if outdated && state::find(&mut tx, id).await?.is_some() {
        lifecycle::forget_checkpoint(&mut tx, &changed, reason, cause).await?;
    } else if outdated {
        // What earlier runs would leave is outdated too.
        state::forget(&mut tx, id).await?;
    }
    let changed = read_back(&mut tx, id).await?;
    // A version that was seen as an `ETag` must not be given again after a crash.
    store::wait_for_disk(&mut tx).await?;
    tx.commit().await?;
    tracing::info!(pipeline = %draft.name, pipeline_id = %id, version = changed.version, actor = cause.actor, "pipeline changed");
    Ok(changed)
}

/// Removes a pipeline with its runs and checkpoint. Its version must be one of `versions`, where given.
pub async fn delete(db: &PgPool, pipeline: &PipelineRef, versions: Option<&[i64]>) -> Result<(), DefinitionError> {
    let mut tx = db.begin().await?;
    let current = locked(&mut tx, pipeline).await?;
    if versions.is_some_and(|versions| !versions.contains(&current.version)) {
        return Err(DefinitionError::VersionChanged(current.version));
    }
    if current.status.has_unfinished_run() {
        return Err(busy("delete", &current, Vec::new()));
    }
    pipelines::delete(&mut tx, current.id).await?;
    tx.commit().await?;
    tracing::info!(pipeline = %current.draft.name, pipeline_id = %current.id, "pipeline deleted");
    Ok(())
}

/// Refuses changes that would pull the ground from under an unfinished run.
pub fn check_busy(current: &Pipeline, draft: &PipelineDraft) -> Result<(), DefinitionError> {
    let fields = current.draft.changes_under_a_run(draft);
    if current.status.has_unfinished_run() && !fields.is_empty() {
        return Err(busy("change", current, fields));
    }
    Ok(())
}

async fn locked(tx: &mut sqlx::PgConnection, pipeline: &PipelineRef) -> Result<Pipeline, DefinitionError> {
    pipelines::lock(tx, pipeline).await?.ok_or_else(|| DefinitionError::NoPipeline(pipeline.clone()))
}

async fn read_back(tx: &mut sqlx::PgConnection, id: PipelineId) -> Result<Pipeline, DefinitionError> {
    pipelines::find(tx, &id.into()).await?.ok_or(DefinitionError::NoPipeline(id.into()))
}

fn busy(action: &'static str, pipeline: &Pipeline, fields: Vec<&'static str>) -> DefinitionError {
    DefinitionError::Busy { action, name: pipeline.draft.name.clone(), status: pipeline.status, fields }
}

/// A constraint's name becomes an answer: the database decides.
fn refusal(error: sqlx::Error, draft: &PipelineDraft) -> DefinitionError {
    if store::violates(&error, "etl_pipelines_name_key") {
        DefinitionError::NameTaken(draft.name.clone())
    } else if store::violates(&error, "etl_pipelines_target_fkey") {
        DefinitionError::TargetNotAllowed(draft.target_table.clone())
    } else if store::violates(&error, "etl_pipeline_tasks_target_fkey") {
        DefinitionError::TargetNotAllowed(draft.final_target().0.to_owned())
    } else {
        error.into()
    }
}
