//! Removes runs that ended long ago.

use std::time::Duration;

use sqlx::PgConnection;

use crate::store::interval;

/// Removes up to `most` runs that ended more than `keep` ago, the oldest of a pipeline first. Returns how many.
///
/// A pipeline keeps its last run, the one that its checkpoint belongs to and the last one that delivered rows: `part_from_emptied`
/// and `is_delivered_to` read them. Each pipeline's oldest runs are found by an index, however many others there are.
pub async fn prune(connection: &mut PgConnection, keep: Duration, most: i64) -> sqlx::Result<u64> {
    let pruned = sqlx::query!(
        r#"
        delete from etl.etl_runs
        where id in (
            select old.id
            from etl.etl_pipelines p
            cross join lateral (
                select r.id
                from etl.etl_runs r
                where r.pipeline_id = p.id
                  and r.requested_at < now() - $1::interval
                  and r.finished_at < now() - $1::interval
                  and exists (select from etl.etl_runs later
                              where later.pipeline_id = r.pipeline_id
                                and (later.requested_at, later.id) > (r.requested_at, r.id))
                  and not exists (select from etl.etl_state s where s.pipeline_id = r.pipeline_id and s.run_id = r.id)
                  and (r.rows_read <= r.rows_rejected
                       or exists (select from etl.etl_runs later
                                  where later.pipeline_id = r.pipeline_id
                                    and (later.requested_at, later.id) > (r.requested_at, r.id)
                                    and later.rows_read > later.rows_rejected))
                order by r.requested_at, r.id
                limit $2
                for update of r skip locked
            ) as old
            limit $2
        )
        "#,
        interval(keep),
        most,
    )
    .execute(connection)
    .await?;
    Ok(pruned.rows_affected())
}
