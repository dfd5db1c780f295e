//! Reads a page in a task of its own, so that its rows come while others are being written.
//!
//! A few blocks of rows wait here, the others with the server, so that memory does not grow with the page.

use futures_util::{Stream, stream};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::reader::{self, Item, PageQuery};
use crate::session::Sessions;

/// Blocks that wait to be taken: enough for the first requests of a page to go out at once.
const BLOCKS: usize = 2;

/// Items that are passed on together, or why there are no more.
type Block = sqlx::Result<Vec<Item>>;

/// Begins to read a page, and returns its blocks as they come. Dropping them ends the reading.
pub fn begin(sessions: &Sessions, query: PageQuery) -> impl Stream<Item = Block> + use<> {
    let (sender, blocks) = mpsc::channel(BLOCKS);
    let task = AbortOnDropHandle::new(tokio::spawn(read(sessions.clone(), query, sender).in_current_span()));
    stream::unfold((blocks, task), |(mut blocks, task)| async { Some((blocks.recv().await?, (blocks, task))) })
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
    let last = {
        let mut items = reader::items(&mut snapshot, query);
        loop {
            let (block, more) = reader::fill_block(&mut items, Item::bytes).await?;
            if !more {
                break block;
            }
            // Now others are waited for.
            drop(waiting);
            if blocks.send(Ok(block)).await.is_err() {
                return Ok(Vec::new());
            }
            waiting = sessions.wait();
        }
    };
    snapshot.rollback().await?;
    session.has_ended();
    drop(waiting);
    Ok(last)
}
