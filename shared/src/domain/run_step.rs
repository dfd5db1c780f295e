//! What a step of a plan did in a run.

use serde::{Deserialize, Serialize};

/// Rows count in the batches that were committed, each batch once. Blocks, time, calls and waits count whatever became of their
/// batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// Its `order_index` in the plan.
    pub place: i32,
    pub step: String,
    pub blocks: i64,
    pub rows_in: i64,
    pub rows_out: i64,
    pub rejected: i64,
    pub dropped: i64,
    pub duration_us: i64,
    pub calls_made: i64,
    pub calls_saved: i64,
    pub waited_us: i64,
    /// The limit or pool of keys that it waited for last.
    pub waited_for: Option<String>,
    /// How many calls it may make at once, where the plan says that.
    pub concurrency: Option<i32>,
}

impl RunStep {
    /// How long a block took on average, in milliseconds.
    pub fn mean_ms_per_block(&self) -> Option<f64> {
        (self.blocks > 0).then(|| self.duration_us as f64 / 1000.0 / self.blocks as f64)
    }

    /// Whether it calls services outside.
    pub fn calls(&self) -> bool {
        self.calls_made > 0 || self.calls_saved > 0 || self.waited_us > 0
    }
}
