//! Writes pages to an index.

use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use tokio::sync::{OnceCell, oneshot};
use vitrina_shared::domain::{IndexOptions, Mode, RunId, SourceColumn, WriteMode, index_options::is_json};

use super::{Rejected, Row};
use crate::{
    elasticsearch::{self, Action, BulkWriter, Document, Index, Route, SinkError},
    error::BatchError,
};

/// The index that a run writes.
#[derive(Debug)]
pub struct IndexSink {
    index: Index,
    run: RunId,
    columns: Vec<SourceColumn>,
    action: Action,
    /// Whether another index is built, which takes over in the end.
    rebuilds: bool,
    /// Whether one key may come in several pages.
    repeats_keys: bool,
    route: OnceCell<Arc<Route>>,
}

/// What became of a page.
#[derive(Debug)]
pub struct PageWritten {
    /// Documents that changed something.
    pub changes: u64,
    /// Rows that the server refused.
    pub rejected: Vec<Rejected>,
}

impl IndexSink {
    /// The sink of a run for rows with these columns. Nothing is sent yet.
    pub fn new(index: Index, run: RunId, mode: Mode, columns: Vec<SourceColumn>) -> Self {
        let action = action(mode, index.options(), &columns);
        Self { index, run, columns, action, rebuilds: mode == Mode::Full, repeats_keys: false, route: OnceCell::new() }
    }

    /// Says whether one key may come in several pages, the newest last.
    pub fn repeating_keys(mut self, repeats: bool) -> Self {
        self.repeats_keys = repeats;
        self
    }

    /// Makes sure that the server is there, that we may write to it, and that there is an index to write to.
    pub async fn prepare(&self) -> Result<(), BatchError> {
        self.route().await?;
        Ok(())
    }

    /// Asks once; what changes afterwards is noticed by the writes.
    async fn route(&self) -> Result<&Arc<Route>, SinkError> {
        self.route.get_or_try_init(|| self.find_route()).await
    }

    async fn find_route(&self) -> Result<Arc<Route>, SinkError> {
        self.index.check_access().await?;
        if self.rebuilds {
            self.index.begin_rebuild(self.run, &self.columns).await
        } else {
            self.index.prepare(self.run, &self.columns).await
        }
    }

    /// Begins to write a page of at most `page_size` rows, of which at most `allowed` may be rejected. Into an index that is
    /// in use nothing is sent before it is the page's turn.
    pub async fn begin_page(
        &self,
        page_size: i64,
        allowed: u64,
        turn: oneshot::Receiver<()>,
    ) -> Result<PageWriting, BatchError> {
        let expected = usize::try_from(page_size).unwrap_or(usize::MAX);
        let writer = BulkWriter::new(self.route().await?.clone(), self.action, allowed).expecting(expected);
        let at_once = self.rebuilds && !self.repeats_keys;
        Ok(PageWriting(if at_once { writer } else { writer.waiting_for(turn) }))
    }

    /// After the last page: an index that was built takes over, if it has all the documents that were written, and unless
    /// `refuse` says why it may not be that much smaller. Returns by how many documents it is.
    pub async fn finish(&self, documents: u64, refuse: impl Fn(u64, u64) -> Option<String>) -> Result<u64, BatchError> {
        if !self.rebuilds {
            return Ok(0);
        }
        let expected = if self.repeats_keys { 0 } else { documents };
        Ok(self.index.finish_rebuild(self.run, expected, refuse).await?)
    }
}

/// A page on its way into the index.
#[derive(Debug)]
pub struct PageWriting(BulkWriter);

impl PageWriting {
    /// Takes rows as they come, and sends them as far as there is room.
    pub async fn take(&mut self, rows: impl Stream<Item = Result<Row, BatchError>>) -> Result<(), BatchError> {
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.try_next().await? {
            self.0.push(document(row)).await?;
        }
        Ok(self.0.flush().await?)
    }

    /// Waits until all of them are durable, or rejected by name.
    pub async fn finish(self) -> Result<PageWritten, BatchError> {
        let written = self.0.finish().await?;
        let changes = written.changes();
        let rejected = written.rejected.into_iter();
        let rejected = rejected.map(|row| Rejected { doc: row.document.body, error: row.reason }).collect();
        Ok(PageWritten { changes, rejected })
    }
}

/// How documents are written. An `update` would merge the objects of JSON columns with those that are there.
pub fn action(mode: Mode, options: &IndexOptions, columns: &[SourceColumn]) -> Action {
    let merges = columns.iter().any(|column| is_json(&column.type_name));
    match (mode, options.write) {
        (Mode::Full, _) | (Mode::Incremental, Some(WriteMode::Index)) => Action::Replace,
        (Mode::Incremental, None) if merges => Action::Replace,
        (Mode::Incremental, Some(WriteMode::Update) | None) => Action::Upsert,
    }
}

/// The document of a row.
pub fn document(row: Row) -> Document {
    Document { id: elasticsearch::id_of_row(&row.key), version: row.version, body: row.doc }
}
