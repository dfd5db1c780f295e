//! Reports that change or need a mart at rest wait for its pipeline's run to end.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{PipelineId, RunStatus, Status},
    store::{pipelines, runs},
};

use crate::error::BatchError;

/// How long a report waits for a run to end.
const PATIENCE: TimeDelta = TimeDelta::minutes(10);

/// Gives the report back while a run of the pipeline is unfinished.
pub async fn refuse(
    connection: &mut PgConnection,
    pipeline: PipelineId,
    asked_at: DateTime<Utc>,
) -> Result<(), BatchError> {
    let found = pipelines::find(connection, &pipeline.into()).await?;
    let found = found.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
    let writer = runs::writer_of(connection, found.draft.final_target().0).await?;
    // Another pipeline's run on the same target is as much in the way.
    let other = writer.filter(|writer| writer.pipeline_id != pipeline);
    if !found.status.has_unfinished_run() && other.is_none() {
        return Ok(());
    }
    if found.status == Status::Paused {
        return Err(BatchError::fatal("the pipeline's run is paused: let it go on, or cancel it"));
    }
    if let Some(other) = other.filter(|other| other.status == RunStatus::Paused) {
        let name = other.pipeline;
        return Err(BatchError::fatal(format!(
            "the run of pipeline `{name}`, which writes the same target, is paused: let it go on, or cancel it"
        )));
    }
    // By the clock that wrote the other time.
    let now: DateTime<Utc> = sqlx::query_scalar("select clock_timestamp()").fetch_one(connection).await?;
    if now - asked_at > PATIENCE {
        return Err(BatchError::fatal("the pipeline's run did not end while the report waited for it"));
    }
    Err(BatchError::NotYet("a run of the pipeline is unfinished"))
}
