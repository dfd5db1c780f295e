//! What a report is about: a pipeline as it is configured now, checked like a new one.

use sqlx::{Connection, PgConnection};
use uuid::Uuid;
use vitrina_shared::{
    domain::{IndexOptions, Mode, Pipeline, PipelineDraft, Report, SourceColumn, TargetName},
    guard::ParameterTypes,
    reports::HeldReport,
    sql::quote,
    store::{
        installation, pipelines,
        tables::{self, TargetColumn, UniqueIndex},
    },
    validation::{self, FoundTarget, Place, Reader},
};

use crate::{
    elasticsearch::{DIGEST, Index, MAX_ID_BYTES},
    environment::Environment,
    error::BatchError,
    session::LONGEST_STATEMENT,
    source::home,
    step::{Fate, Sequence, StepContext},
};

/// A pipeline with its reader and its target.
#[derive(Debug)]
pub struct Subject {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// Its query and what that returns.
    pub reader: Reader,
    /// Where it writes.
    pub target: TargetName,
    /// The columns of the target's key.
    pub key: Vec<String>,
    /// The columns of the target's table; none where the target is an index.
    pub columns: Vec<TargetColumn>,
    /// What else is unique in that table besides its key.
    pub unique: Vec<UniqueIndex>,
    /// Whether a row of that table can be removed and written anew without a loss.
    pub can_rewrite: bool,
    /// What changes rows on their way.
    pub steps: Sequence,
    /// What the steps reach the world through.
    context: StepContext,
    /// What was decided about the target.
    options: serde_json::Value,
    /// Which installation this is.
    installation: Uuid,
}

impl Subject {
    /// Looks at the pipeline, its source and its target as they are now.
    pub async fn look(env: &Environment, job: &HeldReport, report: &Report) -> Result<Self, BatchError> {
        let pipeline = pipelines::find(&mut *env.reports.acquire().await?, &report.pipeline_id.into()).await?;
        let pipeline = pipeline.ok_or_else(|| BatchError::RunEnded("the pipeline is gone".to_owned()))?;
        let draft = &pipeline.draft;
        let source = env.sources.of(draft);
        if !source.is_home() {
            let (name, kind) = (&draft.name, source.kind());
            return Err(BatchError::fatal(format!(
                "pipeline `{name}` reads from `{kind}`: reports read the home database"
            )));
        }
        // The description may take seconds: meanwhile others need the connection.
        let described = source.describe(draft).await?;
        let review =
            validation::judge(&mut *env.reports.acquire().await?, draft, described, env.steps.transforms()).await?;
        let Some(reader) = review.reader.filter(|_| review.problems.is_empty()) else {
            let list: Vec<_> = review.problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
            return Err(BatchError::fatal(list.join("; ")));
        };
        let Some(FoundTarget { entry, place }) = review.target else {
            let (name, _) = draft.final_target();
            return Err(BatchError::fatal(format!("target `{name}` is not in the whitelist")));
        };
        let mut connection = env.reports.acquire().await?;
        let (target, columns, unique, can_rewrite) = match place {
            Place::Mart(name, table) => {
                let written = reader.arriving_names();
                let (unique, can_rewrite) = (table.other_unique(&written), table.can_rewrite_rows(&written));
                let columns = columns(&mut connection, &name, &entry.key).await?;
                (TargetName::Mart(name), columns, unique, can_rewrite)
            }
            Place::Index(name) => (TargetName::Index(name), Vec::new(), Vec::new(), false),
        };
        let installation = installation::id(&mut connection).await?;
        drop(connection);
        let (key, options) = (entry.key, entry.options);
        let steps = env.steps.sequence(&draft.tasks, &key)?;
        let context = env.step_context(report.pipeline_id, report.id.0, &job.job.correlation_id);
        Ok(Self { pipeline, reader, target, key, columns, unique, can_rewrite, steps, context, options, installation })
    }

    /// What the client decided.
    pub fn draft(&self) -> &PipelineDraft {
        &self.pipeline.draft
    }

    /// The columns that runs walk by.
    pub fn walk(&self) -> Vec<&SourceColumn> {
        let draft = self.draft();
        let names: Vec<&String> = match draft.mode {
            Mode::Incremental => draft.incremental_key.iter().chain(&draft.incremental_id_key).collect(),
            Mode::Full => self.key.iter().collect(),
        };
        names.into_iter().filter_map(|name| self.reader.columns.iter().find(|column| &column.name == name)).collect()
    }

    /// Whether a transform changes rows on their way. Only what none of them touches can be compared on the server.
    pub fn has_transforms(&self) -> bool {
        self.draft().tasks.len() > 1
    }

    /// Whether a column arrives at the target as the query returns it.
    pub fn is_untouched(&self, column: &str) -> bool {
        !self.steps.touches(column)
    }

    /// Refuses a report that executes steps where one of them is not pure. `what` begins the sentence.
    pub fn refuse_impure(&self, what: &str) -> Result<(), BatchError> {
        let refusal = |step| {
            format!("{what} executes the plan's steps once more, and `{step}` is not pure: run the pipeline instead")
        };
        self.steps.impure().map_or(Ok(()), |step| Err(BatchError::fatal(refusal(step))))
    }

    /// What becomes of rows, each a JSON object as the query returns it.
    pub async fn take_through_steps(&self, docs: Vec<String>) -> Result<Vec<Fate>, BatchError> {
        let deadline = tokio::time::Instant::now() + LONGEST_STATEMENT;
        Ok(self.steps.run(&StepContext { deadline, ..self.context.clone() }, docs).await?)
    }

    /// Whether the query places its pages itself.
    pub fn pages_itself(&self) -> bool {
        self.reader.pages_itself()
    }

    /// The index of that name as the target's options have it. Nothing is asked or sent.
    pub fn index(&self, env: &Environment, name: &str) -> Result<Index, BatchError> {
        let options = IndexOptions::parse(&self.options).map_err(|problems| {
            let list: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
            BatchError::fatal(format!("target `es:{name}`: {}", list.join("; ")))
        })?;
        Ok(Index::new(env.elasticsearch.clone()?, name, options, self.installation))
    }

    /// The key of a row of `source`, as texts.
    pub fn key_texts(&self) -> String {
        format!("array[{}]", self.texts_of_key().join(", "))
    }

    /// The `_id` of a row of `source`, as [`id_of_row`](crate::elasticsearch::id_of_row) makes it.
    pub fn id_of_row(&self) -> String {
        let joined = match &self.texts_of_key()[..] {
            [single] => single.clone(),
            parts => {
                let escaped = |part: &String| {
                    format!("replace(replace({part}, chr(92), chr(92) || chr(92)), '|', chr(92) || '|')")
                };
                parts.iter().map(escaped).collect::<Vec<_>>().join(" || '|' || ")
            }
        };
        let bytes = format!("convert_to({joined}, 'UTF8')");
        format!(
            "coalesce(case when octet_length({bytes}) > {MAX_ID_BYTES} then '{DIGEST}' || encode(sha256({bytes}), 'hex') \
             else {joined} end, '')"
        )
    }

    fn texts_of_key(&self) -> Vec<String> {
        let text = |name: &String| {
            let value = format!("source.{}", quote(name));
            match self.target {
                TargetName::Mart(_) => format!("{value}::text"),
                TargetName::Index(_) => {
                    home::key_text(&value, self.reader.columns.iter().find(|column| &column.name == name))
                }
            }
        };
        self.key.iter().map(text).collect()
    }

    /// The order that puts the newest version of a row of `source` first: `, source.modified desc nulls last …`.
    pub fn newest_first(&self) -> String {
        let by = |column: &&SourceColumn| format!(", source.{} desc nulls last", quote(&column.name));
        match self.draft().mode {
            Mode::Full => String::new(),
            Mode::Incremental => self.walk().iter().map(by).collect(),
        }
    }

    /// What makes a selection from `source` one of the newest versions only, where that is wanted: its beginning and its
    /// end.
    pub fn newest_only(&self, wanted: bool) -> (String, String) {
        let key = self.key_texts();
        match wanted {
            true => (format!("distinct on ({key})"), format!("order by {key}{}", self.newest_first())),
            false => (String::new(), String::new()),
        }
    }

    /// What the query returns, as a relation of a statement that compares or writes.
    pub fn read(&self) -> String {
        let columns = &self.reader.columns;
        let named = format!("select {} from ({}\n) as source", home::names(columns), self.query());
        home::read(&named, columns, true)
    }

    /// The query, with `$1` to `$4` for its placeholders. It is for `etl_page.read` alone.
    pub fn query(&self) -> String {
        let walk = self.walk();
        let type_of = |place: usize| walk.get(place).map_or("text", |column| column.type_name.as_str()).to_owned();
        self.reader.query.render(&ParameterTypes { key: type_of(0), id: type_of(1) })
    }
}

/// The target's columns, their types with schemas: users' queries run where no schema but the server's own is visible.
async fn columns(connection: &mut PgConnection, table: &str, key: &[String]) -> Result<Vec<TargetColumn>, BatchError> {
    let mut tx = connection.begin().await?;
    sqlx::raw_sql("set local search_path = pg_catalog, pg_temp").execute(&mut *tx).await?;
    let table = tables::look(&mut tx, table, key).await?;
    tx.rollback().await?;
    Ok(table.columns)
}
