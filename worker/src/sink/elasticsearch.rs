//! Writes pages to an index.

use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use sqlx::PgConnection;
use tokio::sync::{OnceCell, oneshot};
use vitrina_shared::{
    domain::{IndexOptions, Mode, RunId, SourceColumn, WriteMode, error_class::without_values},
    store::write_numbers,
};

use super::{Rejected, Row};
use crate::{
    elasticsearch::{self, Action, BulkWriter, Document, Index, Route, Server, SinkError, Written},
    error::BatchError,
};

/// Documents of refused rows that are fetched together.
const KEPT_TOGETHER: usize = 100;

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
    server: OnceCell<Server>,
    route: OnceCell<Arc<Route>>,
}

/// What became of a page.
#[derive(Debug)]
pub struct PageWritten {
    /// Documents that changed something.
    pub changes: u64,
    /// Rows that the server refused.
    pub rejected: Vec<Rejected>,
    /// The version of a document that was not written, because it has a higher one than the page gives.
    pub overtaken_by: Option<i64>,
}

impl IndexSink {
    /// The sink of a run for rows with these columns. Nothing is sent yet.
    pub fn new(index: Index, run: RunId, mode: Mode, columns: Vec<SourceColumn>) -> Self {
        let action = action(mode, index.options());
        let rebuilds = mode == Mode::Full;
        let (server, route) = (OnceCell::new(), OnceCell::new());
        Self { index, run, columns, action, rebuilds, repeats_keys: false, server, route }
    }

    /// Says whether one key may come in several pages, the newest last.
    pub fn repeating_keys(mut self, repeats: bool) -> Self {
        self.repeats_keys = repeats;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.index.name()
    }

    /// Whether another index is built, which takes over in the end.
    pub fn rebuilds(&self) -> bool {
        self.rebuilds
    }

    /// Makes sure that the server is there, that we may write to it, and that there is an index to write to: the one that
    /// the run began with, where it was begun before. Returns which it is.
    pub async fn prepare(&self, began_with: Option<&str>) -> Result<String, BatchError> {
        let server = self.server.get_or_try_init(|| self.index.check_access()).await?;
        let (index, begun) = (&self.index, began_with.is_some());
        let ready = match self.rebuilds {
            true => index.begin_rebuild(self.run, &self.columns, begun).await?,
            false => index.prepare(self.run, &self.columns, begun).await?,
        };
        let id = format!("{}/{}", server.cluster, ready.uuid);
        if began_with.is_some_and(|other| other != id) {
            return Err(index.is_gone().into());
        }
        // Asked for once more, the same way leads to the same index, and knows how much the server takes.
        self.route.get_or_init(|| async { ready.route }).await;
        Ok(id)
    }

    /// Whether the index has no document.
    pub async fn is_empty(&self) -> Result<bool, BatchError> {
        Ok(self.index.is_empty().await?)
    }

    /// Begins to write a page of at most `page_size` rows, of which at most `allowed` may be rejected. Into an index that is
    /// in use nothing is sent before it is the page's turn. `number` tells which of two pages with one document is the
    /// newer.
    pub fn begin_page(
        &self,
        page_size: i64,
        allowed: u64,
        turn: oneshot::Receiver<()>,
        number: i64,
    ) -> Result<PageWriting, BatchError> {
        let expected = usize::try_from(page_size).unwrap_or(usize::MAX);
        let route = self.route.get().ok_or_else(|| BatchError::fatal("the index was not prepared"))?;
        let writer = BulkWriter::new(route.clone(), self.action, allowed).expecting(expected);
        let at_once = self.rebuilds && !self.repeats_keys;
        let writer = if at_once { writer } else { writer.waiting_for(turn) };
        Ok(PageWriting { writer, number })
    }

    /// Takes the documents of rows that were refused into the index that is being built, as they are in the one that serves:
    /// a row that is put aside stays as it was. They have the least version, so that they take the place of nothing.
    pub async fn keep_refused(&self, rejected: &[Rejected]) -> Result<(), BatchError> {
        if !self.rebuilds || rejected.is_empty() || !self.index.is_there().await? {
            return Ok(());
        }
        let route = self.route.get().ok_or_else(|| BatchError::fatal("the index was not prepared"))?;
        let mut writer = BulkWriter::new(route.clone(), self.action, rejected.len() as u64);
        let ids: Vec<&str> = rejected.iter().map(|row| row.id.as_str()).filter(|id| !id.is_empty()).collect();
        for together in ids.chunks(KEPT_TOGETHER) {
            for (id, stored) in self.index.fetch(together).await? {
                writer.push(Document { id, version: Some(0), body: stored.body }).await?;
            }
        }
        let written = writer.finish().await?;
        if let Some(first) = written.rejected.first() {
            let (documents, error) = (written.rejected.len(), without_values(&first.reason));
            tracing::warn!(documents, %error, "documents of refused rows do not fit the new index and are left out of it");
        }
        Ok(())
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
pub struct PageWriting {
    writer: BulkWriter,
    number: i64,
}

impl PageWriting {
    /// Takes rows as they come, and sends them as far as there is room.
    pub async fn take(&mut self, rows: impl Stream<Item = Result<Row, BatchError>>) -> Result<(), BatchError> {
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows.try_next().await? {
            self.writer.push(document(row, self.number)).await?;
        }
        Ok(self.writer.flush().await?)
    }

    /// Waits until all of them are durable, or rejected by name.
    pub async fn finish(self) -> Result<PageWritten, BatchError> {
        let written = self.writer.finish().await?;
        let (changes, overtaken_by) = (written.changes(), overtaken_by(&written));
        let rejected = written.rejected.into_iter();
        let rejected =
            rejected.map(|row| Rejected { id: row.document.id, doc: row.document.body, error: row.reason }).collect();
        Ok(PageWritten { changes, rejected, overtaken_by })
    }
}

/// How documents are written: whole and with a version, so that what comes late is refused, unless `update` was asked for.
pub fn action(mode: Mode, options: &IndexOptions) -> Action {
    match (mode, options.write) {
        (Mode::Incremental, Some(WriteMode::Update)) => Action::Upsert,
        (Mode::Incremental, Some(WriteMode::Index) | None) | (Mode::Full, _) => Action::Replace,
    }
}

/// The document of a row, as it is written with this number.
pub fn document(row: Row, number: i64) -> Document {
    let version = Some(elasticsearch::version(number));
    Document { id: elasticsearch::id_of_row(&row.key), version, body: row.doc }
}

/// The version of a document that was not written, because it has a higher one.
pub fn overtaken_by(written: &Written) -> Option<i64> {
    (written.superseded > 0).then(|| written.newest.unwrap_or_default())
}

/// Says that documents were not written because they have higher versions, and sees to it that the next attempt's are
/// higher than those. If this worker is late, the attempt is another's already, and this one is forgotten. If not, nobody
/// of us can have written them: the database is an older copy of itself, or somebody else has set their versions. One that is
/// far too high fails whoever writes this index, and nobody else.
pub async fn overtaken(connection: &mut PgConnection, index: &str, version: i64) -> Result<BatchError, BatchError> {
    if !write_numbers::pass(connection, elasticsearch::number_above(version)).await? {
        return Ok(BatchError::fatal(format!(
            "a document of `{index}` has the version {version}, which somebody else has set and which is too high to go beyond: \
             run the pipeline with --full, which builds the index anew"
        )));
    }
    Ok(SinkError::transient(format!(
        "documents of the index have higher versions than this attempt gives them (up to {version}): another worker was \
         faster, or somebody else wrote them. The next attempt gives higher ones"
    ))
    .into())
}
