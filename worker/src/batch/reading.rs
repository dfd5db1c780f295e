//! Reads a page in a task of its own, so that its rows come while others are being written.
//!
//! A few blocks of rows wait here, the others with the server, so that memory does not grow with the page.

use futures_util::{Stream, TryStreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::reader::{self, Item, PageQuery};
use crate::session::Sessions;

/// A block is passed on once it has this many bytes.
const BLOCK_BYTES: usize = 512 * 1024;
/// Blocks that wait to be taken: enough for the first requests of a page to go out at once.
const BLOCKS: usize = 2;

/// Items that are passed on together, or why there are no more.
type Block = sqlx::Result<Vec<Item>>;

/// Begins to read a page, and returns its items as they come. Dropping them ends the reading.
pub fn begin(sessions: &Sessions, query: PageQuery) -> impl Stream<Item = sqlx::Result<Item>> + use<> {
    let (sender, blocks) = mpsc::channel(BLOCKS);
    let task = AbortOnDropHandle::new(tokio::spawn(read(sessions.clone(), query, sender).in_current_span()));
    let blocks =
        stream::unfold((blocks, task), |(mut blocks, task)| async { Some((blocks.recv().await?, (blocks, task))) });
    blocks.map_ok(|items| stream::iter(items.into_iter().map(Ok))).try_flatten()
}

async fn read(sessions: Sessions, query: PageQuery, blocks: mpsc::Sender<Block>) {
    let last = read_all_but_the_last(&sessions, &query, &blocks).await;
    // Whoever wanted it may be gone.
    let _ = blocks.send(last).await;
}

/// Passes blocks on as they fill. The last one comes back after the connection was given back.
async fn read_all_but_the_last(sessions: &Sessions, query: &PageQuery, blocks: &mpsc::Sender<Block>) -> Block {
    let mut waiting = sessions.wait();
    let mut session = sessions.acquire().await?;
    // Whoever wants no more rows does not wait for the rest of the page.
    session.may_not_end();
    let mut snapshot = session.begin_named("begin read only").await?;
    let (mut block, mut bytes) = (Vec::new(), 0);
    {
        let mut items = std::pin::pin!(reader::items(&mut snapshot, query));
        while let Some(item) = items.try_next().await? {
            bytes += item.bytes();
            block.push(item);
            if bytes >= BLOCK_BYTES {
                bytes = 0;
                // Now others are waited for.
                drop(waiting);
                if blocks.send(Ok(std::mem::take(&mut block))).await.is_err() {
                    return Ok(Vec::new());
                }
                waiting = sessions.wait();
            }
        }
    }
    snapshot.rollback().await?;
    session.has_ended();
    drop(waiting);
    Ok(block)
}
