//! A batch from job to commit.
//!
//! `open` (is the run still wanted, what does it read) → `chain` (batch after batch, each one statement, or a `stream`
//! where rows pass through the worker)
//! → `close` (what the pipeline's status becomes).

mod advice;
mod ahead;
mod binding;
mod chain;
mod close;
mod comparison;
mod confined;
mod estimate;
mod open;
mod plan;
mod pushdown;
mod reader;
mod reading;
mod replacement;
mod settled;
mod start;
mod stream;
mod streaming;

pub use chain::execute;
pub use confined::{names, read};
pub use plan::{Plan, Reviewed, SWAP_PREFIX};
pub use reader::transformed;
pub use streaming::{RowForm, arrived, bounded_row, key_text, read_back, too_long};
