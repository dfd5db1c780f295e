//! The ranges of a run and their jobs.

use serde_json::Value;
use sqlx::PgConnection;

use crate::domain::{Position, RunId};

/// A range of a run that is to be walked, and whether the queue still holds its next batch.
#[derive(Debug)]
pub struct Range {
    /// Its number within the run.
    pub range_no: i32,
    /// The batch that comes next.
    pub next_batch: i64,
    /// Where that batch begins.
    pub after: Option<Position>,
    /// The run's correlation id.
    pub correlation_id: String,
    /// Whether its job is waiting or executing.
    pub has_live_job: bool,
}

/// Reads the unfinished ranges of a run. One that is walked to its end in all ranges has the first of them: somebody
/// must still end the run.
pub async fn open_ranges(connection: &mut PgConnection, run: RunId) -> sqlx::Result<Vec<Range>> {
    let rows = sqlx::query!(
        r#"
        select g.range_no, g.next_batch, g.after as "after: Position", r.correlation_id,
               coalesce(j.status in ('Pending', 'Queued', 'Running'), false) as "has_live_job!"
        from etl.etl_run_ranges g
        join etl.etl_runs r on r.id = g.run_id
        left join apalis.jobs j on j.id = g.job_id
        where g.run_id = $1
          and (g.finished_at is null
               or g.range_no = 0 and not exists (
                   select from etl.etl_run_ranges o where o.run_id = g.run_id and o.finished_at is null
               ))
        order by g.range_no
        "#,
        run as RunId,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Range {
            range_no: row.range_no,
            next_batch: row.next_batch,
            after: row.after,
            correlation_id: row.correlation_id,
            has_live_job: row.has_live_job,
        })
        .collect())
}

/// The number of the next batch of a range.
pub async fn next_batch(connection: &mut PgConnection, run: RunId, range_no: i32) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        "select next_batch from etl.etl_run_ranges where run_id = $1 and range_no = $2",
        run as RunId,
        range_no,
    )
    .fetch_optional(connection)
    .await
}

/// Notes which job carries a range on.
pub(crate) async fn set_job(tx: &mut PgConnection, run: RunId, range_no: i32, job_id: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_run_ranges set job_id = $3 where run_id = $1 and range_no = $2",
        run as RunId,
        range_no,
        job_id,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes the jobs of a run that no worker has begun out of the queue.
pub(crate) async fn withdraw_jobs(tx: &mut PgConnection, run: RunId, reason: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update apalis.jobs j
        set status = 'Killed', done_at = now(), last_result = $2
        from etl.etl_run_ranges g
        where g.run_id = $1 and j.id = g.job_id and j.status = 'Pending'
        "#,
        run as RunId,
        Value::from(reason),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The bound that a range is read up to.
pub async fn upper(connection: &mut PgConnection, id: RunId, range_no: i32) -> sqlx::Result<Option<String>> {
    let upper = sqlx::query_scalar!(
        "select upper from etl.etl_run_ranges where run_id = $1 and range_no = $2",
        id as RunId,
        range_no,
    )
    .fetch_optional(connection)
    .await?;
    Ok(upper.flatten())
}

/// Whether every range of the run has been walked to its end.
pub async fn is_walked(connection: &mut PgConnection, id: RunId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select not exists (
            select from etl.etl_run_ranges where run_id = $1 and finished_at is null
        ) as "walked!"
        "#,
        id as RunId,
    )
    .fetch_one(connection)
    .await
}
