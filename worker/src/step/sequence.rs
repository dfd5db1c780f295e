//! The steps of a plan, one after the other, each held to the rules of [`Step`].

use std::{collections::BTreeSet, sync::Arc};

use tokio::time::timeout_at;
use vitrina_shared::domain::{ErrorClass, transform::RowDocument};

use super::{Block, BlockRow, Processed, Rejection, Step, StepContext, StepError, said_by, too_long};

/// The steps of a plan; none where rows go as the query returns them.
#[derive(Debug, Clone)]
pub struct Sequence(Arc<[PlannedStep]>);

#[derive(Debug)]
pub(super) struct PlannedStep {
    pub name: String,
    pub step: Box<dyn Step>,
    pub touches: BTreeSet<String>,
    pub is_pure: bool,
    pub repeats: bool,
    pub drops_rows: bool,
    /// Whether its reasons may quote values of rows. Those of builtin steps do not.
    pub quotes_rows: bool,
    /// The columns whose values must come out as they went in.
    pub key: Vec<String>,
}

/// What became of a row after all steps.
#[derive(Debug, PartialEq)]
pub enum ProcessedRow {
    /// It goes on, as this JSON object.
    Passed(String),
    Rejected {
        /// As the query returned it.
        doc: String,
        reason: String,
    },
    Dropped,
}

impl Sequence {
    pub(super) fn new(steps: Vec<PlannedStep>) -> Self {
        Self(steps.into())
    }

    pub fn impure(&self) -> Option<&str> {
        self.0.iter().find(|step| !step.is_pure).map(|step| step.name.as_str())
    }

    /// A step whose effects count twice if it is executed again.
    pub fn unrepeatable(&self) -> Option<&str> {
        self.0.iter().find(|step| !step.repeats).map(|step| step.name.as_str())
    }

    pub fn dropping(&self) -> Option<&str> {
        self.0.iter().find(|step| step.drops_rows).map(|step| step.name.as_str())
    }

    /// Whether a step changes, adds or removes the column.
    pub fn touches(&self, column: &str) -> bool {
        self.0.iter().any(|step| step.touches.contains(column))
    }

    /// Checks what the steps use outside, before the first batch of a run.
    pub async fn check(&self, context: &StepContext) -> Result<(), StepError> {
        for planned in self.0.iter() {
            planned.step.check(context).await.map_err(|error| error.named(&planned.name))?;
        }
        Ok(())
    }

    /// Takes rows, each a JSON object, through all steps. What became of each is returned in their order.
    pub async fn run(&self, context: &StepContext, docs: Vec<String>) -> Result<Vec<ProcessedRow>, StepError> {
        if self.0.is_empty() {
            return Ok(docs.into_iter().map(ProcessedRow::Passed).collect());
        }
        let Processed { rows: mut block, mut rejected } = parse(&docs);
        for step in self.0.iter() {
            if block.is_empty() {
                break;
            }
            let processed = step.execute(context, block).await?;
            rejected.extend(processed.rejected);
            let (passed, grown): (Vec<_>, Vec<_>) =
                processed.rows.into_iter().partition(|row| row.document.bytes() <= context.max_row_bytes as usize);
            rejected.extend(grown.into_iter().map(|row| {
                let bytes = i64::try_from(row.document.bytes()).unwrap_or(i64::MAX);
                row.reject(format!("after step `{}` {}", step.name, too_long(bytes, context.max_row_bytes)))
            }));
            block = passed;
        }
        Ok(collect_rows(docs, block, rejected))
    }
}

fn parse(docs: &[String]) -> Processed {
    let mut parsed = Processed { rows: Vec::with_capacity(docs.len()), rejected: Vec::new() };
    for (place, doc) in docs.iter().enumerate() {
        match RowDocument::parse(doc) {
            Ok(document) => parsed.rows.push(BlockRow { place, document }),
            Err(error) => parsed.rejected.push(Rejection { place, reason: error.to_string() }),
        }
    }
    parsed
}

fn collect_rows(mut docs: Vec<String>, block: Block, rejected: Vec<Rejection>) -> Vec<ProcessedRow> {
    let mut rows: Vec<ProcessedRow> = docs.iter().map(|_| ProcessedRow::Dropped).collect();
    let mut reject = |place: usize, reason| ProcessedRow::Rejected { doc: std::mem::take(&mut docs[place]), reason };
    for BlockRow { place, document } in block {
        let text = document.to_text();
        rows[place] = text.map_or_else(|error| reject(place, error.to_string()), ProcessedRow::Passed);
    }
    for Rejection { place, reason } in rejected {
        rows[place] = reject(place, reason);
    }
    rows
}

impl PlannedStep {
    async fn execute(&self, context: &StepContext, block: Block) -> Result<Processed, StepError> {
        let given: Vec<usize> = block.iter().map(|row| row.place).collect();
        let keys: Vec<_> = block.iter().map(|row| self.key_of(row)).collect();
        let Ok(processed) = timeout_at(context.deadline, self.step.execute(context, block)).await else {
            let late = StepError::new(ErrorClass::Transient, "took longer than a page may: lower batch_size");
            return Err(late.of_step(&self.name));
        };
        let mut processed = processed.map_err(|error| error.named(&self.name))?;
        for rejection in processed.rejected.iter_mut().filter(|_| self.quotes_rows) {
            rejection.reason = said_by(&self.name, &rejection.reason);
        }
        self.broken_rule(&given, &keys, &processed)
            .map_or(Ok(processed), |rule| Err(StepError::new(ErrorClass::Fatal, rule).of_step(&self.name)))
    }

    /// The values that must not change, as JSON.
    fn key_of(&self, row: &BlockRow) -> Vec<Option<String>> {
        self.key.iter().map(|column| row.document.raw(column).map(str::to_owned)).collect()
    }

    fn broken_rule(&self, given: &[usize], keys: &[Vec<Option<String>>], processed: &Processed) -> Option<String> {
        let Processed { rows, rejected } = processed;
        if !rows.is_sorted_by(|one, next| one.place < next.place) {
            return Some("returns rows in another order than it got them".to_owned());
        }
        let mut returned: Vec<usize> = rows.iter().map(|row| row.place).collect();
        returned.extend(rejected.iter().map(|rejection| rejection.place));
        returned.sort_unstable();
        let only_dropped = || {
            let are_given = returned.iter().all(|place| given.binary_search(place).is_ok());
            self.drops_rows && are_given && returned.is_sorted_by(|one, next| one < next)
        };
        if returned != given && !only_dropped() {
            let (given, rows, rejected) = (given.len(), rows.len(), rejected.len());
            return Some(format!(
                "got {given} rows, returned {rows} and rejected {rejected}: none may be lost, added or repeated"
            ));
        }
        let kept = |row: &&BlockRow| {
            let key = given.binary_search(&row.place).ok().and_then(|at| keys.get(at));
            key.is_none_or(|key| *key == self.key_of(row))
        };
        (!rows.iter().all(|row| kept(&row))).then(|| "changes the target's key, which a step must leave".to_owned())
    }
}
