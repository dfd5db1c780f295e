//! Which worker holds which job, and which workers are alive.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::store::interval;

/// What a worker says with its heartbeat.
#[derive(Debug)]
pub struct Heartbeat<'a> {
    pub worker: &'a str,
    pub queue: &'a str,
    pub working: &'a [String],
    /// Jobs that it holds and does not work on, to be returned to the queue.
    pub release: &'a [String],
    /// After how much silence other workers count as gone.
    pub gone_after: Duration,
}

/// The answer to a heartbeat.
#[derive(Debug)]
pub struct Beat {
    /// Jobs that it holds and does not work on.
    pub forgotten: Vec<String>,
    pub released: i64,
    /// How long until the next waiting job is due, in seconds: less than 0 where it has been due.
    pub due_in: Option<f64>,
    /// Whether it is the one that keeps the tables in order for all.
    pub leads: bool,
    /// What the clock says that keys come from.
    pub clock: DateTime<Utc>,
}

/// Marks the worker alive, returns jobs that it forgot to the queue, and reads what it has to do: all in one statement,
/// because every worker does it all the time. The first by name leads; where two think so, both do what either would.
pub async fn beat(connection: &mut PgConnection, heartbeat: &Heartbeat<'_>) -> sqlx::Result<Beat> {
    sqlx::query_as!(
        Beat,
        r#"
        with alive as (
            update apalis.workers
            set last_seen = clock_timestamp(), started_at = coalesce(started_at, now())
            where id = $1
        ),
        released as (
            update apalis.jobs j
            set status = 'Pending', lock_by = null, lock_at = null, run_at = now() - interval '1 second'
            where j.id = any($4) and j.lock_by = $1 and j.status in ('Queued', 'Running')
            returning j.id
        )
        select array(
                   select j.id
                   from apalis.jobs j
                   where j.lock_by = $1 and j.status in ('Queued', 'Running') and not j.id = any($3) and not j.id = any($4)
               ) as "forgotten!",
               (select count(*) from released) as "released!",
               (select extract(epoch from j.run_at - clock_timestamp())::double precision
                from apalis.jobs j
                where j.job_type = $2 and j.status = 'Pending' and j.priority = 0
                order by j.run_at
                limit 1) as due_in,
               not exists (
                   select
                   from apalis.workers w
                   where w.worker_type = $2 and w.id < $1
                     and w.last_seen between clock_timestamp() - $5::interval and clock_timestamp() + $5::interval
               ) as "leads!",
               etl.clock() as "clock!"
        "#,
        heartbeat.worker,
        heartbeat.queue,
        heartbeat.working,
        heartbeat.release,
        interval(heartbeat.gone_after),
    )
    .fetch_one(connection)
    .await
}

/// Marks the worker gone: it is listed no more, and whatever it still holds is rescued at once.
pub async fn sign_off(connection: &mut PgConnection, worker: &str) -> sqlx::Result<()> {
    sqlx::query!("update apalis.workers set last_seen = 'epoch' where id = $1", worker).execute(connection).await?;
    Ok(())
}

#[derive(Debug)]
pub struct Holder {
    pub name: String,
    /// When it reported, by a clock that may have been set since: another value means that it is alive.
    pub last_seen: DateTime<Utc>,
    /// How long ago that was by the same clock, in seconds. Unknown for a worker that was registered and has not
    /// reported yet: the time of that is in whole seconds.
    pub age: f64,
    pub signed_off: bool,
}

pub async fn holders(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Vec<Holder>> {
    sqlx::query_as!(
        Holder,
        r#"
        select w.id as name, w.last_seen,
               case when w.started_at is null then 0
                    else extract(epoch from clock_timestamp() - w.last_seen) end::double precision as "age!",
               w.last_seen = 'epoch' as "signed_off!"
        from apalis.workers w
        where w.id in (
            select j.lock_by from apalis.jobs j where j.job_type = $1 and j.status in ('Queued', 'Running')
        )
        "#,
        queue,
    )
    .fetch_all(connection)
    .await
}

#[derive(Debug)]
pub struct HeldJob {
    pub id: String,
    pub payload: Vec<u8>,
    /// The next batch of the range that it is for.
    pub next_batch: Option<i64>,
    /// Whether it has come back so often that this is the last time.
    pub is_exhausted: bool,
}

/// Locks the jobs that workers hold, but for those that another process has locked.
pub async fn lock_held(tx: &mut PgConnection, queue: &str, workers: &[String]) -> sqlx::Result<Vec<HeldJob>> {
    sqlx::query_as!(
        HeldJob,
        r#"
        select j.id as "id!", j.job as "payload!", g.next_batch as "next_batch?",
               j.attempts + 1 >= j.max_attempts as "is_exhausted!"
        from apalis.jobs j
        left join etl.etl_run_ranges g on g.job_id = j.id
        where j.lock_by = any($2) and j.job_type = $1 and j.status in ('Queued', 'Running')
        for update of j skip locked
        "#,
        queue,
        workers,
    )
    .fetch_all(tx)
    .await
}

#[derive(Debug)]
pub struct ReturnedJob {
    pub id: String,
    pub payload: Vec<u8>,
    /// Whether the worker that held it got anything done.
    pub went_on: bool,
    /// Whether it came back too often.
    pub is_exhausted: bool,
}

/// Returns locked jobs to the queue. `died` counts how often a job came back from a worker that died without getting anything done.
pub async fn return_held(tx: &mut PgConnection, jobs: Vec<ReturnedJob>, died: bool) -> sqlx::Result<()> {
    let (mut ids, mut payloads, mut went_on) = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        ids.push(job.id);
        payloads.push(job.payload);
        went_on.push(job.went_on);
    }
    sqlx::query!(
        r#"
        update apalis.jobs j
        set status = 'Pending', lock_by = null, lock_at = null, run_at = now() - interval '1 second', job = r.payload,
            attempts = case when r.went_on then 0 else j.attempts end + case when $4 then 1 else 0 end
        from unnest($1::text[], $2::bytea[], $3::boolean[]) as r (id, payload, went_on)
        where j.id = r.id
        "#,
        &ids,
        &payloads,
        &went_on,
        died,
    )
    .execute(tx)
    .await?;
    Ok(())
}
