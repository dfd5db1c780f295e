//! Reads a page in a task of its own, so that its rows come while others are being written.
//!
//! A few blocks of rows wait here, the others with the server, so that memory does not grow with the page.

use futures_util::{StreamExt, TryStreamExt, stream};
use sqlx::{FromRow, Row as _, postgres::PgRow};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::PageSql;
use crate::{
    error::BatchError,
    session::Sessions,
    source::{Bound, Item, PageEnd, PageQuery, PageStream, Walk, fill_block},
};

/// The items of a page: the statement is that of [`PageSql::documents`].
const READ: &str = "select key, doc, rows_read, last, more, bytes from etl_page.read($1, $2, $3, $4, $5)
    as page (key text[], doc text, rows_read bigint, last text[], more boolean, bytes bigint)";

/// All rows may be with this worker's socket while steps are at work on the first ones (`session::LONGEST_STATEMENT`).
const BEGIN: &str = "begin read only; set local idle_in_transaction_session_timeout = '10min'";

/// Blocks that wait to be taken: enough for the first requests of a page to go out at once.
const BLOCKS: usize = 2;

/// Items that are passed on together, or why there are no more.
type ItemBlock = Result<Vec<Item>, BatchError>;

#[derive(Debug)]
pub struct PageStatement {
    text: String,
    page_size: i64,
    by_time: bool,
    page: PageQuery,
}

impl PageStatement {
    pub fn of(walk: &Walk, page: PageQuery) -> Self {
        let text = PageSql::of(walk).documents();
        Self { text, page_size: walk.page_size, by_time: walk.bound == Bound::Clock, page }
    }
}

/// Begins to read a page, and returns its blocks as they come. Dropping them ends the reading.
pub fn begin(sessions: Sessions, statement: PageStatement) -> PageStream {
    let (sender, blocks) = mpsc::channel(BLOCKS);
    let task = AbortOnDropHandle::new(tokio::spawn(read(sessions, statement, sender).in_current_span()));
    stream::unfold((blocks, task), |(mut blocks, task)| async { Some((blocks.recv().await?, (blocks, task))) }).boxed()
}

async fn read(sessions: Sessions, statement: PageStatement, blocks: mpsc::Sender<ItemBlock>) {
    let last = read_all_but_the_last(&sessions, &statement, &blocks).await;
    // The receiver may be gone.
    let _ = blocks.send(last).await;
}

/// Passes blocks on as they fill. The last one comes back after the connection was given back.
async fn read_all_but_the_last(
    sessions: &Sessions,
    statement: &PageStatement,
    blocks: &mpsc::Sender<ItemBlock>,
) -> ItemBlock {
    let mut waiting = sessions.wait();
    let mut session = sessions.acquire().await?;
    // A receiver that wants no more rows does not wait for the rest of the page.
    session.may_not_end();
    let mut snapshot = session.begin_named(BEGIN).await?;
    let last = {
        let mut items = sqlx::query_as::<_, PageRow>(READ)
            .bind(&statement.text)
            .bind(&statement.page.after)
            .bind(&statement.page.upper)
            .bind(statement.page_size)
            .bind(statement.by_time)
            .fetch(&mut *snapshot)
            .map_ok(|PageRow(item)| item);
        loop {
            let (block, more) = fill_block(&mut items, Item::bytes).await?;
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

/// A row of [`READ`]: a row of the page or, without a `doc`, what is known of the page.
struct PageRow(Item);

/// By position: there are very many of them, and most have a `doc` and nothing else to say.
impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let doc: Option<String> = row.try_get(1)?;
        Ok(Self(match doc {
            Some(doc) => {
                let key: Option<_> = row.try_get(0)?;
                Item::Row { key: key.unwrap_or_default(), doc, too_long: row.try_get(5)? }
            }
            None => {
                let rows_read: Option<_> = row.try_get(2)?;
                let (last, more) = (row.try_get(3)?, row.try_get(4)?);
                Item::End(PageEnd { rows_read: rows_read.unwrap_or(0), last, more })
            }
        }))
    }
}
