//! Ends a run, lets it rest, or notes a failure.

use sqlx::PgConnection;

use crate::domain::{ErrorClass, RunId, RunStatus};

/// Ends a run without an error.
pub(crate) async fn end(tx: &mut PgConnection, id: RunId, status: RunStatus) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_runs set status = $2, finished_at = now() where id = $1",
        id as RunId,
        status as RunStatus,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Lets a run rest.
pub(crate) async fn pause(tx: &mut PgConnection, id: RunId) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set status = 'PAUSED' where id = $1", id as RunId).execute(tx).await?;
    Ok(())
}

/// Ends a run with an error.
pub(crate) async fn fail(tx: &mut PgConnection, id: RunId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_runs
        set status = 'FAILED', finished_at = now(), error_class = $2, error = left($3, 4000), attempts = attempts + 1
        where id = $1
        "#,
        id as RunId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes an attempt that failed and will be repeated.
pub(crate) async fn note_failure(tx: &mut PgConnection, id: RunId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_runs
        set attempts = attempts + 1, error_class = $2, error = left($3, 4000)
        where id = $1
        "#,
        id as RunId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}
