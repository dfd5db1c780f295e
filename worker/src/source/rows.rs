//! Rows as they are now, for reports: which of them are wanted, and which should be in the target by now.

use futures_util::{Stream, TryStreamExt, stream::BoxStream};
use serde_json::value::RawValue;
use vitrina_shared::{domain::Checkpoint, store::dead_letters::RowKey};

use crate::error::BatchError;

#[derive(Debug)]
pub struct RowsQuery {
    pub wanted: Wanted,
    /// Decides which of them are settled.
    pub scope: Scope,
    /// Whether the rows themselves are read, or their keys alone.
    pub bodies: bool,
}

#[derive(Debug)]
pub enum Wanted {
    /// All of them; of several rows of one key either all may come, or the newest alone.
    All { newest_only: bool },
    /// So many, in the order of the walk.
    First(u32),
    /// The newest with each of these ids ([`id_of_row`](crate::row_id::id_of_row)), in this order.
    Ids(Vec<String>),
    /// The newest with each of these keys, in this order, as dead letters have them. A null is sought like any value.
    Keys(Vec<RowKey>),
}

/// Characters that are kept of a key's value that is too long; [`CUT`] follows them.
pub const SHOWN: usize = 200;
pub const CUT: char = '…';

/// Whether a value of a key, as JSON, is the beginning of a longer one.
pub fn is_cut(value: &RawValue) -> bool {
    let is_cut = |text: String| text.ends_with(CUT) && text.chars().count() == SHOWN + 1;
    serde_json::from_str(value.get()).is_ok_and(is_cut)
}

/// Which rows of the source should be in the target by now.
#[derive(Debug, Clone, PartialEq)]
pub enum Scope {
    Everything,
    /// Those up to a checkpoint.
    UpTo {
        checkpoint: Checkpoint,
        /// Keys from here on will be read again.
        owed: Option<String>,
    },
    Nothing,
}

#[derive(Debug)]
pub struct SourceRow {
    /// Which of the wanted ids or keys it has, counted from 0.
    pub place: usize,
    /// The values of the target's key as text.
    pub key: Vec<Option<String>>,
    /// Whether it should be in the target by now.
    pub settled: bool,
    /// The row as a JSON object of the walk's form; none where it is longer than the walk allows, or was not wanted.
    pub doc: Option<String>,
    /// The bytes that it has as JSON.
    pub bytes: i64,
}

impl SourceRow {
    /// About what it takes in memory.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.doc.as_ref().map_or(0, String::len)
    }
}

pub type RowStream<'a> = BoxStream<'a, Result<SourceRow, BatchError>>;

#[derive(Debug, Clone, Copy)]
pub struct CountQuery<'a> {
    pub scope: &'a Scope,
    /// The column whose least and greatest values are found.
    pub control: Option<&'a str>,
    /// Whether of several rows of one key only the newest counts.
    pub newest_only: bool,
}

#[derive(Debug, Default)]
pub struct SourceCount {
    pub settled: i64,
    pub in_flight: i64,
    /// The least value of a column in the settled rows, in JSON; none where the source cannot tell.
    pub least: Option<String>,
    pub greatest: Option<String>,
}

/// A block is passed on once it has this many bytes.
const BLOCK_BYTES: usize = 512 * 1024;

/// Takes items until they fill a block. Whether there may be more.
pub async fn fill_block<T, E>(
    items: &mut (impl Stream<Item = Result<T, E>> + Unpin),
    bytes: impl Fn(&T) -> usize,
) -> Result<(Vec<T>, bool), E> {
    let (mut block, mut taken) = (Vec::new(), 0);
    while let Some(item) = items.try_next().await? {
        taken += bytes(&item);
        block.push(item);
        if taken >= BLOCK_BYTES {
            return Ok((block, true));
        }
    }
    Ok((block, false))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_block_ends_with_its_bytes_and_the_last_one_with_the_page() {
        let mut items = stream::iter((0..7).map(|_| Ok::<_, Infallible>(BLOCK_BYTES / 3 + 1)));
        let mut blocks = Vec::new();
        for _ in 0..3 {
            let (block, more) = fill_block(&mut items, |bytes| *bytes).await.expect("a block");
            blocks.push((block.len(), more));
        }
        assert_eq!(blocks, [(3, true), (3, true), (1, false)]);
    }
}
