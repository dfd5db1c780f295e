//! A batch from job to commit.
//!
//! `open` (is the run still wanted, what does it read) → `chain` (batch after batch, each one statement, or a `stream`
//! where rows pass through the worker)
//! → `close` (what the pipeline's status becomes).

mod advice;
mod ahead;
mod chain;
mod close;
mod estimate;
mod open;
mod plan;
mod pushdown;
mod reader;
mod reading;
mod settled;
mod start;
mod stream;
mod streaming;

pub use chain::execute;
pub use plan::{Plan, Reviewed};
pub use reader::transformed;
