//! One line at the end of every run, with advice where there is any.

use sqlx::PgConnection;
use vitrina_shared::{lifecycle::execution::HeldBatch, store::runs::Sum};

use super::progress;
use crate::plan::Plan;

/// A batch that takes longer delays a pause.
const LONG_BATCH_SECONDS: f64 = 1.0;
/// So short a batch consists of what surrounds its page.
const SHORT_BATCH_SECONDS: f64 = 0.02;
/// Fewer batches are not worth a change.
const MANY_BATCHES: i64 = 100;
/// From this share on, a page costs the same however few rows it has.
const MOSTLY_FIXED: f64 = 0.5;

const LARGER: &str = "batches are very short: a larger batch_size would be faster";
const SMALLER: &str = "batches take over a second: a smaller batch_size would pause and recover sooner";
const FEWER_PAGES: &str = "batches take over a second, and most of that before the first row of a page, because the query is \
    computed anew for every page (an aggregate, or no index in the order of the walk): a larger batch_size takes fewer pages, \
    and with an index, or placeholders in the query, a page computes its own rows only";
const WHOLE_QUERY: &str = "the batch took over a second, and most of that before its first row, because the query is computed \
    as a whole (an aggregate, or no index in the order of the walk): a smaller batch_size would compute it more often; with \
    an index, or placeholders in the query, a page computes its own rows only";
const SEE_ERROR: &str = "some attempts failed: see etl_runs.error for the last one";

/// Logs what a run did. The planner is asked only about runs whose batches took long.
pub(super) async fn summarize(connection: &mut PgConnection, job: &HeldBatch, plan: &Plan, sum: Sum) {
    let fixed_share = if seconds_per_batch(sum) > LONG_BATCH_SECONDS {
        progress::fixed_share(connection, plan, job).await
    } else {
        None
    };
    let Sum { rows_read, rows_written, batches, attempts, seconds } = sum;
    tracing::info!(
        rows_read,
        rows_written,
        batches,
        attempts,
        duration_ms = seconds * 1000.0,
        rows_per_second = if seconds > 0.0 { rows_read as f64 / seconds } else { 0.0 },
        advice = advice(sum, fixed_share),
        "run finished",
    );
}

fn seconds_per_batch(sum: Sum) -> f64 {
    sum.seconds / sum.batches.max(1) as f64
}

/// A smaller batch helps only where its time is in its rows.
fn advice(sum: Sum, fixed_share: Option<f64>) -> Option<&'static str> {
    let per_batch = seconds_per_batch(sum);
    if sum.batches > MANY_BATCHES && per_batch < SHORT_BATCH_SECONDS {
        return Some(LARGER);
    }
    if per_batch > LONG_BATCH_SECONDS {
        return match fixed_share {
            Some(share) if share > MOSTLY_FIXED && sum.batches > 1 => Some(FEWER_PAGES),
            Some(share) if share > MOSTLY_FIXED => Some(WHOLE_QUERY),
            Some(_) => Some(SMALLER),
            None => None,
        };
    }
    (sum.attempts > 0).then_some(SEE_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(batches: i64, seconds: f64) -> Sum {
        Sum { rows_read: 1_000, rows_written: 1_000, batches, attempts: 0, seconds }
    }

    #[test]
    fn long_batches_are_made_smaller_only_where_their_time_is_in_their_rows() {
        assert_eq!(advice(run(10, 30.0), Some(0.01)), Some(SMALLER));
        assert_eq!(advice(run(10, 30.0), Some(0.99)), Some(FEWER_PAGES));
        assert_eq!(advice(run(1, 30.0), Some(0.99)), Some(WHOLE_QUERY));
        assert_eq!(advice(run(10, 30.0), None), None, "what the planner does not know is not advised");
    }

    #[test]
    fn many_short_batches_are_made_larger_and_others_left_alone() {
        assert_eq!(advice(run(1_000, 5.0), None), Some(LARGER));
        assert_eq!(advice(run(10, 0.1), None), None);
        assert_eq!(advice(Sum { attempts: 1, ..run(10, 1.0) }, None), Some(SEE_ERROR));
    }
}
