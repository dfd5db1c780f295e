//! Jobs that were given back because the worker that took them lacks what they need: their payload says what that is.
//!
//! Such a job is due within a second. An idle worker that lacks it too would take it then, and again and again, while one that has it is
//! busy: so that one looks for it whether it is due or not. What has been due for long is taken in its turn.

use sqlx::PgConnection;

/// Whether a job waits for a worker that has what this one has.
pub async fn waits_for(connection: &mut PgConnection, queue: &str, has: &[String]) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select
            from apalis.jobs j
            where j.job_type = $1 and j.status = 'Pending' and j.priority = 0
              and j.run_at between now() - interval '10 seconds' and now() + interval '1 second'
              and convert_from(j.job, 'UTF8')::jsonb -> 'needs' <@ to_jsonb($2::text[])
        ) as "waits!"
        "#,
        queue,
        has,
    )
    .fetch_one(connection)
    .await
}

/// Takes such a job, as the queue's own fetch would, and returns its id and payload.
pub async fn take(
    connection: &mut PgConnection,
    queue: &str,
    worker: &str,
    has: &[String],
) -> sqlx::Result<Option<(String, Vec<u8>)>> {
    let taken = sqlx::query!(
        r#"
        update apalis.jobs
        set status = 'Queued', lock_by = $2, lock_at = now()
        where id = (
            select j.id
            from apalis.jobs j
            where j.job_type = $1 and j.status = 'Pending' and j.priority = 0
              and j.run_at between now() - interval '10 seconds' and now() + interval '1 second'
              and convert_from(j.job, 'UTF8')::jsonb -> 'needs' <@ to_jsonb($3::text[])
            order by j.run_at
            limit 1
            for update skip locked
        )
        returning id as "id!", job as "payload!"
        "#,
        queue,
        worker,
        has,
    )
    .fetch_optional(connection)
    .await?;
    Ok(taken.map(|taken| (taken.id, taken.payload)))
}
