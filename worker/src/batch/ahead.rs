//! Reads a page in a task of its own, so that its rows come while the page before is still being written.
//!
//! Only what was committed moves a checkpoint: a page that was read ahead and is not the one asked for next is forgotten.
//! A few blocks of rows wait here, the others with the server, so that memory does not grow with the page.

use futures_util::{Stream, TryStreamExt, stream};
use sqlx::{Connection, PgPool};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::reader::{self, Item, PageQuery};

/// A block is passed on once it has this many bytes.
const BLOCK_BYTES: usize = 64 * 1024;
/// Blocks that wait to be taken.
const BLOCKS: usize = 2;

/// The page that is being read, if any. Dropping it ends the reading.
#[derive(Debug, Default)]
pub struct Ahead(Option<Coming>);

#[derive(Debug)]
struct Coming {
    query: PageQuery,
    blocks: mpsc::Receiver<Block>,
    _task: AbortOnDropHandle<()>,
}

/// Items that are passed on together, or why there are no more.
type Block = sqlx::Result<Vec<Item>>;

impl Ahead {
    /// Begins to read a page.
    pub fn begin(&mut self, pool: &PgPool, query: PageQuery) {
        self.0 = Some(Coming::begin(pool, query));
    }

    /// The items of a page: of the one that is being read, if it is this one.
    pub fn take(&mut self, pool: &PgPool, query: PageQuery) -> impl Stream<Item = sqlx::Result<Item>> + use<> {
        let coming = self.0.take().filter(|coming| coming.query == query);
        tracing::trace!(ahead = coming.is_some(), "a page is taken");
        let coming = coming.unwrap_or_else(|| Coming::begin(pool, query));
        let blocks = stream::unfold(coming, |mut coming| async { Some((coming.blocks.recv().await?, coming)) });
        blocks.map_ok(|items| stream::iter(items.into_iter().map(Ok))).try_flatten()
    }
}

impl Coming {
    fn begin(pool: &PgPool, query: PageQuery) -> Self {
        let (sender, blocks) = mpsc::channel(BLOCKS);
        let task = tokio::spawn(read(pool.clone(), query.clone(), sender).in_current_span());
        Self { query, blocks, _task: AbortOnDropHandle::new(task) }
    }
}

async fn read(pool: PgPool, query: PageQuery, blocks: mpsc::Sender<Block>) {
    let last = read_all_but_the_last(&pool, &query, &blocks).await;
    // Whoever wanted it may be gone.
    let _ = blocks.send(last).await;
}

/// Passes blocks on as they fill. The last one comes back after the connection was given back.
async fn read_all_but_the_last(pool: &PgPool, query: &PageQuery, blocks: &mpsc::Sender<Block>) -> Block {
    let mut connection = pool.acquire().await?;
    let mut snapshot = connection.begin_with("begin read only").await?;
    let (mut block, mut bytes) = (Vec::new(), 0);
    {
        let mut items = std::pin::pin!(reader::items(&mut snapshot, query));
        while let Some(item) = items.try_next().await? {
            bytes += item.bytes();
            block.push(item);
            if bytes >= BLOCK_BYTES {
                bytes = 0;
                if blocks.send(Ok(std::mem::take(&mut block))).await.is_err() {
                    break;
                }
            }
        }
    }
    snapshot.rollback().await?;
    Ok(block)
}
