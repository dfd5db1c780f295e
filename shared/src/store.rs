//! SQL and nothing else: a file per table, a function per statement.
//!
//! Functions take a connection, so that the caller decides what belongs into one transaction.

pub mod comparisons;
pub mod dead_letters;
pub mod horizon;
pub mod pipelines;
pub mod queue;
pub mod reports;
pub mod runs;
pub mod state;
pub mod swaps;
pub mod targets;
pub mod tasks;
pub mod totals;
pub mod transitions;
pub mod workers;

use std::time::Duration;

use sqlx::postgres::types::PgInterval;

/// A duration as the server takes it.
fn interval(duration: Duration) -> PgInterval {
    PgInterval { months: 0, days: 0, microseconds: i64::try_from(duration.as_micros()).unwrap_or(i64::MAX) }
}

/// Whether the error is the violation of the named constraint: the database decides, no check-then-insert.
pub fn violates(error: &sqlx::Error, constraint: &str) -> bool {
    error.as_database_error().and_then(|error| error.constraint()) == Some(constraint)
}
