//! `etl.etl_state`.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, types::Json};

use super::runs::WalkedColumn;
use crate::domain::{Checkpoint, PipelineId, RunId};

/// How far a pipeline is written.
#[derive(Debug)]
pub struct State {
    pub checkpoint: Checkpoint,
    pub run_id: RunId,
    pub batch: i64,
    pub updated_at: DateTime<Utc>,
    /// Where keys come from the clock: from when on transactions may not have been complete.
    pub horizon: Option<DateTime<Utc>>,
}

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

/// Forgets a pipeline's checkpoint. Runs that were requested before move it no more, and what they removed is read again.
pub async fn forget(tx: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        with forgotten as (
            delete from etl.etl_state where pipeline_id = $1
        )
        update etl.etl_pipelines set checkpoint_epoch = checkpoint_epoch + 1, has_removed_rows = false where id = $1
        "#,
        pipeline as PipelineId,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Sets the checkpoint that a full run of an incremental pipeline leaves: the one that was noted when it began or, where
/// `walked`, the last row of its walk. Without either there was no row, and the next run begins at the beginning. A run that
/// was requested before the checkpoint was forgotten sets nothing.
pub async fn leave(tx: &mut PgConnection, run: RunId, walked: bool, walks_by: &Vec<WalkedColumn>) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        with run as (
            select r.id, r.pipeline_id, r.batches, first.horizon, first.server,
                   case when $2 then (
                       select jsonb_build_object('key', g.after[1], 'id', g.after[2])
                       from etl.etl_run_ranges g
                       where g.run_id = r.id and g.after[1] is not null
                       order by g.range_no desc
                       limit 1
                   ) else r.leaves end as leaves
            from etl.etl_runs r
            join etl.etl_run_ranges first on first.run_id = r.id and first.range_no = 0
            join etl.etl_pipelines p on p.id = r.pipeline_id and p.checkpoint_epoch = r.checkpoint_epoch
            where r.id = $1
        ),
        shown as (
            update etl.etl_runs r set checkpoint_to = run.leaves from run where r.id = run.id
        ),
        forgotten as (
            delete from etl.etl_state s using run where s.pipeline_id = run.pipeline_id and run.leaves is null
        )
        insert into etl.etl_state as s (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch, horizon, server, walks_by)
        -- As in etl.run_batch: a transaction may have been missed whose start was published late.
        select pipeline_id, leaves ->> 'key', leaves ->> 'id', id, greatest(batches - 1, 0),
               horizon - interval '1 second', server, etl.note_walk($3)
        from run
        where leaves is not null
        on conflict (pipeline_id) do update
        set checkpoint_key = excluded.checkpoint_key, checkpoint_id = excluded.checkpoint_id,
            run_id = excluded.run_id, batch = excluded.batch, updated_at = now(),
            horizon = excluded.horizon, server = excluded.server, walks_by = excluded.walks_by
        "#,
        run as RunId,
        walked,
        Json(walks_by) as Json<&Vec<WalkedColumn>>,
    )
    .execute(tx)
    .await?;
    Ok(())
}
