//! A batch from job to commit.
//!
//! `open` (is the run still wanted, what does it read) → `chain` (batch after batch, each one statement, or a `stream`
//! where rows pass through the worker)
//! → `close` (what the pipeline's status becomes).

mod advice;
mod ahead;
mod chain;
mod close;
mod open;
mod progress;
mod reader;
mod series;
mod stream;

pub use chain::execute;
