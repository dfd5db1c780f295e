//! The steps of a plan, one after the other, each held to the rules of [`Step`].

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::timeout_at;
use vitrina_shared::domain::{ErrorClass, RunStep, transform::RowDocument};

use super::{
    Block, BlockRow, Processed, Rejection, Step, StepContext, StepError, StepRows,
    counts::{Spent, StepCounts},
    said_by, too_long,
};

const LATE_CHECK: &str = "did not find out in time whether what it uses is there";

/// The steps of a plan; none where rows go as the query returns them.
#[derive(Debug, Clone)]
pub struct Sequence(Arc<[PlannedStep]>);

#[derive(Debug)]
pub(super) struct PlannedStep {
    /// Its `order_index` in the plan.
    pub place: i32,
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
    /// The columns that name the entity that it works on, where its options say so.
    pub entity: Option<String>,
    /// How many calls it may make at once, where its options say so.
    pub concurrency: Option<i32>,
    pub counts: Arc<StepCounts>,
}

/// A block after all steps.
#[derive(Debug)]
pub struct ProcessedBlock<'a> {
    /// What became of each row, in their order.
    pub rows: Vec<ProcessedRow>,
    /// What each step did, in their order; none for those that no row got to.
    pub steps: Vec<StepBlock<'a>>,
}

/// What a step did with a block.
#[derive(Debug)]
pub struct StepBlock<'a> {
    pub step: &'a str,
    pub entity: Option<&'a str>,
    pub rows: StepRows,
    pub took: Duration,
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is added to a run together with a page: what became of its rows, step by step, and all that the steps spent since
    /// this was asked last. It must be written.
    pub fn take_counts(&self, rows: &[StepRows]) -> Vec<RunStep> {
        let mut rows = rows.iter().copied();
        self.0.iter().map(|step| step.summed(step.counts.take(), rows.next().unwrap_or_default())).collect()
    }

    /// What was spent on batches that did not commit; nothing of steps that spent nothing.
    pub fn take_spent(&self) -> Vec<RunStep> {
        let spent = self.0.iter().map(|step| (step, step.counts.take()));
        let spent = spent.filter(|(_, spent)| *spent != Spent::default());
        spent.map(|(step, spent)| step.summed(spent, StepRows::default())).collect()
    }

    /// Checks what the steps use outside, before the first batch of a run.
    pub async fn check(&self, context: &StepContext) -> Result<(), StepError> {
        for planned in self.0.iter() {
            let own = planned.counting(context);
            let checked = timeout_at(context.deadline, planned.step.check(&own)).await;
            let late = |_| StepError::new(ErrorClass::Transient, LATE_CHECK).of_step(&planned.name);
            checked.map_err(late)?.map_err(|error| error.named(&planned.name))?;
        }
        Ok(())
    }

    /// Takes rows, each a JSON object, through all steps.
    pub async fn run(&self, context: &StepContext, docs: Vec<String>) -> Result<ProcessedBlock<'_>, StepError> {
        if self.0.is_empty() {
            return Ok(ProcessedBlock {
                rows: docs.into_iter().map(ProcessedRow::Passed).collect(),
                steps: Vec::new(),
            });
        }
        let Processed { rows: mut block, mut rejected } = parse(&docs);
        let mut steps = Vec::with_capacity(self.0.len());
        for step in self.0.iter() {
            if block.is_empty() {
                break;
            }
            let rows_in = block.len();
            let (processed, took) = step.execute(context, block).await?;
            steps.push(step.block(rows_in, &processed, took));
            rejected.extend(processed.rejected);
            block = processed.rows;
        }
        Ok(ProcessedBlock { rows: collect_rows(docs, block, rejected), steps })
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
    /// What the step may use, with its own counts.
    fn counting(&self, context: &StepContext) -> StepContext {
        StepContext { counts: self.counts.clone(), ..context.clone() }
    }

    fn summed(&self, spent: Spent, rows: StepRows) -> RunStep {
        let Self { place, name, concurrency, .. } = self;
        let step = RunStep { place: *place, step: name.clone(), concurrency: *concurrency, ..RunStep::default() };
        spent.with(rows, step)
    }

    fn block(&self, rows_in: usize, processed: &Processed, took: Duration) -> StepBlock<'_> {
        let (rows_out, rejected) = (processed.rows.len(), processed.rejected.len());
        let dropped = rows_in.saturating_sub(rows_out + rejected);
        let [rows_in, rows_out, rejected, dropped] = [rows_in, rows_out, rejected, dropped].map(|count| count as u64);
        let rows = StepRows { rows_in, rows_out, rejected, dropped };
        StepBlock { step: &self.name, entity: self.entity.as_deref(), rows, took }
    }

    /// Executes the step, held to its rules, and rejects the rows that it made too long. Returns how long the step itself took.
    async fn execute(&self, context: &StepContext, block: Block) -> Result<(Processed, Duration), StepError> {
        let given: Vec<usize> = block.iter().map(|row| row.place).collect();
        let keys: Vec<_> = block.iter().map(|row| self.key_of(row)).collect();
        let (own, begun) = (self.counting(context), Instant::now());
        let executed = timeout_at(context.deadline, self.step.execute(&own, block)).await;
        let took = self.counts.note_block(begun);
        let Ok(processed) = executed else {
            let late = StepError::new(ErrorClass::Transient, "took longer than a page may: lower batch_size");
            return Err(late.of_step(&self.name));
        };
        let mut processed = processed.map_err(|error| error.named(&self.name))?;
        for rejection in processed.rejected.iter_mut().filter(|_| self.quotes_rows) {
            rejection.reason = said_by(&self.name, &rejection.reason);
        }
        match self.broken_rule(&given, &keys, &processed) {
            Some(rule) => Err(StepError::new(ErrorClass::Fatal, rule).of_step(&self.name)),
            None => Ok((self.reject_grown(processed, context.max_row_bytes), took)),
        }
    }

    fn reject_grown(&self, Processed { rows, mut rejected }: Processed, most: u32) -> Processed {
        let (rows, grown): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.document.bytes() <= most as usize);
        rejected.extend(grown.into_iter().map(|row| {
            let bytes = i64::try_from(row.document.bytes()).unwrap_or(i64::MAX);
            row.reject(format!("after step `{}` {}", self.name, too_long(bytes, most)))
        }));
        Processed { rows, rejected }
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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;
    use vitrina_shared::domain::PipelineId;

    use super::*;

    #[derive(Debug)]
    struct NeverChecked;

    #[async_trait]
    impl Step for NeverChecked {
        async fn execute(&self, _: &StepContext, rows: Block) -> Result<Processed, StepError> {
            Ok(Processed { rows, rejected: Vec::new() })
        }

        async fn check(&self, _: &StepContext) -> Result<(), StepError> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_check_that_does_not_end_is_tried_again_later() {
        let planned = PlannedStep {
            place: 2,
            name: "never".to_owned(),
            step: Box::new(NeverChecked),
            touches: BTreeSet::new(),
            is_pure: true,
            repeats: true,
            drops_rows: false,
            quotes_rows: false,
            key: Vec::new(),
            entity: None,
            concurrency: None,
            counts: Arc::default(),
        };
        let context = StepContext {
            pipeline: PipelineId::generate(),
            name: "p".to_owned(),
            id: Uuid::nil(),
            correlation_id: String::new(),
            cancelled: CancellationToken::new(),
            max_row_bytes: 1 << 20,
            deadline: tokio::time::Instant::now(),
            counts: Arc::default(),
        };
        let error = Sequence::new(vec![planned]).check(&context).await.expect_err("no answer");
        assert_eq!(error.class, ErrorClass::Transient);
        assert!(error.message.contains("step `never`: did not find out in time"), "{}", error.message);
    }
}
