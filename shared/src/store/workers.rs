//! `apalis.workers`: the workers that execute batches.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

/// A worker that reported within the last minute. One that did so in the future is gone: the clock was set back.
#[derive(Debug)]
pub struct Worker {
    pub name: String,
    pub started_at: Option<DateTime<Utc>>,
    pub last_heartbeat: DateTime<Utc>,
    pub jobs: i64,
}

pub async fn live(connection: &mut PgConnection, queue: &str) -> sqlx::Result<Vec<Worker>> {
    sqlx::query_as!(
        Worker,
        r#"
        select w.id as name, w.started_at, w.last_seen as last_heartbeat,
               (select count(*) from apalis.jobs j
                where j.lock_by = w.id and j.status in ('Queued', 'Running')) as "jobs!"
        from apalis.workers w
        where w.worker_type = $1 and w.last_seen between now() - interval '1 minute' and now() + interval '1 minute'
        order by w.id
        "#,
        queue,
    )
    .fetch_all(connection)
    .await
}

pub async fn count(connection: &mut PgConnection, queue: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"
        select count(*) as "workers!"
        from apalis.workers
        where worker_type = $1 and last_seen between now() - interval '1 minute' and now() + interval '1 minute'
        "#,
        queue,
    )
    .fetch_one(connection)
    .await
}
