//! `apalis.jobs`, as far as we finish, return and rescue jobs ourselves.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;

/// The channel on which the queue announces new jobs; we announce returned ones on it too.
pub const JOBS_CHANNEL: &str = "apalis::job::insert";

/// Finishes a job that `worker` holds. Whether it still held it.
pub async fn finish(tx: &mut PgConnection, job: &str, worker: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Done', done_at = now()
        where id = $1 and lock_by = $2 and status in ('Queued', 'Running')
        "#,
        job,
        worker,
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a job that nobody can use out of the queue, with the reason.
pub async fn kill(connection: &mut PgConnection, job: &str, reason: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Killed', done_at = now(), last_result = jsonb_build_object('Err', $2::text)
        where id = $1 and status in ('Pending', 'Queued', 'Running')
        "#,
        job,
        reason,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives a job that `worker` holds back to the queue, with a new payload, to run after `delay`.
pub async fn put_back(
    tx: &mut PgConnection,
    job: &str,
    worker: &str,
    payload: &[u8],
    delay: Duration,
) -> sqlx::Result<bool> {
    let returned = sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Pending', job = $3, run_at = now() + $4, lock_by = null, lock_at = null
        where id = $1 and lock_by = $2 and status in ('Queued', 'Running')
        "#,
        job,
        worker,
        payload,
        interval(delay),
    )
    .execute(tx)
    .await?;
    Ok(returned.rows_affected() == 1)
}

/// Marks the worker alive.
pub async fn heartbeat(connection: &mut PgConnection, worker: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update apalis.workers set last_seen = now(), started_at = coalesce(started_at, now()) where id = $1",
        worker,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Marks the worker gone: it is listed no more, and whatever it still holds is rescued at once.
pub async fn sign_off(connection: &mut PgConnection, worker: &str) -> sqlx::Result<()> {
    sqlx::query!("update apalis.workers set last_seen = 'epoch' where id = $1", worker).execute(connection).await?;
    Ok(())
}

/// Returns the jobs of workers that have been silent for `dead_after` to the queue. Returns how many.
pub async fn rescue(connection: &mut PgConnection, queue: &str, dead_after: Duration) -> sqlx::Result<u64> {
    let rescued = sqlx::query_scalar!(
        r#"
        with orphan as (
            select j.id
            from apalis.jobs j
            join apalis.workers w on w.id = j.lock_by
            where j.job_type = $1 and j.status in ('Queued', 'Running') and w.last_seen < now() - $2::interval
            for update of j skip locked
        ),
        rescued as (
            update apalis.jobs j
            set status = 'Pending', lock_by = null, lock_at = null, attempts = j.attempts + 1,
                run_at = now() - interval '1 second'
            from orphan
            where j.id = orphan.id
            returning j.id
        )
        select count(*) as "rescued!" from rescued
        "#,
        queue,
        interval(dead_after),
    )
    .fetch_one(connection)
    .await?;
    Ok(u64::try_from(rescued).unwrap_or_default())
}

/// Returns jobs that `worker` holds for at least `idle` although it works on none of them but `working`. Returns how many.
pub async fn release_forgotten(
    connection: &mut PgConnection,
    worker: &str,
    working: &[String],
    idle: Duration,
) -> sqlx::Result<u64> {
    let released = sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Pending', lock_by = null, lock_at = null, run_at = now() - interval '1 second'
        where lock_by = $1 and status in ('Queued', 'Running') and not id = any($2) and lock_at < now() - $3::interval
        "#,
        worker,
        working,
        interval(idle),
    )
    .execute(connection)
    .await?;
    Ok(released.rows_affected())
}

/// Jobs that came back too often: whatever worker took them died. Taken out of the queue and returned.
pub async fn kill_exhausted(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Vec<Vec<u8>>> {
    sqlx::query_scalar!(
        r#"
        update apalis.jobs
        set status = 'Killed', done_at = now(), last_result = '{"Err": "every worker that took it died"}'
        where job_type = $1 and status = 'Pending' and attempts >= max_attempts
        returning job
        "#,
        queue,
    )
    .fetch_all(connection)
    .await
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

/// Wakes every worker.
pub async fn announce(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", JOBS_CHANNEL).execute(connection).await?;
    Ok(())
}

/// How long until the next waiting job is due; `None` if none waits for its time.
pub async fn next_due(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Option<Duration>> {
    let row = sqlx::query!(
        r#"
        select min(run_at) as due, clock_timestamp() as "now!: DateTime<Utc>"
        from apalis.jobs
        where job_type = $1 and status = 'Pending'
        "#,
        queue,
    )
    .fetch_one(connection)
    .await?;
    Ok(row.due.map(|due| (due - row.now).to_std().unwrap_or_default()))
}

/// Removes jobs that ended more than `keep` ago, and workers that have been silent as long. Returns how many jobs.
pub async fn prune(connection: &mut PgConnection, queue: &str, keep: Duration) -> sqlx::Result<u64> {
    let pruned = sqlx::query!(
        r#"
        delete from apalis.jobs
        where id in (
            select id from apalis.jobs
            where job_type = $1 and status in ('Done', 'Killed') and done_at < now() - $2::interval
            limit 50000
            for update skip locked
        )
        "#,
        queue,
        interval(keep),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        delete from apalis.workers w
        where w.worker_type = $1 and w.last_seen < now() - $2::interval
          and not exists (select from apalis.jobs j where j.lock_by = w.id)
        "#,
        queue,
        interval(keep),
    )
    .execute(connection)
    .await?;
    Ok(pruned.rows_affected())
}

/// How much there is to do.
#[derive(Debug)]
pub struct Depth {
    /// Jobs that are due and that nobody has taken.
    pub pending: i64,
    /// Jobs that are due later.
    pub delayed: i64,
    /// Jobs of unfinished runs that a worker holds.
    pub running: i64,
    /// How long the oldest pending job has been due, in seconds; 0 if there is none.
    pub oldest_pending: f64,
}

/// Measures a queue. Finished jobs are by far the most, so the others are found without looking at those: waiting ones
/// by the queue's own index, running ones by the runs that they belong to.
pub async fn depth(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Depth> {
    sqlx::query_as!(
        Depth,
        r#"
        select count(*) filter (where j.run_at <= now()) as "pending!",
               count(*) filter (where j.run_at > now()) as "delayed!",
               coalesce(extract(epoch from now() - min(j.run_at) filter (where j.run_at <= now())), 0)::double precision
                   as "oldest_pending!",
               (select count(*)
                from etl.etl_runs r
                join etl.etl_run_ranges g on g.run_id = r.id
                join apalis.jobs held on held.id = g.job_id
                where r.status in ('QUEUED', 'RUNNING', 'PAUSED') and held.status in ('Queued', 'Running')) as "running!"
        from apalis.jobs j
        where j.job_type = $1 and j.status = 'Pending'
        "#,
        queue,
    )
    .fetch_one(connection)
    .await
}
