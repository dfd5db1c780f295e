//! What a step of a plan does, summed up until a batch is committed.

use std::{sync::Mutex, time::Duration};

use crate::mutex::unpoisoned;

/// Counts of one step. Pages that are read ahead and batches that failed count with the next batch that is committed: their
/// calls were made.
#[derive(Debug, Default)]
pub struct StepCounts(Mutex<Sum>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    pub blocks: u64,
    pub rows_in: u64,
    pub rows_out: u64,
    pub rejected: u64,
    pub dropped: u64,
    pub took: Duration,
    pub calls_made: u64,
    pub calls_saved: u64,
    pub waited: Duration,
    /// The limit or pool of keys that it waited for last.
    pub waited_for: Option<String>,
}

impl StepCounts {
    pub fn note_calls(&self, made: u64, saved: u64) {
        let mut sum = unpoisoned(&self.0);
        sum.calls_made += made;
        sum.calls_saved += saved;
    }

    /// Notes a wait for a limit or a pool of keys, the rest of the job in the queue included.
    pub fn note_wait(&self, waited: Duration, waited_for: &str) {
        let mut sum = unpoisoned(&self.0);
        sum.waited += waited;
        sum.waited_for = Some(waited_for.to_owned());
    }
}
