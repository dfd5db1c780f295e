//! What a run reads and writes: made once from the run's inputs, checked like a new pipeline.

use std::sync::Arc;

use chrono::TimeDelta;
use sqlx::PgConnection;
use tokio::sync::{Mutex, OnceCell};
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        ColumnType, ErrorClass, FullStrategy, IndexOptions, MaxRemoved, Mode, PipelineDraft, RunId,
        clock_key::{self, ClockKey},
        transform,
    },
    guard::{Describing, SourceSchemas},
    store::{
        horizon::Writers,
        installation,
        runs::WalkedColumn,
        tables::{TargetColumn, UniqueIndex},
    },
    validation::{self, FoundTarget, Place, Reader},
};

use super::{
    pushdown::{Completion, Page},
    stream::{Sink, Stream},
    streaming::RowForm,
};
use crate::{
    elasticsearch::{Client, Index, SinkError},
    error::BatchError,
    sink::elasticsearch::IndexSink,
};

/// How tables begin in which runs gather their rows.
pub const SWAP_PREFIX: &str = "swap_";

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
    /// Whether its pages end at the bound of their range by themselves.
    pub ends_at_bound: bool,
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
    /// What a full run does after its last page.
    pub completion: Option<Completion>,
    /// The type of the key that incremental runs walk by, where it comes from a clock.
    pub key_type: ClockKey,
    /// What the query may cut off of some keys and not of others.
    pub hidden_cut: TimeDelta,
    /// How a full run of an incremental pipeline finds the checkpoint that it leaves.
    pub leaves: Option<Leaves>,
    /// What is written, for messages.
    pub target: String,
    /// How many rows of it the run may remove.
    pub max_removed: Option<MaxRemoved>,
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
    key: Vec<String>,
    destination: Destination,
}

/// Where rows go, as it was found.
#[derive(Debug)]
enum Destination {
    /// A table of `analytics` with its columns.
    Mart { table: String, columns: Vec<TargetColumn>, unique: Vec<UniqueIndex>, can_rewrite: bool },
    /// An index; what is there is asked of Elasticsearch when a run begins.
    Index { name: String, options: IndexOptions, installation: Uuid },
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
        let Some(FoundTarget { entry, place }) = review.target else {
            let (name, _) = inputs.final_target();
            return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist any more")));
        };
        let destination = match place {
            Place::Mart(name, table) => {
                let written = reader.arriving_names();
                let (unique, can_rewrite) = (table.other_unique(&written), table.can_rewrite_rows(&written));
                Destination::Mart { table: name, columns: table.columns, unique, can_rewrite }
            }
            Place::Index(name) => {
                let options = IndexOptions::parse(&entry.options).map_err(|problems| {
                    let list: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
                    BatchError::fatal(format!("target `es:{name}`: {}", list.join("; ")))
                })?;
                let installation = installation::id(connection).await?;
                Destination::Index { name, options, installation }
            }
        };
        Ok(Self { reader, key: entry.key, destination })
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

    /// The index that it writes, if it is one.
    pub fn index(&self) -> Option<&IndexSink> {
        match &self.route {
            Route::Stream(Stream { sink: Sink::Index(sink), .. }) => Some(sink),
            Route::Stream(Stream { sink: Sink::Postgres(_), .. }) | Route::Pushdown { .. } => None,
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
        elasticsearch: &Result<Client, SinkError>,
        max_row_bytes: u32,
    ) -> Result<Self, BatchError> {
        let Reviewed { reader, key, destination } = reviewed;
        let (table, columns, unique, can_rewrite): (&str, &[TargetColumn], &[UniqueIndex], bool) = match destination {
            Destination::Mart { table, columns, unique, can_rewrite } => (table, columns, unique, *can_rewrite),
            Destination::Index { .. } => ("", &[], &[], false),
        };
        let pages_itself = !reader.query.placeholders().is_empty();
        let index = match destination {
            Destination::Mart { .. } => None,
            Destination::Index { name, options, installation } => {
                let index = Index::new(elasticsearch.clone()?, name, options.clone(), *installation);
                Some(IndexSink::new(index, run, mode, reader.arriving.clone()).repeating_keys(pages_itself))
            }
        };
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
        let strategy = begun.unwrap_or_else(|| strategy(inputs, unique));
        let swaps = walks_by_key && index.is_none() && strategy == FullStrategy::Swap;
        let gathered_in = swaps.then(|| swap_table(run));
        let gathered_in = gathered_in.as_deref();
        let page = Page {
            inputs,
            reader,
            table,
            key,
            columns,
            unique,
            can_rewrite,
            walk: &walk,
            versions: &versions,
            bound,
            gathered_in,
        };
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
            completion: (mode == Mode::Full && index.is_none()).then(|| page.completion()),
            key_type: clock(&versions).unwrap_or(ClockKey::Timestamp),
            hidden_cut: versions.first().map_or(TimeDelta::zero(), WalkColumn::hidden_cut),
            leaves,
            target: inputs.final_target().0.to_owned(),
            max_removed: inputs.options.max_removed,
            route: route(inputs, &page, index, max_row_bytes),
            page_size: i64::from(inputs.batch_size),
            greatest_key: (settles_by == Bound::Writers).then(|| incremental.greatest_key()),
            settling: OnceCell::new(),
            unreachable: page.unreachable(),
            estimate: page.estimate(),
            page_query: page.rows(),
            walk,
            ends_at_bound: bound != Bound::None && !pages_itself,
            bound,
        })
    }
}

fn route(inputs: &PipelineDraft, page: &Page<'_>, index: Option<IndexSink>, max_row_bytes: u32) -> Route {
    let rejects_allowed = inputs.options.rejects_allowed();
    let stream = |sink, form| Stream {
        read: page.read(max_row_bytes, form),
        max_row_bytes,
        transforms: transform::configured(&inputs.tasks).into(),
        key: page.key.to_vec(),
        rejects_allowed,
        sink,
    };
    if let Some(index) = index {
        return Route::Stream(stream(Sink::Index(Arc::new(index)), RowForm::Document));
    }
    let stream = || stream(Sink::Postgres(page.merge()), RowForm::ReadBack);
    if inputs.tasks.len() > 1 {
        return Route::Stream(stream());
    }
    Route::Pushdown { page: page.statement(), careful: rejects_allowed.is_some().then(stream) }
}

/// The table in which a run gathers its rows.
pub fn swap_table(run: RunId) -> String {
    format!("{SWAP_PREFIX}{}", run.0.simple())
}

/// How a full run begins. Where something besides the key is unique it gathers its rows and replaces the target's at once: a
/// page that gives such a value to another row would be refused while the old row is still there.
fn strategy(inputs: &PipelineDraft, unique: &[UniqueIndex]) -> FullStrategy {
    let swaps = !unique.is_empty() && inputs.options.rejects_allowed().is_none();
    inputs.options.full_strategy.unwrap_or(if swaps { FullStrategy::Swap } else { FullStrategy::Merge })
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
