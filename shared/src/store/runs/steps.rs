//! `etl.etl_run_steps`: what the steps of a run did.

use sqlx::{PgConnection, types::Json};

use crate::domain::{RunId, RunStep};

/// Adds to what the steps of a run did before. Nothing where the run is gone.
pub async fn add_steps(tx: &mut PgConnection, id: RunId, steps: &[RunStep]) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_run_steps as s (
            run_id, place, step, blocks, rows_in, rows_out, rejected, dropped, duration_us, calls_made, calls_saved,
            waited_us, waited_for, concurrency)
        select r.id, n.place, n.step, n.blocks, n.rows_in, n.rows_out, n.rejected, n.dropped, n.duration_us, n.calls_made,
               n.calls_saved, n.waited_us, n.waited_for, n.concurrency
        from etl.etl_runs r
        cross join jsonb_populate_recordset(null::etl.etl_run_steps, $2) as n
        where r.id = $1
        order by n.place
        on conflict (run_id, place) do update
        set blocks = s.blocks + excluded.blocks,
            rows_in = s.rows_in + excluded.rows_in,
            rows_out = s.rows_out + excluded.rows_out,
            rejected = s.rejected + excluded.rejected,
            dropped = s.dropped + excluded.dropped,
            duration_us = s.duration_us + excluded.duration_us,
            calls_made = s.calls_made + excluded.calls_made,
            calls_saved = s.calls_saved + excluded.calls_saved,
            waited_us = s.waited_us + excluded.waited_us,
            waited_for = coalesce(excluded.waited_for, s.waited_for)
        "#,
        id as RunId,
        Json(steps) as Json<&[RunStep]>,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Reads what the steps of a run did, in their order.
pub async fn steps(connection: &mut PgConnection, id: RunId) -> sqlx::Result<Vec<RunStep>> {
    sqlx::query_as!(
        RunStep,
        r#"
        select place, step, blocks, rows_in, rows_out, rejected, dropped, duration_us, calls_made, calls_saved, waited_us,
               waited_for, concurrency
        from etl.etl_run_steps
        where run_id = $1
        order by place
        "#,
        id as RunId,
    )
    .fetch_all(connection)
    .await
}
