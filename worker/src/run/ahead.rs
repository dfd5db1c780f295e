//! Pages on their way into an external sink, each in a task of its own: one is read, and made into requests, while the last
//! requests of the one before are under way.
//!
//! Only what was committed moves a checkpoint: a page that was begun ahead and is not the one asked for next is forgotten.
//! The same key may come in both, with newer values in the second. So a page waits for its turn before anything of it is
//! visible.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::reader::{self, Handling, Remains};
use crate::{
    error::BatchError,
    row_id::id_of_row,
    sink::{
        ExternalSink, Row,
        external::{PageStart, PageWritten, Record},
    },
    source::{PageEnd, PageQuery, Reading, WorkHandle},
    step::{Sequence, StepContext},
};

/// The page that was begun before it is its turn, if any. Dropping it ends what is under way.
#[derive(Debug, Default)]
pub struct Ahead(Option<Page>);

impl Ahead {
    /// Keeps a page that was begun.
    pub fn keep(&mut self, page: Page) {
        self.0 = Some(page);
    }

    /// The page of this query, if that was begun.
    pub fn take(&mut self, query: &PageQuery) -> Option<Page> {
        let page = self.0.take().filter(|page| page.query == *query);
        tracing::trace!(ahead = page.is_some(), "a page is taken");
        page
    }
}

/// What the pages of a run are written with.
#[derive(Debug, Clone)]
pub struct Pages {
    /// The work that they belong to.
    pub work: WorkHandle,
    pub reading: Arc<dyn Reading>,
    pub sink: Arc<dyn ExternalSink>,
    pub steps: Sequence,
    /// What the steps reach the world through.
    pub context: StepContext,
    /// How many rows of a page may be put aside; none where the first one ends it.
    pub rejects_allowed: Option<u64>,
}

/// A page on its way.
#[derive(Debug)]
pub struct Page {
    query: PageQuery,
    turn: oneshot::Sender<()>,
    end: oneshot::Receiver<PageEnd>,
    written: Written,
}

/// What becomes of a page.
type Written = AbortOnDropHandle<Result<(PageEnd, PageWritten), BatchError>>;

impl Pages {
    /// Begins a page. The number was taken before, so that it is greater than those of all pages that were read earlier.
    pub fn begin(self, query: PageQuery, number: i64) -> Page {
        let (turn, its_turn) = oneshot::channel();
        let (all_sent, end) = oneshot::channel();
        let task = tokio::spawn(self.write(query.clone(), number, its_turn, all_sent).in_current_span());
        Page { query, turn, end, written: AbortOnDropHandle::new(task) }
    }

    async fn write(
        self,
        query: PageQuery,
        number: i64,
        its_turn: oneshot::Receiver<()>,
        all_sent: oneshot::Sender<PageEnd>,
    ) -> Result<(PageEnd, PageWritten), BatchError> {
        let mut remains = Remains::default();
        let page = self.reading.page(self.work.clone(), query);
        let walk = self.reading.walk();
        let Self { steps, context, rejects_allowed, sink, .. } = &self;
        let (max_row_bytes, rejects_allowed) = (walk.max_row_bytes, *rejects_allowed);
        let mut writing =
            sink.begin_page(PageStart { number, size: walk.page_size, rejects_allowed, turn: its_turn })?;
        let handling = Handling { steps, context, waiting: None, max_row_bytes, rejects_allowed };
        let record = |Row { key, doc }| Record { id: id_of_row(&key), doc };
        writing.take(reader::rows(page, handling, &mut remains).map_ok(record).boxed()).await?;
        let end = remains.whole()?;
        // Whoever wanted to know may be gone.
        let _ = all_sent.send(end.clone());
        let written = writing.finish(remains.rejected).await?;
        Ok((end, written))
    }
}

impl Page {
    /// Lets the page go out, and waits until all of it has. Without an end where it failed before: [`Sent::finish`] says why.
    pub async fn send(self) -> (Option<PageEnd>, Sent) {
        // Where it did not wait, nobody hears this.
        let _ = self.turn.send(());
        (self.end.await.ok(), Sent(self.written))
    }
}

/// A page whose requests are all under way.
#[derive(Debug)]
pub struct Sent(Written);

impl Sent {
    /// Waits until all of it is durable, or rejected by name.
    pub async fn finish(self) -> Result<(PageEnd, PageWritten), BatchError> {
        self.0.await.unwrap_or_else(|_| Err(BatchError::fatal("the page panicked; the log has the place")))
    }
}
