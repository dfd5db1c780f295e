//! The door for code that changes rows between the source and the sink.
//!
//! What a step declares before a row moves is a `Transform` of `vitrina_shared::domain::transform`, which the API reads too. What
//! it does is a [`Step`]: here, over blocks of rows. [`StepRegistry`] has the steps of this deployment and makes one of every
//! function of one row, and [`Sequence`] takes blocks through the steps of a plan and holds each step to its rules.

#[cfg(test)]
mod conformance;
mod counts;
mod hash;
mod http;
mod python;
mod registry;
mod sequence;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::domain::{ErrorClass, PipelineId, transform::RowDocument};

pub use counts::{StepCounts, StepRows};
pub use http::Outside;
pub use python::{Interpreter, Python};
pub use registry::{Arriving, Construct, StepRegistry};
pub use sequence::{ProcessedBlock, ProcessedRow, Sequence, StepBlock};

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
#[async_trait]
pub trait Step: fmt::Debug + Send + Sync {
    /// Executes the step on a block, which is never empty.
    async fn execute(&self, context: &StepContext, block: Block) -> Result<Processed, StepError>;

    /// Checks that what the step uses outside is there, before the first batch of a run: services answer, keys and limits exist.
    /// A check that is not done by the context's deadline fails as `Transient`.
    async fn check(&self, _context: &StepContext) -> Result<(), StepError> {
        Ok(())
    }
}

/// Everything that a step may use besides its rows and options.
#[derive(Debug, Clone)]
pub struct StepContext {
    pub pipeline: PipelineId,
    /// The pipeline's name.
    pub name: String,
    /// The run or report that executes the step.
    pub id: Uuid,
    /// The request that the run or report was made for.
    pub correlation_id: String,
    /// Cancelled when the run or report is given up. The step's future is dropped then; whatever it has started must end too.
    pub cancelled: CancellationToken,
    /// A row that has more bytes after a step is rejected.
    pub max_row_bytes: u32,
    /// When the server cuts the page off, and the step with it.
    pub deadline: Instant,
    /// Where the step counts what it does outside; the counts of the step that is executed.
    pub counts: Arc<StepCounts>,
}

/// Rows in the order in which they were read: as many as the source has gathered, about 512 KB.
pub type Block = Vec<BlockRow>;

/// A row of a block. It cannot be copied or made elsewhere, so a step has no rows but those that it was given.
#[derive(Debug)]
pub struct BlockRow {
    /// Its place in the block as it was read.
    place: usize,
    pub document: RowDocument,
}

impl BlockRow {
    pub fn reject(self, reason: impl Into<String>) -> Rejection {
        self.rejection(reason)
    }

    /// The same for a row that is dropped afterwards.
    fn rejection(&self, reason: impl Into<String>) -> Rejection {
        Rejection { place: self.place, reason: reason.into() }
    }
}

#[derive(Debug)]
pub struct Rejection {
    place: usize,
    reason: String,
}

#[derive(Debug, Default)]
pub struct Processed {
    pub rows: Block,
    pub rejected: Vec<Rejection>,
}

/// An error of a step. Its class becomes the batch's.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StepError {
    pub class: ErrorClass,
    /// When the other side can be asked again, if it has said so.
    pub retry_after: Option<Duration>,
    /// Nothing went wrong: answers are outstanding, and the batch is tried again then.
    pub awaits: bool,
    pub message: String,
    /// Whether the words are Vitrina's: they quote no row.
    is_ours: bool,
}

impl StepError {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, retry_after: None, awaits: false, message: message.into(), is_ours: false }
    }

    /// What we say of a step; not in its own words.
    fn ours(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { is_ours: true, ..Self::new(class, message) }
    }

    /// The other side asked for a pause of this length.
    pub fn rate_limited(retry_after: Duration, message: impl Into<String>) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(ErrorClass::RateLimited, message) }
    }

    /// Answers are outstanding: the batch goes back to the queue for so long, and no attempt of it has failed.
    pub fn awaits(next_look: Duration, message: impl Into<String>) -> Self {
        Self { awaits: true, ..Self::rate_limited(next_look, message) }
    }

    /// The same with the step's name, as its own words unless they are ours.
    fn named(self, name: &str) -> Self {
        if self.is_ours {
            return self.of_step(name);
        }
        Self { message: said_by(name, &self.message), ..self }
    }

    /// The same, naming the step of which we say it.
    fn of_step(self, name: &str) -> Self {
        Self { message: format!("step `{name}`: {}", self.message), ..self }
    }
}

/// The most that steps may make of a block of rows, which has about half a megabyte when it is read.
const MOST_BLOCK_BYTES: usize = 256 * 1024 * 1024;

/// Whether a block may have so many bytes after a step.
fn within_block(bytes: usize) -> Result<(), StepError> {
    if bytes <= MOST_BLOCK_BYTES {
        return Ok(());
    }
    let message = format!("makes more than {MOST_BLOCK_BYTES} bytes of one block of rows: let the query return less");
    Err(StepError::ours(ErrorClass::Fatal, message))
}

/// Why a row is refused that is longer than `most` bytes.
pub fn too_long(bytes: i64, most: u32) -> String {
    format!("the row has {bytes} bytes as JSON, and VITRINA_MAX_ROW_BYTES lets {most} pass through a worker")
}

/// Words of a step, marked as such: they may quote a row, and are not shown to viewers (`without_values`).
fn said_by(name: &str, words: &str) -> String {
    format!("step `{name}` says: {words}")
}
