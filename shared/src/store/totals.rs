//! `etl.etl_run_totals`: what all runs did, for metrics.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::domain::{Mode, RunStatus};

/// What runs of one pipeline did that have mode, sink and status in common.
#[derive(Debug)]
pub struct Total {
    /// The pipeline's name, as it is now.
    pub pipeline: String,
    pub mode: Mode,
    /// The label of the target's kind (`etl.sink_of`).
    pub sink: String,
    /// How they ended; `None` for the unfinished one.
    pub status: Option<RunStatus>,
    pub runs: i64,
    pub rows_read: i64,
    pub rows_written: i64,
    pub rows_rejected: i64,
    pub rows_removed: i64,
    pub batches: i64,
    pub attempts: i64,
    /// How long those that ended took, together.
    pub seconds: f64,
    /// Those that ended, by duration.
    pub durations: Vec<i64>,
    pub last_finished_at: Option<DateTime<Utc>>,
    /// When that one was requested.
    pub last_requested_at: Option<DateTime<Utc>>,
    /// When it began; of the unfinished one too.
    pub last_started_at: Option<DateTime<Utc>>,
    pub last_upper: Option<String>,
    /// Seconds between the ends of the last ones.
    pub gaps: Vec<f64>,
}

/// Reads what every pipeline did: ended and unfinished runs from one snapshot, so that none is in both or in neither.
pub async fn list(connection: &mut PgConnection) -> sqlx::Result<Vec<Total>> {
    sqlx::query_as!(
        Total,
        r#"
        select p.name as "pipeline!", t.mode as "mode!: Mode", t.sink as "sink!", t.status as "status: RunStatus",
               t.runs as "runs!", t.rows_read as "rows_read!", t.rows_written as "rows_written!",
               t.rows_rejected as "rows_rejected!", t.rows_removed as "rows_removed!",
               t.batches as "batches!", t.attempts as "attempts!",
               t.seconds as "seconds!", t.durations as "durations!", t.last_finished_at, t.last_requested_at,
               t.last_started_at, t.last_upper, t.gaps as "gaps!"
        from etl.etl_run_totals t
        join etl.etl_pipelines p on p.id = t.pipeline_id
        union all
        select p.name, r.mode, etl.sink_of(r.inputs), null, 0, r.rows_read, r.rows_written, r.rows_rejected,
               r.rows_removed, r.batches, r.attempts, 0, '{}', null, null, r.started_at, null, '{}'
        from etl.etl_runs r
        join etl.etl_pipelines p on p.id = r.pipeline_id
        where r.status in ('QUEUED', 'RUNNING', 'PAUSED')
        "#
    )
    .fetch_all(connection)
    .await
}

/// The server's clock, and the upper bounds, in seconds, of the classes in which durations are counted.
pub async fn clock_and_bounds(connection: &mut PgConnection) -> sqlx::Result<(DateTime<Utc>, Vec<f64>)> {
    let row = sqlx::query!(r#"select clock_timestamp() as "now!", etl.run_duration_bounds() as "bounds!""#)
        .fetch_one(connection)
        .await?;
    Ok((row.now, row.bounds))
}
