//! Rows that pass a step together.

use vitrina_shared::domain::transform::RowDocument;

/// Rows in the order in which they were read: as many as the reader has gathered, about 512 KB.
pub type Block = Vec<BlockRow>;

/// A row of a block. It cannot be copied or made elsewhere, so a step has no rows but those that it was given.
#[derive(Debug)]
pub struct BlockRow {
    /// Its place in the block as it was read.
    pub(super) place: usize,
    pub document: RowDocument,
}

impl BlockRow {
    /// Refuses the row.
    pub fn reject(self, reason: impl Into<String>) -> Rejection {
        Rejection { row: self.place, reason: reason.into() }
    }
}

/// A row that a step refused, and why.
#[derive(Debug)]
pub struct Rejection {
    /// Its place in the block as it was read.
    pub(super) row: usize,
    pub(super) reason: String,
}

/// What a step made of a block.
#[derive(Debug, Default)]
pub struct Processed {
    pub rows: Block,
    pub rejected: Vec<Rejection>,
}
