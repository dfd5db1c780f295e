//! What a run reads and writes: made once from the run's inputs, checked like a new pipeline.

use std::sync::Arc;

use chrono::TimeDelta;
use sqlx::PgConnection;
use tokio::sync::{Mutex, OnceCell};
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        ColumnType, ErrorClass, FullStrategy, Mode, PipelineDraft, RunId,
        clock_key::{self, ClockKey},
        transform,
    },
    guard::{Describing, SourceSchemas},
    store::{horizon::Writers, installation, runs::WalkedColumn},
    validation::{self, FoundTarget, Place, Reader},
};

use super::{pushdown::Page, stream::Stream};
use crate::{
    error::BatchError,
    sink::{Opening, RunOpening, Sink, Sinks},
};

/// How late rows are kept from being skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The key is a `timestamptz`: read up to the start of the oldest open transaction.
    Clock,
    /// The key is a `date`: likewise, and the days that are not over everywhere again.
    Day,
    /// Any other key: read up to the greatest key, after those who were writing then have ended.
    Writers,
    /// A full run reads everything.
    None,
}

impl Bound {
    /// Whether keys come from the database's clock.
    pub fn is_by_clock(self) -> bool {
        matches!(self, Self::Clock | Self::Day)
    }
}

/// Keys that are settled once these transactions have ended.
#[derive(Debug)]
pub struct Settling {
    /// The greatest key.
    pub greatest: Option<String>,
    /// Who was writing when it was read.
    pub writers: Mutex<Writers>,
}

/// A column that a run walks by.
#[derive(Debug, Clone)]
pub struct WalkColumn {
    /// Its name in the query.
    pub name: String,
    /// Its type as a cast writes it, of any length.
    pub type_name: String,
    /// Whether it may be NULL, where that is known.
    pub nullable: Option<bool>,
    /// What its keys depend on: where this changes, keys that were read say nothing any more.
    pub walked: WalkedColumn,
}

impl WalkColumn {
    /// What may be cut off of some of its keys and not of others. Of columns of tables alone it is known whether they may be
    /// NULL.
    pub fn hidden_cut(&self) -> TimeDelta {
        clock_key::hidden_cut(self.nullable.is_some())
    }
}

/// What the keys of these columns depend on.
fn walked(walk: &[WalkColumn]) -> Vec<WalkedColumn> {
    walk.iter().map(|column| column.walked.clone()).collect()
}

/// What a run reads and writes.
#[derive(Debug)]
pub struct Plan {
    /// The pipeline's name, for metrics and logs.
    pub pipeline: String,
    /// The columns it walks by.
    pub walk: Vec<WalkColumn>,
    /// How late rows are kept from being skipped.
    pub bound: Bound,
    /// Tables and views that the query reads, as SQL writes them.
    pub relations: Vec<String>,
    /// Whether NULL keys are read before all others.
    pub nulls_first: bool,
    /// Whether rows with the checkpoint's own key are read again: of keys that the user answers for, equal ones may come.
    pub ties_again: bool,
    /// Seconds to read again before the checkpoint.
    pub lookback_seconds: u32,
    /// How its rows get to the target.
    pub route: Route,
    /// Rows in a page.
    pub page_size: i64,
    /// Where its rows go.
    pub sink: Arc<dyn Sink>,
    /// Selects the keys of all rows that the query returns.
    pub keys: String,
    /// The type of the key that incremental runs walk by, where it comes from a clock.
    pub key_type: ClockKey,
    /// What the query may cut off of some keys and not of others.
    pub hidden_cut: TimeDelta,
    /// How a full run of an incremental pipeline finds the checkpoint that it leaves.
    pub leaves: Option<Leaves>,
    /// What is written, for messages.
    pub target: String,
    /// The statement that finds the greatest key, for [`Bound::Writers`].
    pub greatest_key: Option<String>,
    /// What [`Bound::Writers`] waits for, once it was looked up: a run that waits anew for whoever writes would never begin.
    pub settling: OnceCell<Settling>,
    /// The statement that looks for rows no page would reach, where there may be any.
    pub unreachable: Option<String>,
    /// The query alone, for the planner's estimate.
    pub estimate: String,
    /// The select of a page, for the planner's estimate.
    pub page_query: String,
}

/// How a full run of an incremental pipeline finds the checkpoint that it leaves: the incremental runs that follow must read
/// whatever was not settled when it began.
#[derive(Debug)]
pub struct Leaves {
    /// How the incremental runs of the pipeline keep late rows from being skipped.
    pub bound: Bound,
    /// The columns that they walk by.
    pub walks_by: Vec<WalkedColumn>,
    /// Reads the last row below the bound, before the first page; none where the run walks as they do, and leaves what it has
    /// walked to.
    pub last_settled: Option<String>,
}

/// How rows get to the target.
#[derive(Debug)]
pub enum Route {
    /// A page is one statement, and no row leaves the server.
    Pushdown {
        /// The statement.
        page: String,
        /// Where refused rows are put aside: how a page is written of which the server refused one.
        careful: Option<Stream>,
    },
    /// Rows pass through the worker.
    Stream(Stream),
}

/// What was found out about a run's inputs, its source and its target.
#[derive(Debug)]
pub struct Reviewed {
    reader: Reader,
    target: FoundTarget,
    /// Which installation this is; looked up for targets outside of its database.
    installation: Uuid,
}

impl Reviewed {
    /// Checks the inputs against the source and the target as they are now.
    pub async fn look(
        connection: &mut PgConnection,
        describing: &Describing,
        inputs: &PipelineDraft,
        schemas: &SourceSchemas,
    ) -> Result<Self, BatchError> {
        let review = validation::review_over(connection, describing, inputs, schemas).await?;
        let Some(reader) = review.reader.filter(|_| review.problems.is_empty()) else {
            let list: Vec<_> = review.problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
            let class = if review.timed_out { ErrorClass::Transient } else { ErrorClass::Fatal };
            return Err(BatchError::Failed { class, message: list.join("; ") });
        };
        let Some(target) = review.target else {
            let (name, _) = inputs.final_target();
            return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist any more")));
        };
        let installation = match target.place {
            Place::Mart(..) => Uuid::nil(),
            Place::External(..) => installation::id(connection).await?,
        };
        Ok(Self { reader, target, installation })
    }
}

impl Plan {
    /// The statement of a page that is written without passing through the worker.
    pub fn page(&self) -> &str {
        match &self.route {
            Route::Pushdown { page, .. } => page,
            Route::Stream(_) => "",
        }
    }

    /// What the keys of the columns depend on that it walks by.
    pub fn walks_by(&self) -> Vec<WalkedColumn> {
        walked(&self.walk)
    }

    /// How late rows are kept from being skipped, by this run or by those that follow a full one.
    pub fn settles_by(&self) -> Bound {
        self.leaves.as_ref().map_or(self.bound, |leaves| leaves.bound)
    }

    /// Makes the plan of a run, for one that was begun by the strategy that it has. A full run of an incremental pipeline walks by the target's key like any full run, unless its
    /// query pages by itself: then it walks as ever, from the beginning.
    pub fn make(
        (run, mode, begun): (RunId, Mode, Option<FullStrategy>),
        inputs: &PipelineDraft,
        reviewed: &Reviewed,
        sinks: &Sinks,
        max_row_bytes: u32,
    ) -> Result<Self, BatchError> {
        let Reviewed { reader, target, installation } = reviewed;
        let key = &target.entry.key;
        let pages_itself = !reader.query.placeholders().is_empty();
        let columns_of =
            |names: &[String]| -> Vec<WalkColumn> { names.iter().filter_map(|name| find(name, reader)).collect() };
        let versions: Vec<WalkColumn> = match inputs.mode {
            Mode::Incremental => {
                let names: Vec<_> = inputs.incremental_key.iter().chain(&inputs.incremental_id_key).cloned().collect();
                columns_of(&names)
            }
            Mode::Full => Vec::new(),
        };
        let settles_by = bound(inputs.mode, &versions);
        let walks_by_key = mode == Mode::Full && !pages_itself;
        let (walk, bound) = if walks_by_key { (columns_of(key), Bound::None) } else { (versions.clone(), settles_by) };
        let page = Page { inputs, reader, key, sink: None, walk: &walk, versions: &versions, bound };
        let run = Some(RunOpening { id: run, begun });
        let sink = sinks.open(&Opening { target, reader, inputs, installation: *installation, mode, run })?;
        let page = Page { sink: sink.mart(), ..page };
        let incremental = Page { walk: &versions, bound: settles_by, ..page };
        let leaves = (mode == Mode::Full && inputs.mode == Mode::Incremental).then(|| Leaves {
            bound: settles_by,
            walks_by: walked(&versions),
            last_settled: walks_by_key.then(|| incremental.last_settled()),
        });
        Ok(Self {
            pipeline: inputs.name.clone(),
            relations: reader.relations.iter().cloned().collect(),
            nulls_first: page.nulls_first(),
            ties_again: bound == Bound::Writers && inputs.options.key_order.is_some(),
            lookback_seconds: inputs.options.lookback_seconds.unwrap_or(0),
            key_type: clock(&versions).unwrap_or(ClockKey::Timestamp),
            hidden_cut: versions.first().map_or(TimeDelta::zero(), WalkColumn::hidden_cut),
            leaves,
            target: inputs.final_target().0.to_owned(),
            route: route(inputs, &page, &*sink, max_row_bytes),
            page_size: i64::from(inputs.batch_size),
            greatest_key: (settles_by == Bound::Writers).then(|| incremental.greatest_key()),
            settling: OnceCell::new(),
            unreachable: page.unreachable(),
            estimate: page.estimate(),
            page_query: page.rows(),
            keys: page.keys(),
            sink: sink.clone(),
            walk,
            bound,
        })
    }
}

fn route(inputs: &PipelineDraft, page: &Page<'_>, sink: &dyn Sink, max_row_bytes: u32) -> Route {
    let rejects_allowed = inputs.options.rejects_allowed();
    let stream = || Stream {
        read: page.read(max_row_bytes, sink.row_form()),
        max_row_bytes,
        transforms: transform::configured(&inputs.tasks).into(),
        key: page.key.to_vec(),
        rejects_allowed,
    };
    match page.sink.filter(|_| inputs.tasks.len() <= 1) {
        Some(mart) => Route::Pushdown { page: page.statement(mart), careful: rejects_allowed.is_some().then(stream) },
        None => Route::Stream(stream()),
    }
}

fn find(name: &str, reader: &Reader) -> Option<WalkColumn> {
    let place = reader.columns.iter().position(|column| column.name == name)?;
    let column = &reader.columns[place];
    let (exact, collation) = (column.plain_type(), &column.collation);
    let (relation, number) = reader.origins.get(place).copied().unwrap_or_default();
    let exact = collation.as_ref().map_or_else(|| exact.to_owned(), |collation| format!("{exact} collate {collation}"));
    let walked = WalkedColumn { type_name: exact, relation, number };
    Some(WalkColumn { name: name.to_owned(), type_name: column.cast_type(), nullable: column.nullable, walked })
}

fn bound(mode: Mode, walk: &[WalkColumn]) -> Bound {
    match (mode, clock(walk)) {
        (Mode::Full, _) => Bound::None,
        (Mode::Incremental, Some(ClockKey::Timestamp)) => Bound::Clock,
        (Mode::Incremental, Some(ClockKey::Date)) => Bound::Day,
        (Mode::Incremental, None) => Bound::Writers,
    }
}

/// The clock that the keys of a walk come from.
fn clock(walk: &[WalkColumn]) -> Option<ClockKey> {
    ColumnType::of(&walk.first()?.type_name).clock()
}
