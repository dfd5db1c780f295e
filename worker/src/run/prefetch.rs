//! Pages on their way into an external sink, each in a task of its own: one is read, and made into requests, while the last
//! requests of the one before are under way.
//!
//! Only what was committed moves a checkpoint: a prefetched page that is not the one asked for next is dropped. The same key
//! may come in both, with newer values in the second. So a page waits for its turn before anything of it is visible.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::steps::{PageTally, RowRules, process_page};
use crate::{
    error::BatchError,
    row_id::id_of_row,
    session::LONGEST_STATEMENT,
    sink::{
        ExternalSink, Row,
        external::{PageStart, PageWritten, Record},
    },
    source::{PageEnd, PageQuery, Reading, WorkHandle},
    step::StepRows,
};

/// The page that was begun before it is its turn, if any. Dropping it ends what is under way.
#[derive(Debug, Default)]
pub struct Prefetched(pub Option<PageTask>);

impl Prefetched {
    /// The page of this query, if that was begun.
    pub fn take(&mut self, query: &PageQuery) -> Option<PageTask> {
        let page = self.0.take().filter(|page| page.query == *query);
        tracing::trace!(prefetched = page.is_some(), "a page is taken");
        page
    }
}

#[derive(Debug, Clone)]
pub struct PageTasks {
    pub work: WorkHandle,
    pub reading: Arc<dyn Reading>,
    pub sink: Arc<dyn ExternalSink>,
    pub rules: RowRules,
}

#[derive(Debug)]
pub struct PageTask {
    query: PageQuery,
    turn: Option<oneshot::Sender<()>>,
    end: oneshot::Receiver<PageEnd>,
    written: AbortOnDropHandle<Result<WrittenPage, BatchError>>,
}

/// A page that was read to its end and is durable.
#[derive(Debug)]
pub struct WrittenPage {
    pub end: PageEnd,
    /// What became of its rows in each step, in their order.
    pub steps: Vec<StepRows>,
    pub written: PageWritten,
}

impl PageTasks {
    /// Begins a page. The number was taken before, so that it is greater than those of all pages that were read earlier.
    pub fn begin(mut self, query: PageQuery, number: i64) -> PageTask {
        self.rules.context.deadline = Instant::now() + LONGEST_STATEMENT;
        let (turn, its_turn) = oneshot::channel();
        let (all_sent, end) = oneshot::channel();
        let task = tokio::spawn(self.write(query.clone(), number, its_turn, all_sent).in_current_span());
        PageTask { query, turn: Some(turn), end, written: AbortOnDropHandle::new(task) }
    }

    async fn write(
        self,
        query: PageQuery,
        number: i64,
        its_turn: oneshot::Receiver<()>,
        all_sent: oneshot::Sender<PageEnd>,
    ) -> Result<WrittenPage, BatchError> {
        let mut tally = PageTally::default();
        let page = self.reading.page(self.work.clone(), query);
        let (size, rejects_allowed) = (self.reading.walk().page_size, self.rules.rejects_allowed);
        let mut writing = self.sink.begin_page(PageStart { number, size, rejects_allowed, turn: its_turn })?;
        let record = |Row { key, doc }| Record { id: id_of_row(&key), doc };
        writing.take(process_page(page, &self.rules, None, &mut tally).map_ok(record).boxed()).await?;
        let end = tally.take_end()?;
        // The batch that wanted to know may be gone.
        let _ = all_sent.send(end.clone());
        let written = writing.finish(tally.rejected).await?;
        Ok(WrittenPage { end, steps: tally.steps, written })
    }
}

impl PageTask {
    /// Lets the page go out, and waits until all of it has. Without an end where it failed before: [`PageTask::finish`] says why.
    pub async fn send(&mut self) -> Option<PageEnd> {
        // Fails where the page did not wait.
        let _ = self.turn.take()?.send(());
        (&mut self.end).await.ok()
    }

    /// Waits until all of it is durable, or rejected by name.
    pub async fn finish(self) -> Result<WrittenPage, BatchError> {
        self.written.await.unwrap_or_else(|_| Err(BatchError::fatal("the page panicked; the log has the place")))
    }
}
