//! What a report is about: a pipeline as it is configured now, checked like a new one.

use vitrina_shared::{
    domain::{Mode, Pipeline, PipelineDraft, SourceColumn},
    guard::ParameterTypes,
    sql::quote,
    validation::Reader,
};

use crate::{
    elasticsearch::{DIGEST, MAX_ID_BYTES},
    error::BatchError,
    session::LONGEST_STATEMENT,
    source::{RowForm, home},
    step::{ProcessedRow, Sequence, StepContext},
};

/// A pipeline with its reader and the key of its target.
#[derive(Debug)]
pub struct Subject {
    pub pipeline: Pipeline,
    /// Its query and what that returns.
    pub reader: Reader,
    /// The columns of the target's key.
    pub key: Vec<String>,
    /// How its sink wants rows.
    pub form: RowForm,
    /// What changes rows on their way.
    pub steps: Sequence,
    /// What the steps reach the world through.
    pub context: StepContext,
}

impl Subject {
    /// What the client decided.
    pub fn draft(&self) -> &PipelineDraft {
        &self.pipeline.draft
    }

    /// The fields of documents as they are written now.
    pub fn fields(&self) -> Vec<String> {
        self.reader.arriving.iter().map(|column| column.name.clone()).collect()
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
    pub async fn take_through_steps(&self, docs: Vec<String>) -> Result<Vec<ProcessedRow>, BatchError> {
        let deadline = tokio::time::Instant::now() + LONGEST_STATEMENT;
        Ok(self.steps.run(&StepContext { deadline, ..self.context.clone() }, docs).await?)
    }

    /// Whether the query places its pages itself.
    pub fn pages_itself(&self) -> bool {
        self.reader.pages_itself()
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
            match self.form {
                RowForm::Document => {
                    home::key_text(&value, self.reader.columns.iter().find(|column| &column.name == name))
                }
                RowForm::ReadBack => format!("{value}::text"),
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

    /// What there is to say of a query whose rows differ, `unsteady` of which were read differently twice.
    pub fn note(&self, unsteady: i64) -> Option<String> {
        let calls = self.reader.unsteady.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let because = match (unsteady, calls.is_empty()) {
            (0, true) => return None,
            (0, false) => format!("it uses {calls}"),
            (rows, true) => format!(
                "read twice, {rows} of the rows that differ came differently, as from an aggregate without an order"
            ),
            (rows, false) => {
                format!("read twice, {rows} of the rows that differ came differently, and it uses {calls}")
            }
        };
        Some(format!(
            "the query is not deterministic ({because}): its rows differ after every run, and need not have drifted; have it \
             return the same values each time, or leave those columns out"
        ))
    }
}
