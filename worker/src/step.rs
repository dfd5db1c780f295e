//! The door for code that changes rows between the source and the sink.
//!
//! What a step declares before a row moves is a `Transform` of `vitrina_shared::domain::transform`, which the API reads too. What
//! it does is a [`Step`]: here, over blocks of rows. [`StepRegistry`] has the steps of this deployment, `row` makes a step of every
//! function of one row, and [`Sequence`] takes blocks through the steps of a plan and holds each step to its rules.

mod block;
mod context;
mod error;
mod registry;
mod row;
mod sequence;

use futures_util::future::BoxFuture;

pub use block::{Block, BlockRow, Processed, Rejection};
pub use context::StepContext;
pub use error::StepError;
pub use registry::{Construct, StepRegistry};
pub use sequence::{Fate, Sequence};

/// A step of a plan with its options.
///
/// - Rows keep their order, and the columns of the target's key their values. A row comes out at most once.
/// - A refused row is rejected with a reason, and the block's other rows go on. The pipeline's `on_row_error` decides whether
///   the run fails or the row, as the query returned it, becomes a dead letter.
/// - A row may be left out without a reason only where the transform declares `drops_rows`. Such a row counts as read and is
///   not in the target after the run. Only full runs take such steps: see `Transform::drops_rows`.
/// - An error is of the whole batch: none of it is written, and the error's class decides whether the batch is tried again. The
///   next attempt executes every step again, those that are not pure included: an effect must not count twice for one key.
/// - The future is dropped when the run is cancelled or the deadline has passed. Meanwhile the page's transaction is open, so a
///   step that has to wait for long returns a `RateLimited` or `Transient` error instead.
pub trait Step: std::fmt::Debug + Send + Sync {
    /// Executes the step on a block, which is never empty.
    fn execute<'a>(&'a self, context: &'a StepContext, block: Block) -> BoxFuture<'a, Result<Processed, StepError>>;
}
