//! The door to where rows go.
//!
//! A run reaches its target through a [`Sink`]: prepare · write pages · finish; a report compares it with its source, and
//! replays rows into it. Which sink a target has is decided in one place ([`Sinks`], by the scheme of its name). There are two
//! kinds ([`Writing`]): written inside the batch's transaction, or before it and idempotent with versions.
//!
//! `Ok` of whatever writes means durable, or durable together with the transaction that it was given: the caller moves the
//! checkpoint next. Every error says what the caller can do about it ([`BatchError`]), and every row that is refused is named.

mod comparing;
pub mod elasticsearch;
pub mod external;
pub mod postgres;
mod registry;
mod scope;
mod subject;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        FullStrategy, MaxRemoved, Mode, PipelineDraft, RunId, SourceColumn, TargetName, removal, report::ReplayOutcome,
    },
    store::runs::OpenRun,
    validation::{FoundTarget, Reader},
};

use crate::{
    session::Session,
    source::{RowForm, home::PageSql},
};

pub use self::{
    comparing::{Bounds, Compared, Comparing, Differing},
    external::{External, ExternalSink},
    postgres::PostgresSink,
    registry::Sinks,
    scope::refuse_unfinished,
    subject::Subject,
};
pub use crate::{error::BatchError, rejected::Rejected};

/// A stream of rows or records for a sink to write.
pub type SinkRows<'a, T> = BoxStream<'a, Result<T, BatchError>>;

/// A kind of sink: what the registry has for each scheme.
#[async_trait]
pub trait SinkKind: fmt::Debug + Send + Sync {
    /// What the names of its targets begin with.
    fn scheme(&self) -> &'static str;

    /// The sink of a target, for a run or a report. Nothing is asked or sent yet.
    fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError>;

    /// The table of the home database that a target is, as SQL writes it; none where it is outside of that.
    fn relation(&self, _target: &TargetName) -> Option<String> {
        None
    }

    /// Finds out more of a target than the API needs, before a report reads it.
    async fn complete_target(&self, _db: &mut PgConnection, _target: &mut FoundTarget) -> Result<(), BatchError> {
        Ok(())
    }

    /// Says in the log, when a worker starts, whether its targets can be written.
    async fn introduce(&self, _db: &PgPool) {}

    /// Removes what runs have built that were given up, and what finished ones have replaced. Workers call it again and again.
    /// Returns the targets of which something could not be removed, each with the reason.
    async fn give_up(&self, _db: &PgPool) -> Result<Vec<(String, String)>, BatchError> {
        Ok(Vec::new())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    pub target: &'a FoundTarget,
    pub reader: &'a Reader,
    pub inputs: &'a PipelineDraft,
    /// Which installation this is: what it makes outside of its database carries the id.
    pub installation: Uuid,
    /// How the run reads, or the pipeline where there is none.
    pub mode: Mode,
    /// None where a report is made.
    pub run: Option<RunOpening>,
}

#[derive(Debug, Clone, Copy)]
pub struct RunOpening {
    pub id: RunId,
    /// The strategy that it began with, where it has begun.
    pub begun: Option<FullStrategy>,
    /// Whether a full run may sweep by the keys that the query returns.
    pub can_sweep: bool,
}

/// Where the rows of one pipeline go.
#[async_trait]
pub trait Sink: fmt::Debug + Send + Sync {
    /// How it wants rows to be written as JSON.
    fn row_form(&self) -> RowForm;

    /// The type that a column which arrives has in the target; none where the target does not keep it.
    fn column_type(&self, column: &SourceColumn) -> Option<String> {
        Some(column.type_name.clone())
    }

    /// Makes sure that the run can write. One that goes on must find the target that it began with.
    async fn prepare(&self, connection: &mut PgConnection, run: &OpenRun) -> Result<Prepared, BatchError>;

    /// How pages are written, and what happens after the last one.
    fn writing(&self) -> Writing<'_>;

    async fn compare<'a>(&'a self, of: &'a Comparing<'a>, session: &'a mut Session)
    -> Result<Compared<'a>, BatchError>;

    /// Writes rows as their source has them now, with this number, and says what became of each.
    async fn replay(
        &self,
        subject: &Subject,
        tx: &mut PgConnection,
        rows: &[Row],
        number: i64,
    ) -> Result<Vec<Replayed>, BatchError>;

    /// The cast that makes the target's value of the source's, of a column of the key; empty where the two are the same.
    fn key_cast(&self, _column: &str) -> String {
        String::new()
    }

    /// Whether a page must not have a key twice.
    fn refuses_repeated_keys(&self) -> bool {
        false
    }

    /// Whether the end of a full run removes rows by the keys that the source returns then.
    fn sweeps(&self) -> bool {
        false
    }

    /// The statement of the home database that reads and writes a page; none where its target is elsewhere.
    fn pushdown(&self, _pages: PageSql<'_>) -> Option<String> {
        None
    }
}

/// What a run writes to, once that can be written.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Id of the physical target behind the name: a checkpoint of another one says nothing about it.
    pub target_id: Option<String>,
    /// Whether the run begins at the first row, because the pipeline's checkpoint is of another target.
    pub anew: bool,
}

/// When a page is written.
pub enum Writing<'a> {
    /// Inside the batch's transaction: all of it happened or none.
    Inside(&'a dyn InsideSink),
    /// Before it: a crash in between repeats the page onto the same rows.
    Before(&'a Arc<dyn ExternalSink>),
}

#[async_trait]
pub trait InsideSink: Send + Sync {
    /// Puts the rows of a page down in the session. Returns how many there were.
    async fn stage(&self, tx: &mut PgConnection, rows: SinkRows<'_, Row>) -> Result<i64, BatchError>;

    /// The SQL with which the batch's statement writes the staged rows; `rejects_allowed` of them may become dead letters.
    fn write_staged(&self, staged: i64, rejects_allowed: Option<i64>) -> PageWrite;

    /// Whether something is left to do after the last page.
    fn completes(&self) -> bool;

    /// Sweeps or swaps, in the transaction that ends the run. `keys` selects the keys of all rows that the query returns now, where the
    /// home database can.
    async fn complete(&self, tx: &mut PgConnection, run: RunId, keys: Option<&str>) -> Result<Completed, BatchError>;
}

/// The part of a batch's statement that writes.
#[derive(Debug)]
pub struct PageWrite {
    /// What the statement begins with; may be empty.
    pub with: String,
    /// The expression that counts what was written.
    pub count: String,
}

/// What a run did to its target besides its pages.
#[derive(Debug, Default)]
pub struct Completed {
    /// Rows that it inserted or changed.
    pub written: i64,
    pub removed: i64,
    /// Whether another target serves now, of which the checkpoints of other pipelines say nothing.
    pub replaced: bool,
}

#[derive(Debug)]
pub struct Row {
    /// The values of the target's key, in the server's text form.
    pub key: Vec<Option<String>>,
    /// The row as a JSON object. A column of type `json` keeps the line breaks that it came with.
    pub doc: String,
}

/// What became of a row that was replayed: why it was refused again, or the outcome.
pub type Replayed = Result<ReplayOutcome, String>;

/// How many rows of its target a pipeline may remove at once.
#[derive(Debug, Clone)]
pub struct RemovalLimit {
    max_removed: Option<MaxRemoved>,
    target: String,
    pipeline: String,
}

impl RemovalLimit {
    pub fn of(inputs: &PipelineDraft) -> Self {
        let target = inputs.final_target().0.to_owned();
        Self { max_removed: inputs.options.max_removed, target, pipeline: inputs.name.clone() }
    }

    /// Why so many of so many rows may not be removed.
    pub fn refusal(&self, removed: u64, of: u64) -> Option<String> {
        removal::refusal(self.max_removed, removed, of, &self.target, &self.pipeline)
    }

    /// Fails where so many of so many rows may not be removed.
    pub fn refuse(&self, removed: u64, of: u64) -> Result<(), BatchError> {
        self.refusal(removed, of).map_or(Ok(()), |refusal| Err(BatchError::fatal(refusal)))
    }

    /// Whether `removed` rows may be removed whatever the target's size.
    pub fn allows_any(&self, removed: u64) -> bool {
        removal::is_allowed(self.max_removed, removed, 0)
    }
}
