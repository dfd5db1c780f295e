//! Which run an idempotency key was answered with.

use sqlx::PgConnection;

use crate::domain::{PipelineId, RunId};

/// Remembers which run an idempotency key was answered with.
pub(crate) async fn remember_key(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    key: &str,
    run: RunId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into etl.etl_run_keys (pipeline_id, idempotency_key, run_id) values ($1, $2, $3)",
        pipeline as PipelineId,
        key,
        run as RunId,
    )
    .execute(tx)
    .await?;
    Ok(())
}
