//! The door to where rows come from.
//!
//! A [`Source`] describes what a pipeline's query returns and opens it for a run. The [`Reading`] that it opens says from where to
//! where the run reads, reads its pages and estimates what is left. [`Sources`] decides which source a pipeline reads.
//!
//! A run reads pages; a report reads rows as they are now (`rows`): the first ones for a preview, those of some keys for a replay, and
//! all of them, or those that differed, for a comparison with an external sink. Each says whether it should be in the target by now,
//! which only its source knows, because only that knows the order of its keys. A source that cannot do this says so.
//!
//! `home` is the database of Vitrina itself. Where the target is there too, the server does both sides at once: a page is one
//! statement ([`Reading::home_sql`], `sink::postgres::pushdown`), and so is a comparison (`sink::postgres::compare`). Neither is read
//! through this door; `bound` and the estimates always are.

pub mod home;
mod rows;
mod walk;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Checkpoint, PipelineDraft, Position, RunId},
    store::runs::{OpenRun, Start},
    validation::Described,
};

use self::home::PageSql;
pub use self::{
    rows::{CountQuery, RowStream, RowsQuery, Scope, SourceCount, SourceRow, Wanted, fill_block, is_cut},
    walk::{Bound, KeyColumn, RowForm, Walk, WalkColumn},
};
use crate::error::BatchError;
pub use crate::in_hand::WorkHandle;

#[async_trait]
pub trait Source: fmt::Debug + Send + Sync {
    /// Label for logs and messages, for instance `home`.
    fn kind(&self) -> &'static str;

    fn reads(&self, draft: &PipelineDraft) -> bool;

    /// Whether its rows are in the database of Vitrina itself, so that a statement can read them and write a mart.
    fn is_home(&self) -> bool {
        false
    }

    /// Checks the pipeline's query, and says what it returns.
    async fn describe(&self, draft: &PipelineDraft) -> Result<Described, BatchError>;

    /// Opens the described query for a run. Nothing is asked of the server yet.
    fn open(&self, walk: Walk) -> Arc<dyn Reading>;
}

/// The reading of one run. `home` is always the job's session of the home database, where checkpoints and debts are kept.
#[async_trait]
pub trait Reading: fmt::Debug + Send + Sync {
    fn walk(&self) -> &Walk;

    /// Its statements, where the home database executes them: a sink there writes a page by the statement that reads it.
    fn home_sql(&self) -> Option<PageSql<'_>> {
        None
    }

    /// From where to where the run reads, decided once when it begins: every row up to the bound is there by then, or will be
    /// read again. By default up to the greatest key, for sources whose rows become visible in the order of their keys; those
    /// of the checkpoint's own key are read again.
    async fn bound(&self, home: &mut PgConnection, run: &OpenRun) -> Result<Start, BatchError> {
        let walk = self.walk();
        if walk.settles_by == Bound::None {
            return Ok(Start::default());
        }
        let upper = self.greatest_key(home, run.id).await?;
        let checkpoint = run.checkpoint_from.as_ref().filter(|_| !walk.starts_over);
        let after = checkpoint.map(|checkpoint| Position(vec![Some(checkpoint.key.clone()), None]));
        let leaves = upper.clone().filter(|_| walk.leaves_settled()).map(|key| Checkpoint { key, id: None });
        Ok(Start { upper, after, leaves, ..Start::default() })
    }

    /// Reads a page in blocks, as of one moment: the rows after `page.after` and up to `page.upper` in the order of the walk,
    /// and then [`Item::End`]. A walk with a bound and no `upper` has no rows. Rows that the walk cannot tell apart are in one
    /// page. Of several rows of one key the newest comes; without versions a page fails if a key repeats and
    /// [`Walk::keys_once`] is set. Dropping the stream ends the reading.
    fn page(&self, work: WorkHandle, page: PageQuery) -> PageStream;

    /// The greatest key of the pipeline's incremental runs, as text; none where there is no row, or no key.
    async fn greatest_key(&self, home: &mut PgConnection, run: RunId) -> Result<Option<String>, BatchError>;

    /// About how many rows there are after `page.after`; none where the source cannot tell.
    async fn estimate(&self, _: &mut PgConnection, _: RunId, _: &PageQuery) -> Result<Option<i64>, BatchError> {
        Ok(None)
    }

    /// The share of a page's cost that comes before its first row: what a page costs however few rows it has.
    async fn fixed_share(&self, _: &mut PgConnection, _: RunId, _: &PageQuery) -> Result<Option<f64>, BatchError> {
        Ok(None)
    }

    /// Reads rows as they are now, for reports. `home` is the transaction that the scope was read in: the home database reads
    /// its rows in the same snapshot. By default it says that the source cannot.
    fn rows<'a>(&'a self, _home: &'a mut PgConnection, _query: RowsQuery) -> RowStream<'a> {
        let refusal = "the pipeline's source cannot return rows for a report: run the pipeline instead";
        stream::iter([Err(BatchError::fatal(refusal))]).boxed()
    }

    /// Counts rows, and finds the least and greatest values of a column. By default it reads all keys, and no values.
    async fn count(&self, home: &mut PgConnection, query: CountQuery<'_>) -> Result<SourceCount, BatchError> {
        let CountQuery { scope, newest_only, .. } = query;
        let query = RowsQuery { wanted: Wanted::All { newest_only }, scope: scope.clone(), bodies: false };
        let (mut rows, mut count) = (self.rows(home, query), SourceCount::default());
        while let Some(row) = rows.try_next().await? {
            *(if row.settled { &mut count.settled } else { &mut count.in_flight }) += 1;
        }
        Ok(count)
    }
}

/// Which page is read. Two that are equal are the same page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    pub after: Option<Position>,
    pub upper: Option<String>,
}

pub type PageStream = BoxStream<'static, Result<Vec<Item>, BatchError>>;

#[derive(Debug)]
pub enum Item {
    Row {
        /// The values of the target's key as text.
        key: Vec<Option<String>>,
        /// The row as a JSON object of the walk's [`RowForm`].
        doc: String,
        /// The bytes of a row that has more than [`Walk::max_row_bytes`]. Its `doc` has the key alone.
        too_long: Option<i64>,
    },
    End(PageEnd),
}

impl Item {
    /// About what it takes in memory.
    pub fn bytes(&self) -> usize {
        let doc = match self {
            Self::Row { doc, .. } => doc.len(),
            Self::End(_) => 0,
        };
        size_of::<Self>() + doc
    }
}

/// What is known of a page after its last row.
#[derive(Debug, Clone)]
pub struct PageEnd {
    pub rows_read: i64,
    /// The values of the walk's columns in the last of them; none without rows.
    pub last: Option<Position>,
    /// Whether there may be more; none if the page did not get further.
    pub more: Option<bool>,
}

/// The sources of a worker, in the order in which they are asked.
#[derive(Debug, Clone)]
pub struct Sources {
    others: Vec<Arc<dyn Source>>,
    home: Arc<dyn Source>,
}

impl Sources {
    pub fn new(others: Vec<Arc<dyn Source>>, home: Arc<dyn Source>) -> Self {
        Self { others, home }
    }

    /// The source of a pipeline: the first that reads it, or else the home database.
    pub fn of(&self, draft: &PipelineDraft) -> &Arc<dyn Source> {
        self.others.iter().find(|source| source.reads(draft)).unwrap_or(&self.home)
    }
}
