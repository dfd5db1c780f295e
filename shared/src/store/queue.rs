//! `apalis.jobs`, as far as we finish, return and rescue jobs ourselves.

pub mod elsewhere;
mod holding;
mod tidy;

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

pub use self::{
    holding::{Beat, Heartbeat, HeldJob, Holder, ReturnedJob, beat, holders, lock_held, return_held, sign_off},
    tidy::{advance, exhausted, kill_exhausted, kill_foreign, kill_unwanted},
};
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

/// Locks a job that `worker` holds, so that it is given to no other one before the transaction ends. Whether it still held it.
pub async fn lock_own(tx: &mut PgConnection, job: &str, worker: &str) -> sqlx::Result<bool> {
    let held = sqlx::query_scalar!(
        "select id from apalis.jobs where id = $1 and lock_by = $2 and status in ('Queued', 'Running') for update",
        job,
        worker,
    )
    .fetch_optional(tx)
    .await?;
    Ok(held.is_some())
}

/// Takes a job that no worker can use out of the queue, with the reason.
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

/// Gives a job that `worker` holds back to the queue, with a new payload, to run after `delay`. Workers that died with another
/// batch of it count no more.
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
        set status = 'Pending', job = $3, run_at = now() + $4, lock_by = null, lock_at = null,
            attempts = case
                when convert_from(job, 'UTF8')::jsonb -> 'batch' is distinct from convert_from($3, 'UTF8')::jsonb -> 'batch'
                then 0 else attempts
            end
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

pub async fn announce(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", JOBS_CHANNEL).execute(connection).await.map(drop)
}

/// How long until the next waiting job is due; `None` if none waits for its time.
pub async fn next_due(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Option<Duration>> {
    let due = next_due_at(connection, queue).await?;
    Ok(due.map(|(due, now)| (due - now).to_std().unwrap_or_default()))
}

/// When the next waiting job is due, and what time it is. All jobs have the same priority, so the queue's index has it first.
async fn next_due_at(
    connection: &mut PgConnection,
    queue: &str,
) -> sqlx::Result<Option<(DateTime<Utc>, DateTime<Utc>)>> {
    let row = sqlx::query!(
        r#"
        select run_at, clock_timestamp() as "now!: DateTime<Utc>"
        from apalis.jobs
        where job_type = $1 and status = 'Pending' and priority = 0
        order by run_at
        limit 1
        "#,
        queue,
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.run_at, row.now)))
}

/// For how many seconds the job that waits longest has been due, less than 0 where it is not due yet; `None` if none waits.
pub async fn waiting_for(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Option<f64>> {
    let due = next_due_at(connection, queue).await?;
    Ok(due.map(|(due, now)| (now - due).as_seconds_f64()))
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

#[derive(Debug)]
pub struct Depth {
    /// Jobs that are due and that no worker has taken.
    pub pending: i64,
    pub delayed: i64,
    /// Jobs of unfinished runs that a worker holds.
    pub running: i64,
    /// How long the oldest pending job has been due, in seconds; 0 if there is none.
    pub oldest_pending: f64,
}

/// Measures a queue. Finished jobs are by far the most, so the other jobs are found without looking at those: waiting ones
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
