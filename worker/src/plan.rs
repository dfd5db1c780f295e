//! What a run reads and writes: planned once from the run's inputs, checked like a new pipeline.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;
use vitrina_shared::{
    domain::{ErrorClass, FullStrategy, Hooks, Mode, NullKeys, PipelineDraft, RunId, transform::Registry},
    store::{
        catalog::{self, Catalog},
        installation,
    },
    validation::{self, Described, FoundTarget, Reader},
};

use crate::{
    error::BatchError,
    sink::{Opening, RunOpening, Sink, Sinks},
    source::{Bound, KeyColumn, Reading, RowForm, Source, Walk, WalkColumn},
    step::{Arriving, Sequence, StepContext, StepRegistry},
};

#[derive(Debug)]
pub struct Plan {
    /// The pipeline's name, for metrics and logs.
    pub pipeline: String,
    /// What it was made from. It is of use only while that is the same.
    pub catalog: Arc<Catalog>,
    pub reading: Arc<dyn Reading>,
    pub route: Route,
    pub sink: Arc<dyn Sink>,
    /// Selects the keys of all rows that the query returns, where the home database can.
    pub keys: Option<String>,
    /// What is written, for messages.
    pub target: String,
    pub hooks: Hooks,
}

#[derive(Debug)]
pub enum Route {
    /// A page is one statement, and no row leaves the server.
    Pushdown {
        page: String,
        /// Where refused rows are put aside: how a page is written of which the server refused one.
        careful: Option<Stream>,
    },
    /// Rows pass through the worker.
    Stream(Stream),
}

#[derive(Debug)]
pub struct Stream {
    pub reading: Arc<dyn Reading>,
    pub steps: Sequence,
    pub key: Vec<String>,
    /// How many rows of the run may be put aside; none where the first one ends it.
    pub rejects_allowed: Option<u32>,
}

/// What was found out about a run's inputs, its source and its target.
#[derive(Debug)]
pub struct Reviewed {
    pub catalog: Arc<Catalog>,
    source: Arc<dyn Source>,
    reader: Arc<Reader>,
    target: FoundTarget,
    /// Which installation this is; looked up for targets outside of its database.
    installation: Uuid,
}

impl Reviewed {
    /// Checks the inputs against the source and the target as they are now.
    pub async fn find(
        connection: &mut PgConnection,
        source: &Arc<dyn Source>,
        inputs: &PipelineDraft,
        (transforms, sinks): (&Registry, &Sinks),
    ) -> Result<Self, BatchError> {
        let described = source.describe(inputs).await?;
        let mart = inputs.final_target().0.parse().ok().and_then(|target| sinks.relation(&target));
        let read = described.iter().flatten().flat_map(|reader| reader.relations.iter().cloned());
        // Before the target is looked at: a change after that must not be taken for reviewed. The columns of the source are named
        // with their types in every page.
        let catalog = Arc::new(catalog::read(connection, read.chain(mart.clone()).collect()).await?);
        let (reader, target) = check(connection, inputs, described, transforms).await?;
        let installation = match mart {
            Some(_) => Uuid::nil(),
            None => installation::id(connection).await?,
        };
        Ok(Self { catalog, source: source.clone(), reader, target, installation })
    }
}

/// Checks inputs like those of a new pipeline, with what their source said of the query.
pub async fn check(
    connection: &mut PgConnection,
    inputs: &PipelineDraft,
    described: Described,
    transforms: &Registry,
) -> Result<(Arc<Reader>, FoundTarget), BatchError> {
    let review = validation::judge(connection, inputs, described, transforms).await?;
    let Some(reader) = review.reader.filter(|_| review.problems.is_empty()) else {
        let list: Vec<_> = review.problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
        let class = if review.timed_out { ErrorClass::Transient } else { ErrorClass::Fatal };
        return Err(BatchError::Failed { class, message: list.join("; ") });
    };
    let Some(target) = review.target else {
        let (name, _) = inputs.final_target();
        return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist any more")));
    };
    Ok((Arc::new(reader), target))
}

impl Plan {
    pub fn walk(&self) -> &Walk {
        self.reading.walk()
    }

    /// Checks what the steps use outside, before the first batch.
    pub async fn check_steps(&self, context: &StepContext) -> Result<(), BatchError> {
        match &self.route {
            Route::Stream(stream) => Ok(stream.steps.check(context).await?),
            Route::Pushdown { .. } => Ok(()),
        }
    }

    /// The steps that its rows pass; none where they do not pass through the worker.
    pub fn steps(&self) -> Option<&Sequence> {
        match &self.route {
            Route::Stream(stream) => Some(&stream.steps).filter(|steps| !steps.is_empty()),
            Route::Pushdown { .. } => None,
        }
    }

    /// The statement of a page that is written without passing through the worker.
    pub fn page(&self) -> &str {
        match &self.route {
            Route::Pushdown { page, .. } => page,
            Route::Stream(_) => "",
        }
    }

    /// Plans a run, by the strategy that it was begun with if it was.
    pub fn for_run(
        (run, mode, begun): (RunId, Mode, Option<FullStrategy>),
        inputs: &PipelineDraft,
        reviewed: &Reviewed,
        sinks: &Sinks,
        max_row_bytes: u32,
        steps: &StepRegistry,
    ) -> Result<Self, BatchError> {
        let Reviewed { catalog, source, reader, target, installation } = reviewed;
        let key = &target.entry.key;
        // The query returns the keys of rows that a step drops, and no statement reads those of another source.
        let drops = steps.transforms().configured(&inputs.tasks).iter().any(|(_, step)| step.declared().drops_rows());
        let can_sweep = source.is_home() && !drops;
        let run = Some(RunOpening { id: run, begun, can_sweep });
        let sink = sinks.open(&Opening { target, reader, inputs, installation: *installation, mode, run })?;
        let arrays_as_text = sink.row_form() == RowForm::ReadBack;
        let steps = steps.sequence(&inputs.tasks, key, Arriving { stages: &reader.stages, arrays_as_text })?;
        if mode == Mode::Full && !source.is_home() && sink.sweeps() {
            return Err(must_gather(&**source));
        }
        let reading = source.open(walk(mode, inputs, (reader, key), &*sink, max_row_bytes));
        let stream = || Stream {
            reading: reading.clone(),
            steps: steps.clone(),
            key: key.clone(),
            rejects_allowed: inputs.options.rejects_allowed(),
        };
        let pages = reading.home_sql().filter(|_| inputs.tasks.len() <= 1);
        let route = match pages.and_then(|pages| sink.pushdown(pages)) {
            Some(page) => Route::Pushdown { page, careful: inputs.options.rejects_allowed().map(|_| stream()) },
            None => Route::Stream(stream()),
        };
        Ok(Self {
            pipeline: inputs.name.clone(),
            catalog: catalog.clone(),
            keys: reading.home_sql().map(|pages| pages.keys()),
            route,
            target: inputs.final_target().0.to_owned(),
            hooks: inputs.options.hooks.clone(),
            sink: sink.clone(),
            reading,
        })
    }
}

fn must_gather(source: &dyn Source) -> BatchError {
    BatchError::fatal(format!(
        "a full run that reads from `{}` gathers its rows and swaps them: write the plain query without placeholders, and leave \
         out full_strategy `merge` and on_row_error `dead_letter`",
        source.kind()
    ))
}

/// How a run walks over its source. A full run of an incremental pipeline walks by the target's key like any full run, unless its
/// query pages by itself: then it walks as ever, from the beginning.
pub fn walk(
    mode: Mode,
    inputs: &PipelineDraft,
    (reader, key): (&Arc<Reader>, &[String]),
    sink: &dyn Sink,
    max_row_bytes: u32,
) -> Walk {
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
    let key_column = |name: &String| KeyColumn { name: name.clone(), cast: sink.key_cast(name) };
    Walk {
        reader: reader.clone(),
        columns,
        bound,
        keys_once: versions.is_empty() && sink.refuses_repeated_keys(),
        versions,
        settles_by,
        starts_over: mode == Mode::Full && inputs.mode == Mode::Incremental,
        null_keys_first: inputs.options.null_keys == Some(NullKeys::First) && !reader.pages_itself(),
        ties_again: bound == Bound::Writers && inputs.options.key_order.is_some(),
        lookback_seconds: inputs.options.lookback_seconds.unwrap_or(0),
        page_size: i64::from(inputs.batch_size),
        key: key.iter().map(key_column).collect(),
        form: sink.row_form(),
        max_row_bytes,
    }
}
