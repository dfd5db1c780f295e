//! What a report is about: a pipeline as it is configured now, checked like a new one.

use std::sync::Arc;

use vitrina_shared::{
    domain::{Pipeline, PipelineDraft, SourceColumn},
    validation::Reader,
};

use crate::{
    error::BatchError,
    session::LONGEST_STATEMENT,
    source::{Reading, Source, Walk, home::PageSql},
    step::{ProcessedRow, Sequence, StepContext},
};

#[derive(Debug)]
pub struct Subject {
    pub pipeline: Pipeline,
    pub source: Arc<dyn Source>,
    pub reading: Arc<dyn Reading>,
    pub steps: Sequence,
    pub context: StepContext,
}

impl Subject {
    pub fn draft(&self) -> &PipelineDraft {
        &self.pipeline.draft
    }

    pub fn walk(&self) -> &Walk {
        self.reading.walk()
    }

    pub fn reader(&self) -> &Reader {
        &self.walk().reader
    }

    /// A column as the query returns it.
    pub fn column(&self, name: &str) -> Option<&SourceColumn> {
        self.reader().columns.iter().find(|column| column.name == name)
    }

    /// The SQL of its source, for statements that compare inside the server.
    pub fn home_sql(&self) -> Result<PageSql<'_>, BatchError> {
        if self.source.is_home() {
            return Ok(PageSql::of(self.walk()));
        }
        Err(BatchError::fatal(format!(
            "a mart is compared inside the home database, and the pipeline reads from `{}`: run it, which writes the rows that \
             differ and counts them",
            self.source.kind()
        )))
    }

    /// The fields of documents as they are written now.
    pub fn fields(&self) -> Vec<String> {
        self.reader().arriving.iter().map(|column| column.name.clone()).collect()
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
        refuse_step(self.steps.impure(), what)
    }

    /// Refuses a report that executes steps once more where one of them has effects that are not remembered.
    pub fn refuse_unrepeatable(&self, what: &str) -> Result<(), BatchError> {
        refuse_step(self.steps.unrepeatable(), what)
    }

    /// What becomes of rows, each a JSON object as the query returns it.
    pub async fn take_through_steps(&self, docs: Vec<String>) -> Result<Vec<ProcessedRow>, BatchError> {
        let deadline = tokio::time::Instant::now() + LONGEST_STATEMENT;
        Ok(self.steps.run(&StepContext { deadline, ..self.context.clone() }, docs).await?.rows)
    }

    /// What there is to say of a query whose rows differ, `unsteady` of which were read differently twice.
    pub fn note(&self, unsteady: i64) -> Option<String> {
        let calls = self.reader().unsteady.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
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

fn refuse_step(step: Option<&str>, what: &str) -> Result<(), BatchError> {
    let refusal = |step| {
        format!("{what} executes the plan's steps once more, and `{step}` is not pure: run the pipeline instead")
    };
    step.map_or(Ok(()), |step| Err(BatchError::fatal(refusal(step))))
}
