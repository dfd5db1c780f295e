//! What checkpoints say about the index that runs delivered rows to.

use sqlx::PgConnection;

/// Voids the checkpoints of an external target that has become empty. Returns whether a pipeline of it had delivered rows: where
/// every row was refused, there was never anything to lose.
pub async fn part_from_emptied(connection: &mut PgConnection, target_id: &str) -> sqlx::Result<bool> {
    let parted = sqlx::query(
        r"
        with bound as materialized (
            select s.pipeline_id, s.run_id
            from etl.etl_state s
            join etl.etl_runs w on w.id = s.run_id
            where w.target_id = $1
        )
        update etl.etl_runs r
        set target_id = null
        from bound
        where r.id = bound.run_id
          and exists (select from bound b join etl.etl_runs d on d.pipeline_id = b.pipeline_id
                      where d.rows_read > d.rows_rejected)
        ",
    )
    .bind(target_id)
    .execute(connection)
    .await?;
    Ok(parted.rows_affected() > 0)
}

/// Whether a checkpoint says that rows were delivered to the index that this target has.
pub async fn is_delivered_to(connection: &mut PgConnection, target: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        r"
        select exists (
            select
            from etl.etl_state s
            join etl.etl_runs w on w.id = s.run_id
            join etl.etl_runs d on d.pipeline_id = s.pipeline_id
            where w.target = $1 and w.target_id is not null and d.rows_read > d.rows_rejected
        )
        ",
    )
    .bind(target)
    .fetch_one(connection)
    .await
}
