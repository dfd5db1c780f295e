//! `etl.etl_state`.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::domain::{Checkpoint, PipelineId, RunId};

/// How far a pipeline is durably written.
#[derive(Debug)]
pub struct State {
    /// The last row.
    pub checkpoint: Checkpoint,
    /// The run that wrote it.
    pub run_id: RunId,
    /// The batch that wrote it.
    pub batch: i64,
    /// When.
    pub updated_at: DateTime<Utc>,
    /// Where keys come from the clock: from when on transactions may not have been complete.
    pub horizon: Option<DateTime<Utc>>,
}

/// Reads a pipeline's checkpoint.
pub async fn find(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<Option<State>> {
    let row = sqlx::query!(
        r#"
        select checkpoint_key, checkpoint_id, run_id as "run_id: RunId", batch, updated_at, horizon
        from etl.etl_state
        where pipeline_id = $1
        "#,
        pipeline as PipelineId,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| State {
        checkpoint: Checkpoint { key: row.checkpoint_key, id: row.checkpoint_id },
        run_id: row.run_id,
        batch: row.batch,
        updated_at: row.updated_at,
        horizon: row.horizon,
    }))
}

/// Forgets a pipeline's checkpoint.
pub async fn forget(tx: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<()> {
    sqlx::query!("delete from etl.etl_state where pipeline_id = $1", pipeline as PipelineId).execute(tx).await?;
    Ok(())
}
