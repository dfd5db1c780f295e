//! Jobs that no worker can use, and jobs whose time a clock took away. Each statement looks at the rows in question only: there
//! may be very many other jobs.

use std::time::Duration;

use sqlx::PgConnection;

use crate::store::interval;

/// Makes jobs due whose time is further away than `longest`, which no job waits: the clock was set back. Returns how many.
pub async fn advance(connection: &mut PgConnection, queue: &str, longest: Duration) -> sqlx::Result<u64> {
    let advanced = sqlx::query!(
        r#"
        update apalis.jobs
        set run_at = now() - interval '1 second'
        where id in (
            select id from apalis.jobs
            where job_type = $1 and status = 'Pending' and priority = 0 and run_at > now() + $2::interval
            for update skip locked
        )
        "#,
        queue,
        interval(longest),
    )
    .execute(connection)
    .await?;
    Ok(advanced.rows_affected())
}

/// Takes up to `most` of the jobs that have been due for longest out of the queue where neither a run nor a report waits for
/// them. Returns how many.
pub async fn kill_unwanted(connection: &mut PgConnection, queue: &str, most: i64) -> sqlx::Result<u64> {
    let killed = sqlx::query!(
        r#"
        with wanted as materialized (
            select g.job_id as id
            from etl.etl_runs r
            join etl.etl_run_ranges g on g.run_id = r.id
            where r.status in ('QUEUED', 'RUNNING', 'PAUSED')
            union all
            select r.job_id from etl.etl_reports r where r.status in ('QUEUED', 'RUNNING')
        ),
        waiting as materialized (
            select j.id
            from apalis.jobs j
            where j.job_type = $1 and j.status = 'Pending' and j.priority = 0 and j.run_at < now()
            order by j.run_at
            limit $2
            for update skip locked
        )
        update apalis.jobs j
        set status = 'Killed', done_at = now(), last_result = '{"Err": "its run or report has ended"}'
        from waiting
        where j.id = waiting.id and waiting.id not in (select id from wanted where id is not null)
        "#,
        queue,
        most,
    )
    .execute(connection)
    .await?;
    Ok(killed.rows_affected())
}

/// The waiting jobs that came back too often, and what is to be done by them: whatever worker took them died.
pub async fn exhausted(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Vec<(String, Vec<u8>)>> {
    let jobs = sqlx::query!(
        "select id, job from apalis.jobs where job_type = $1 and status = 'Pending' and attempts >= max_attempts",
        queue,
    )
    .fetch_all(connection)
    .await?;
    Ok(jobs.into_iter().map(|row| (row.id, row.job)).collect())
}

/// Takes a job out of the queue that came back too often, unless those that are `gone` hold it no more, or its range went on from
/// this batch. Whether it did. Its run is locked before: that is the order of all who lock both.
pub async fn kill_exhausted(
    tx: &mut PgConnection,
    job: &str,
    gone: &[String],
    batch: Option<i64>,
) -> sqlx::Result<bool> {
    let killed = sqlx::query!(
        r#"
        update apalis.jobs j
        set status = 'Killed', done_at = now(), last_result = '{"Err": "every worker that took it died"}'
        where j.id = $1 and j.status <> 'Done'
          and (j.lock_by = any($2) or j.lock_by is null and j.attempts >= j.max_attempts)
          and not exists (select from etl.etl_run_ranges g where g.job_id = j.id and g.next_batch <> $3)
        "#,
        job,
        gone,
        batch,
    )
    .execute(tx)
    .await?;
    Ok(killed.rows_affected() == 1)
}

/// Takes jobs out of the queue whose id is none of ours: reading one would end every worker. Returns how many.
pub async fn kill_foreign(connection: &mut PgConnection, queue: &str) -> sqlx::Result<u64> {
    let killed = sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Killed', done_at = now(), last_result = '{"Err": "its id is not a ULID"}'
        where job_type = $1 and status = 'Pending' and id !~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'
        "#,
        queue,
    )
    .execute(connection)
    .await?;
    Ok(killed.rows_affected())
}
