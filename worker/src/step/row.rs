//! Makes a step of any function of one row.

use std::future;

use futures_util::{FutureExt, future::BoxFuture};
use vitrina_shared::domain::transform::RowTransform;

use super::{Block, Processed, Step, StepContext, StepError};

/// A pure function, applied to one row after the other.
#[derive(Debug)]
pub struct RowStep(pub Box<dyn RowTransform>);

impl Step for RowStep {
    fn execute<'a>(&'a self, _: &'a StepContext, block: Block) -> BoxFuture<'a, Result<Processed, StepError>> {
        let mut processed = Processed { rows: Vec::with_capacity(block.len()), rejected: Vec::new() };
        for mut row in block {
            match self.0.apply(&mut row.document) {
                Ok(()) => processed.rows.push(row),
                Err(reason) => processed.rejected.push(row.reject(reason)),
            }
        }
        future::ready(Ok(processed)).boxed()
    }
}
