//! Rows travel through a worker in blocks.

use futures_util::{Stream, TryStreamExt};

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
