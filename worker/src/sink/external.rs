//! Sinks outside of the home database: written before the batch's transaction, idempotent by ids and versions.
//!
//! Such a sink keeps each row as a JSON document under an id that is made of the target's key. What it must do is an
//! [`ExternalSink`]; comparing it with its source (`comparison`) and replaying rows into it (`replay`) is the same for all.

mod comparison;
mod fingerprint;
mod replay;

use std::{collections::HashMap, fmt, sync::Arc};

use async_trait::async_trait;
use sqlx::PgConnection;
use tokio::sync::oneshot;
use vitrina_shared::{
    domain::{ErrorClass, RunId, SourceColumn},
    store::{
        runs::{self, OpenRun},
        write_numbers,
    },
};

use super::{
    BatchError, Compared, Comparing, Completed, Prepared, Rejected, Replayed, Row, Sink, SinkRows, Subject, Writing,
};
use crate::{session::Session, source::RowForm};

#[async_trait]
pub trait ExternalSink: fmt::Debug + Send + Sync {
    /// The target's name, as configuration has it.
    fn target(&self) -> &str;

    /// Makes sure that the run can write. One that goes on must find the target that it began with.
    async fn prepare(&self, connection: &mut PgConnection, run: &OpenRun) -> Result<Prepared, BatchError>;

    /// Begins a page of the run. Of two pages that have one id, the one with the higher number is the newer.
    fn begin_page(&self, page: PageStart) -> Result<Box<dyn PageWriter>, BatchError>;

    /// After the last page: what the run built takes over, if it has as many rows as were written. Harmless to repeat: the run's
    /// end is written afterwards.
    async fn finish(&self, run: RunId, rows: u64) -> Result<Completed, BatchError>;

    /// Whether there is something that can be read. What was written before is visible then.
    async fn is_there(&self) -> Result<bool, BatchError>;

    async fn count(&self) -> Result<u64, BatchError>;

    /// Whether it orders the values of a column as the source does, so that the least and greatest of both can be compared.
    fn keeps_order(&self, _column: &SourceColumn) -> bool {
        false
    }

    /// The least or the greatest value of a column, in JSON; none where the sink cannot tell.
    async fn extreme(&self, _column: &SourceColumn, _greatest: bool) -> Result<Option<String>, BatchError> {
        Ok(None)
    }

    /// Begins to read everything; with `bodies`, which fails where the sink does not keep them, or the ids alone.
    async fn contents(&self, bodies: bool) -> Result<Box<dyn Contents + '_>, BatchError>;

    /// The documents with these ids that are there, as they are now; without `bodies` empty ones. Fails where they are too large
    /// together for a worker.
    async fn fetch(&self, ids: &[&str], bodies: bool) -> Result<HashMap<String, String>, BatchError>;

    /// Begins to write documents with this number to what is there, outside of any run; or to remove them.
    fn mend(&self, number: i64, mending: Mending) -> Box<dyn PageWriter>;
}

#[derive(Debug)]
pub struct PageStart {
    pub number: i64,
    /// How many rows it has at most.
    pub size: i64,
    /// How many of them may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
    /// Says that it is the page's turn. Nothing may be visible before: the page before it may have older rows of the same keys.
    pub turn: oneshot::Receiver<()>,
}

/// What is done to documents outside of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mending {
    /// Writes them; at most this many may be refused.
    Write(u64),
    Remove,
}

#[derive(Debug)]
pub struct Record {
    /// What identifies it, of [`id_of_row`](crate::row_id::id_of_row).
    pub id: String,
    /// The row as a JSON object; empty where it is removed.
    pub doc: String,
}

#[async_trait]
pub trait PageWriter: Send {
    /// Takes rows as they come, and sends them as far as there is room.
    async fn take(&mut self, records: SinkRows<'_, Record>) -> Result<(), BatchError>;

    /// Waits until all of them are durable, or rejected by name. `rejected` are the page's rows that were refused on their way
    /// here, and come first in the result.
    async fn finish(self: Box<Self>, rejected: Vec<Rejected>) -> Result<PageWritten, BatchError>;
}

#[derive(Debug)]
pub struct PageWritten {
    pub changes: u64,
    pub rejected: Vec<Rejected>,
    /// Why some were not written although nothing is wrong with them.
    pub overtaken: Option<Overtaken>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overtaken {
    /// The highest of those versions.
    pub version: i64,
    pub number_above: i64,
}

impl Overtaken {
    /// Explains the conflict, and makes the versions of the next attempt higher than those. If another worker has taken over the
    /// job, the error is discarded with this attempt. Otherwise the higher versions are from another program, or the database is
    /// an older copy of itself. A version that is far too high fails the runs of this target alone.
    pub async fn explain(self, connection: &mut PgConnection, target: &str) -> Result<BatchError, BatchError> {
        let version = self.version;
        if !write_numbers::pass(connection, self.number_above).await? {
            return Ok(BatchError::fatal(format!(
                "a document of `{target}` has the version {version}, which another program has set and which is too high to go \
                 beyond: run the pipeline with --full, which builds it anew"
            )));
        }
        let message = format!(
            "documents of `{target}` have higher versions than this attempt gives them (up to {version}): another worker was \
             faster, or another program wrote them. The next attempt gives higher ones"
        );
        Ok(BatchError::Failed { class: ErrorClass::Transient, message })
    }
}

/// Refuses to write a few documents to a target that is not there, or that has none although rows were delivered to it: a run fills
/// it from the first row, and with those documents no pipeline of the target would see that the others are gone.
async fn refuse_emptied(connection: &mut PgConnection, sink: &dyn ExternalSink) -> Result<(), BatchError> {
    let target = sink.target();
    if !sink.is_there().await? {
        return Err(BatchError::fatal(format!("`{target}` is not there: run the pipeline, which makes it")));
    }
    if sink.count().await? > 0 || !runs::is_delivered_to(connection, target).await? {
        return Ok(());
    }
    Err(BatchError::fatal(format!(
        "`{target}` has no documents any more, although runs have delivered some: run the pipelines that write it, which fill it \
         from the first row"
    )))
}

/// Takes the id and the JSON of a document.
pub type TakeDocument<'a> = dyn FnMut(&str, &str) + Send + 'a;

/// Everything that a sink has, page by page.
#[async_trait]
pub trait Contents: Send {
    /// Gives every document of the next page to `each`. Whether there may be more.
    async fn next(&mut self, each: &mut TakeDocument<'_>) -> Result<bool, BatchError>;
}

/// The [`Sink`] that an external sink is.
#[derive(Debug)]
pub struct External(pub Arc<dyn ExternalSink>);

#[async_trait]
impl Sink for External {
    fn row_form(&self) -> RowForm {
        RowForm::Document
    }

    async fn prepare(&self, connection: &mut PgConnection, run: &OpenRun) -> Result<Prepared, BatchError> {
        self.0.prepare(connection, run).await
    }

    fn writing(&self) -> Writing<'_> {
        Writing::Before(&self.0)
    }

    async fn compare<'a>(
        &'a self,
        of: &'a Comparing<'a>,
        session: &'a mut Session,
    ) -> Result<Compared<'a>, BatchError> {
        comparison::compare(&*self.0, of, session).await
    }

    async fn replay(
        &self,
        subject: &Subject,
        tx: &mut PgConnection,
        rows: &[Row],
        number: i64,
    ) -> Result<Vec<Replayed>, BatchError> {
        replay::write(&*self.0, subject, tx, rows, number).await
    }
}
