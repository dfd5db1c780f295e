//! Progress of a run, announced while it runs.
//!
//! Progress is for eyes: it is announced and not stored, at most a few times a second, and a lost message is replaced
//! by the next one. What counts is in `etl.etl_runs`.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

pub const PROGRESS_CHANNEL: &str = "vitrina_progress";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub pipeline_id: Uuid,
    pub pipeline: String,
    pub run_id: Uuid,
    pub rows_read: i64,
    /// Rows inserted or changed so far.
    pub rows_written: i64,
    pub rows_total: Option<i64>,
    /// Mean speed since the run began.
    pub rows_per_second: Option<f64>,
    pub eta_seconds: Option<f64>,
}

pub fn pace(rows_read: i64, rows_total: Option<i64>, seconds: Option<f64>) -> (Option<f64>, Option<f64>) {
    let speed = seconds.filter(|seconds| *seconds > 0.0).map(|seconds| rows_read as f64 / seconds);
    let left = rows_total.map(|total| (total - rows_read).max(0) as f64);
    (speed, left.zip(speed.filter(|speed| *speed > 0.0)).map(|(left, speed)| left / speed))
}

pub async fn announce(connection: &mut PgConnection, progress: &Progress) -> sqlx::Result<()> {
    let payload = serde_json::to_string(progress).unwrap_or_default();
    sqlx::query!("select pg_notify($1, $2)", PROGRESS_CHANNEL, payload).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_promised_before_anything_is_known() {
        assert_eq!(pace(0, None, None), (None, None));
        assert_eq!(pace(0, Some(100), Some(2.0)), (Some(0.0), None));
    }

    #[test]
    fn the_time_left_follows_from_the_mean_speed() {
        assert_eq!(pace(50, Some(100), Some(5.0)), (Some(10.0), Some(5.0)));
        assert_eq!(pace(120, Some(100), Some(5.0)), (Some(24.0), Some(0.0)));
    }
}
