//! Writes pages to an index.

use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use tokio::sync::OnceCell;
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
        Self { index, run, columns, action, rebuilds: mode == Mode::Full, route: OnceCell::new() }
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

    /// Writes rows as they come. `Ok` means that all of them are durable, or rejected by name: at most `allowed` of them.
    pub async fn write(
        &self,
        rows: impl Stream<Item = Result<Row, BatchError>>,
        allowed: u64,
    ) -> Result<PageWritten, BatchError> {
        let mut rows = std::pin::pin!(rows);
        let mut writer = BulkWriter::new(self.route().await?.clone(), self.action, allowed);
        while let Some(row) = rows.try_next().await? {
            writer.push(document(row)).await?;
        }
        let written = writer.finish().await?;
        let changes = written.changes();
        let rejected = written.rejected.into_iter();
        let rejected = rejected.map(|row| Rejected { doc: row.document.body, error: row.reason }).collect();
        Ok(PageWritten { changes, rejected })
    }

    /// After the last page: an index that was built takes over, if it has all the documents that were written.
    pub async fn finish(&self, documents: u64) -> Result<(), BatchError> {
        if self.rebuilds {
            self.index.finish_rebuild(self.run, documents).await?;
        }
        Ok(())
    }
}

/// How documents are written. An `update` would merge the objects of JSON columns with those that are there.
fn action(mode: Mode, options: &IndexOptions, columns: &[SourceColumn]) -> Action {
    let merges = columns.iter().any(|column| is_json(&column.type_name));
    match (mode, options.write) {
        (Mode::Full, _) | (Mode::Incremental, Some(WriteMode::Index)) => Action::Replace,
        (Mode::Incremental, None) if merges => Action::Replace,
        (Mode::Incremental, Some(WriteMode::Update) | None) => Action::Upsert,
    }
}

fn document(row: Row) -> Document {
    // A key with a NULL in it names nothing; an empty id is refused by name.
    let key: Option<Vec<&str>> = row.key.iter().map(Option::as_deref).collect();
    let id = key.map(|key| elasticsearch::id(&key)).unwrap_or_default();
    Document { id, version: row.version, body: row.doc }
}
