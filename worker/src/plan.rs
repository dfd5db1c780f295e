//! What a run reads and writes: planned once from the run's inputs, checked like a new pipeline.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        ErrorClass, FullStrategy, IndexOptions, MaxRemoved, Mode, NullKeys, PipelineDraft, RunId, transform::Registry,
    },
    sql::quote,
    store::{
        catalog::{self, Catalog},
        installation,
        tables::{TargetColumn, UniqueIndex},
    },
    validation::{self, FoundTarget, Place, Reader},
};

use crate::{
    elasticsearch::{Client, Index, SinkError},
    error::BatchError,
    pushdown::{Completion, Merge, Page, as_stored},
    sink::elasticsearch::IndexSink,
    source::{Bound, KeyColumn, Reading, RowForm, Source, Walk, WalkColumn, home::PageSql},
    step::{Sequence, StepRegistry},
};

/// How tables begin in which runs gather their rows.
pub const SWAP_PREFIX: &str = "swap_";

/// What a run reads and writes.
#[derive(Debug)]
pub struct Plan {
    /// The pipeline's name, for metrics and logs.
    pub pipeline: String,
    /// What it was made from. It is of use only while that is the same.
    pub catalog: Arc<Catalog>,
    /// How it reads its source.
    pub reading: Arc<dyn Reading>,
    /// How its rows get to the target.
    pub route: Route,
    /// What a full run does after its last page.
    pub completion: Option<Completion>,
    /// What is written, for messages.
    pub target: String,
    /// How many rows of it the run may remove.
    pub max_removed: Option<MaxRemoved>,
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

/// How a run's rows are streamed.
#[derive(Debug)]
pub struct Stream {
    /// What reads a page.
    pub reading: Arc<dyn Reading>,
    /// What changes its rows.
    pub steps: Sequence,
    /// The key columns of the target.
    pub key: Vec<String>,
    /// How many rows of the run may be put aside; none where the first one ends it.
    pub rejects_allowed: Option<u32>,
    /// Where the rows go.
    pub sink: Sink,
}

/// Where streamed rows go.
#[derive(Debug)]
pub enum Sink {
    /// A mart.
    Postgres(Merge),
    /// An index.
    Index(Arc<IndexSink>),
}

/// What was found out about a run's inputs, its source and its target.
#[derive(Debug)]
pub struct Reviewed {
    /// The catalog of source and target as they were.
    pub catalog: Arc<Catalog>,
    source: Arc<dyn Source>,
    reader: Arc<Reader>,
    key: Vec<String>,
    destination: Destination,
}

/// Where rows go, as it was found.
#[derive(Debug)]
enum Destination {
    /// A table of `analytics`.
    Mart(Mart),
    /// An index; what is there is asked of Elasticsearch when a run begins.
    Index { name: String, options: IndexOptions, installation: Uuid },
}

/// A table of `analytics`, as it was found.
#[derive(Debug)]
struct Mart {
    table: String,
    columns: Vec<TargetColumn>,
    unique: Vec<UniqueIndex>,
    can_rewrite: bool,
}

impl Mart {
    fn page<'a>(&'a self, reviewed: &'a Reviewed, walk: &'a Walk, gathered_in: Option<&'a str>) -> Page<'a> {
        Page {
            source: PageSql::of(walk),
            reader: &reviewed.reader,
            table: &self.table,
            key: &reviewed.key,
            columns: &self.columns,
            unique: &self.unique,
            can_rewrite: self.can_rewrite,
            versions: &walk.versions,
            gathered_in,
        }
    }
}

impl Reviewed {
    /// Checks the inputs against the source and the target as they are now.
    pub async fn find(
        connection: &mut PgConnection,
        source: &Arc<dyn Source>,
        inputs: &PipelineDraft,
        transforms: &Registry,
    ) -> Result<Self, BatchError> {
        let described = source.describe(inputs).await?;
        let review = validation::judge(connection, inputs, described, transforms).await?;
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
                Destination::Mart(Mart { table: name, columns: table.columns, unique, can_rewrite })
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
        let mart = match &destination {
            Destination::Mart(mart) => Some(format!("analytics.{}", quote(&mart.table))),
            Destination::Index { .. } => None,
        };
        let relations = reader.relations.iter().cloned().chain(mart).collect();
        let catalog = Arc::new(catalog::read(connection, relations).await?);
        Ok(Self { catalog, source: source.clone(), reader: Arc::new(reader), key: entry.key, destination })
    }
}

impl Plan {
    /// How it walks over its source.
    pub fn walk(&self) -> &Walk {
        self.reading.walk()
    }

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

    /// Plans a run, by the strategy that it was begun with if it was.
    pub fn for_run(
        (run, mode, begun): (RunId, Mode, Option<FullStrategy>),
        inputs: &PipelineDraft,
        reviewed: &Reviewed,
        elasticsearch: &Result<Client, SinkError>,
        max_row_bytes: u32,
        steps: &StepRegistry,
    ) -> Result<Self, BatchError> {
        let Reviewed { catalog, source, reader, key, destination } = reviewed;
        let steps = steps.sequence(&inputs.tasks, key)?;
        let mut walk = walk(mode, inputs, reviewed, max_row_bytes);
        let (reading, route, completion) = match destination {
            Destination::Index { name, options, installation } => {
                let index = Index::new(elasticsearch.clone()?, name, options.clone(), *installation);
                let sink = IndexSink::new(index, run, mode, reader.arriving.clone());
                let sink = Sink::Index(Arc::new(sink.repeating_keys(reader.pages_itself())));
                let reading = source.open(walk);
                let stream = stream(inputs, reviewed, steps, reading.clone(), sink);
                (reading, Route::Stream(stream), None)
            }
            Destination::Mart(mart) => {
                let gathers = mode == Mode::Full && gathers(begun, inputs, reviewed, &mart.unique, &steps)?;
                walk.keys_once = !gathers && walk.versions.is_empty() && can_change(reviewed, &mart.columns);
                let gathered_in = gathers.then(|| swap_table(run));
                let reading = source.open(walk);
                let page = mart.page(reviewed, reading.walk(), gathered_in.as_deref());
                let stream = || stream(inputs, reviewed, steps.clone(), reading.clone(), Sink::Postgres(page.merge()));
                let route = if inputs.tasks.len() > 1 || !source.is_home() {
                    Route::Stream(stream())
                } else {
                    let careful = inputs.options.rejects_allowed().map(|_| stream());
                    Route::Pushdown { page: page.statement(), careful }
                };
                (reading.clone(), route, (mode == Mode::Full).then(|| page.completion()))
            }
        };
        Ok(Self {
            pipeline: inputs.name.clone(),
            catalog: catalog.clone(),
            reading,
            route,
            completion,
            target: inputs.final_target().0.to_owned(),
            max_removed: inputs.options.max_removed,
        })
    }
}

fn stream(
    inputs: &PipelineDraft,
    reviewed: &Reviewed,
    steps: Sequence,
    reading: Arc<dyn Reading>,
    sink: Sink,
) -> Stream {
    Stream { reading, steps, key: reviewed.key.clone(), rejects_allowed: inputs.options.rejects_allowed(), sink }
}

/// How a run walks over its source. A full run of an incremental pipeline walks by the target's key like any full run, unless its
/// query pages by itself: then it walks as ever, from the beginning.
fn walk(mode: Mode, inputs: &PipelineDraft, reviewed: &Reviewed, max_row_bytes: u32) -> Walk {
    let Reviewed { reader, key, destination, .. } = reviewed;
    let find = |name: &String| WalkColumn::find(name, reader);
    let versions: Vec<_> = match inputs.mode {
        Mode::Incremental => inputs.incremental_key.iter().chain(&inputs.incremental_id_key).filter_map(find).collect(),
        Mode::Full => Vec::new(),
    };
    let settles_by = Bound::of(inputs.mode, &versions);
    let by_key = mode == Mode::Full && !reader.pages_itself();
    let (columns, bound) = match by_key {
        true => (key.iter().filter_map(find).collect(), Bound::None),
        false => (versions.clone(), settles_by),
    };
    let (form, own): (_, &[TargetColumn]) = match destination {
        Destination::Mart(mart) => (RowForm::ReadBack, &mart.columns),
        Destination::Index { .. } => (RowForm::Document, &[]),
    };
    Walk {
        reader: reader.clone(),
        columns,
        bound,
        versions,
        settles_by,
        starts_over: mode == Mode::Full && inputs.mode == Mode::Incremental,
        null_keys_first: inputs.options.null_keys == Some(NullKeys::First) && !reader.pages_itself(),
        ties_again: bound == Bound::Writers && inputs.options.key_order.is_some(),
        lookback_seconds: inputs.options.lookback_seconds.unwrap_or(0),
        page_size: i64::from(inputs.batch_size),
        key: key.iter().map(|name| key_column(name, reader, own)).collect(),
        keys_once: false,
        form,
        max_row_bytes,
    }
}

fn key_column(name: &str, reader: &Reader, own: &[TargetColumn]) -> KeyColumn {
    let read = reader.columns.iter().find(|column| column.name == name);
    let pair = read.zip(own.iter().find(|own| own.name == name));
    KeyColumn { name: name.to_owned(), cast: pair.map(|(read, own)| as_stored("", read, own)).unwrap_or_default() }
}

/// Whether a row of the target may be written over: it has a column besides the key, or one whose equal values differ.
fn can_change(reviewed: &Reviewed, columns: &[TargetColumn]) -> bool {
    let arrives = |own: &&TargetColumn| reviewed.reader.arriving.iter().any(|column| column.name == own.name);
    columns.iter().filter(arrives).any(|own| own.can_change(&reviewed.key))
}

/// The table in which a run gathers its rows.
fn swap_table(run: RunId) -> String {
    format!("{SWAP_PREFIX}{}", run.0.simple())
}

/// Whether a full run gathers its rows and replaces the target's at once, or merges page by page. Where something besides the key
/// is unique it gathers: a page that gives such a value to another row would be refused while the old row is still there.
/// Likewise where a step drops rows: the query returns their keys, so a sweep would leave them in the target. And where the
/// source is not home: no statement can compare the target's keys with those of the source.
fn gathers(
    begun: Option<FullStrategy>,
    inputs: &PipelineDraft,
    Reviewed { reader, source, .. }: &Reviewed,
    unique: &[UniqueIndex],
    steps: &Sequence,
) -> Result<bool, BatchError> {
    let puts_aside = inputs.options.rejects_allowed().is_some();
    let swaps = (!unique.is_empty() || steps.dropping().is_some() || !source.is_home()) && !puts_aside;
    let by_default = if swaps { FullStrategy::Swap } else { FullStrategy::Merge };
    let strategy = begun.or(inputs.options.full_strategy).unwrap_or(by_default);
    let gathers = strategy == FullStrategy::Swap && !reader.pages_itself();
    if gathers || source.is_home() {
        return Ok(gathers);
    }
    Err(BatchError::fatal(format!(
        "a full run that reads from `{}` gathers its rows and swaps them: write the plain query without placeholders, and leave \
         out full_strategy `merge` and on_row_error `dead_letter`",
        source.kind()
    )))
}
