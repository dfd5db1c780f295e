//! Executes a batch, and counts what it did.

use sqlx::PgConnection;

use crate::domain::{ErrorClass, Position, RunId};

#[derive(Debug)]
pub struct NextPage {
    /// The last row that was written.
    pub after: Option<Position>,
    pub upper: Option<String>,
    pub rows_rejected: i64,
    /// What its documents' versions are made of; the next number is for the page after it. See `store::write_numbers`.
    pub write_number: Option<i64>,
}

/// What the next page of a range is read with, if this batch is its next one and this worker still holds its job. Asked before the
/// page is read: its steps may have effects outside, which a worker whose job was given away must not repeat.
pub async fn next_page(
    connection: &mut PgConnection,
    call: &BatchCall<'_>,
    numbered: bool,
) -> sqlx::Result<Option<NextPage>> {
    sqlx::query_as!(
        NextPage,
        r#"
        select g.after as "after: Position", g.upper, r.rows_rejected,
               case when $4 then nextval('etl.etl_write_numbers') end as write_number
        from etl.etl_run_ranges g
        join etl.etl_runs r on r.id = g.run_id
        join apalis.jobs j on j.id = $5 and j.lock_by = $6 and j.status in ('Queued', 'Running')
        where g.run_id = $1 and g.range_no = $2 and g.next_batch = $3 and g.finished_at is null
        "#,
        call.run as RunId,
        call.range,
        call.number,
        numbered,
        call.job,
        call.worker,
    )
    .fetch_optional(connection)
    .await
}

#[derive(Debug, Clone, Copy)]
pub struct BatchCall<'a> {
    pub run: RunId,
    pub range: i32,
    pub number: i64,
    pub job: &'a str,
    pub worker: &'a str,
    pub statement: &'a str,
    pub page_size: i64,
    /// Whether the key is a `timestamptz`.
    pub by_time: bool,
    /// Id of the job by which another worker goes on; none if this worker keeps its own job.
    pub next_job: Option<&'a str>,
}

#[derive(Debug)]
pub struct BatchOutcome {
    pub rows_read: i64,
    pub rows_written: i64,
    pub last: Option<Position>,
    pub goes_on: bool,
    pub run_rows_read: i64,
    pub run_rows_written: i64,
    pub run_rows_total: Option<i64>,
    pub run_seconds: f64,
}

/// Executes a batch: one statement, one transaction. See `etl.run_batch`.
pub async fn run_batch(connection: &mut PgConnection, call: &BatchCall<'_>) -> sqlx::Result<BatchOutcome> {
    sqlx::query_as!(
        BatchOutcome,
        r#"
        select rows_read as "rows_read!", rows_written as "rows_written!", last as "last: Position", goes_on as "goes_on!",
               run_rows_read as "run_rows_read!", run_rows_written as "run_rows_written!", run_rows_total,
               run_seconds as "run_seconds!"
        from etl.run_batch($1, $2, $3, $4, $5, $6, $7, $8, $9)
        "#,
        call.run as RunId,
        call.range,
        call.number,
        call.job,
        call.worker,
        call.statement,
        call.page_size,
        call.by_time,
        call.next_job,
    )
    .fetch_one(connection)
    .await
}

pub async fn add_rejected(tx: &mut PgConnection, id: RunId, rows: u64) -> sqlx::Result<()> {
    if rows > 0 {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        sqlx::query!("update etl.etl_runs set rows_rejected = rows_rejected + $2 where id = $1", id as RunId, rows)
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// Adds rows that were written besides the pages.
pub async fn add_written(tx: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_written = rows_written + $2 where id = $1", id as RunId, rows)
        .execute(tx)
        .await?;
    Ok(())
}

pub async fn add_removed(tx: &mut PgConnection, id: RunId, rows: i64) -> sqlx::Result<()> {
    sqlx::query!("update etl.etl_runs set rows_removed = rows_removed + $2 where id = $1", id as RunId, rows)
        .execute(tx)
        .await?;
    Ok(())
}

/// Adds to what a run has failed with.
pub(crate) async fn add_to_error(tx: &mut PgConnection, id: RunId, said: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update etl.etl_runs set error = left(left(error, 3000) || e'\n' || $2, 4000) where id = $1",
        id as RunId,
        said
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes an attempt that failed and will be repeated.
pub(crate) async fn note_failure(tx: &mut PgConnection, id: RunId, class: ErrorClass, error: &str) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_runs
        set attempts = attempts + 1, error_class = $2, error = left($3, 4000)
        where id = $1
        "#,
        id as RunId,
        class as ErrorClass,
        error,
    )
    .execute(tx)
    .await?;
    Ok(())
}
