//! Where rows go that pass through the worker.
//!
//! A sink gets the rows of one page as a stream, so that memory does not grow with the batch, and says what became of
//! them. Its `Ok` means durable, or durable together with the transaction that it was given: the caller moves the
//! checkpoint next.

pub mod elasticsearch;
pub mod postgres;

/// A row on its way to a sink.
#[derive(Debug)]
pub struct Row {
    /// The values of the target's key, in the server's text form.
    pub key: Vec<Option<String>>,
    /// The row as a JSON object. A column of type `json` keeps the line breaks that it came with.
    pub doc: String,
}

/// A row that was not written, and why.
#[derive(Debug)]
pub struct Rejected {
    /// The `_id` that its document has in an index.
    pub id: String,
    /// The row as a JSON object.
    pub doc: String,
    /// The reason, in the words of whoever refused it.
    pub error: String,
}
