//! Rows that were not written. Those of one batch are kept in memory until it commits, so their number and their bytes are bounded.

use vitrina_shared::domain::ErrorClass;

use crate::error::BatchError;

pub const MOST_REJECTED_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The id that it has in an external sink.
    pub id: String,
    pub doc: String,
    /// The reason, in the words of the step or the server that refused it.
    pub error: String,
}

/// Why a batch fails whose rejected rows take too much. `what` begins the sentence: who refuses them.
pub fn too_much_rejected(what: &str) -> String {
    let most = MOST_REJECTED_BYTES >> 20;
    format!("{what} rows of one batch that have more than {most} MiB together: lower batch_size, or mend the rows")
}

/// Fails a batch of which more rows were rejected than may be put aside; none may be where `allowed` is none.
pub fn refuse_too_many(rejected: &[Rejected], allowed: Option<u64>) -> Result<(), BatchError> {
    let too_many = rejected.len() as u64 > allowed.unwrap_or(0);
    let Some(Rejected { id, error, .. }) = rejected.last().filter(|_| too_many) else { return Ok(()) };
    let row = if id.is_empty() { "without a key" } else { id };
    let message = match allowed {
        None => format!("row {row}: {error}"),
        Some(_) => format!("more rows were refused than max_rejects allows; the last one, {row}: {error}"),
    };
    Err(BatchError::Failed { class: ErrorClass::Row, message })
}
