//! What the steps of a plan do, counted.
//!
//! Rows travel with their page and count when its batch is committed, once. What a step spent on them has been spent whatever
//! becomes of the batch: it is gathered here until it can be written.

use std::{
    ops::AddAssign,
    sync::Mutex,
    time::{Duration, Instant},
};

use vitrina_shared::domain::RunStep;

use crate::mutex::unpoisoned;

/// What a step of a plan spent and `etl_run_steps` does not have yet, prefetched pages and failed batches included.
#[derive(Debug, Default)]
pub struct StepCounts(Mutex<Spent>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    pub blocks: u64,
    pub took: Duration,
    pub calls_made: u64,
    pub calls_saved: u64,
    pub waited: Duration,
    /// The limit or pool of keys that it waited for last.
    pub waited_for: Option<String>,
}

/// What became of rows in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepRows {
    pub rows_in: u64,
    pub rows_out: u64,
    pub rejected: u64,
    pub dropped: u64,
}

impl StepCounts {
    pub fn note_calls(&self, made: u64, saved: u64) {
        let mut spent = unpoisoned(&self.0);
        spent.calls_made += made;
        spent.calls_saved += saved;
    }

    /// Notes a wait for a limit or a pool of keys, the rest of the job in the queue included.
    pub fn note_wait(&self, waited: Duration, waited_for: &str) {
        let mut spent = unpoisoned(&self.0);
        spent.waited += waited;
        spent.waited_for = Some(waited_for.to_owned());
    }

    /// Notes a block that the step began with `since`, and returns how long it took.
    pub(super) fn note_block(&self, since: Instant) -> Duration {
        let took = since.elapsed();
        let mut spent = unpoisoned(&self.0);
        spent.blocks += 1;
        spent.took += took;
        took
    }

    pub(super) fn take(&self) -> Spent {
        std::mem::take(&mut unpoisoned(&self.0))
    }
}

impl Spent {
    /// The row that is added to `etl_run_steps`.
    pub(super) fn with(self, rows: StepRows, step: RunStep) -> RunStep {
        RunStep {
            blocks: signed(self.blocks),
            rows_in: signed(rows.rows_in),
            rows_out: signed(rows.rows_out),
            rejected: signed(rows.rejected),
            dropped: signed(rows.dropped),
            duration_us: micros(self.took),
            calls_made: signed(self.calls_made),
            calls_saved: signed(self.calls_saved),
            waited_us: micros(self.waited),
            waited_for: self.waited_for,
            ..step
        }
    }
}

impl AddAssign for StepRows {
    fn add_assign(&mut self, more: Self) {
        self.rows_in += more.rows_in;
        self.rows_out += more.rows_out;
        self.rejected += more.rejected;
        self.dropped += more.dropped;
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
