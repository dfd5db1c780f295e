//! Takes the blocks of a page, as they come from its source, through the plan's steps.

use std::time::Duration;

use futures_util::{Stream, TryStreamExt, stream};
use vitrina_shared::domain::ErrorClass;

use crate::{
    error::BatchError,
    in_hand::Waiting,
    rejected::{MOST_REJECTED_BYTES, Rejected, refuse_too_many, too_much_rejected},
    row_id::id_of_row,
    sink::Row,
    source::{Item, PageEnd},
    step::{ProcessedRow, Sequence, StepBlock, StepContext, StepRows, too_long},
};

/// A block that takes a step longer is a line of the log that everyone sees.
const SLOW_BLOCK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct RowRules {
    pub steps: Sequence,
    pub context: StepContext,
    pub max_row_bytes: u32,
    /// How many rows may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
    /// The job that the rows are read for.
    pub job_id: String,
    /// How much longer the run takes, as its last batch has it.
    pub eta_seconds: Option<f64>,
}

/// What is known of a page once all its rows were read.
#[derive(Debug, Default)]
pub struct PageTally {
    end: Option<PageEnd>,
    /// Rows that a step refused, or that are too long.
    pub rejected: Vec<Rejected>,
    /// What became of its rows in each step, in their order.
    pub steps: Vec<StepRows>,
    rejected_bytes: usize,
}

/// The rows of a page after all steps. The wait for the server rests while they execute. `tally` is complete at the end.
pub fn process_page<'a>(
    blocks: impl Stream<Item = Result<Vec<Item>, BatchError>> + Send + 'a,
    rules: &'a RowRules,
    waiting: Option<&'a Waiting>,
    tally: &'a mut PageTally,
) -> impl Stream<Item = Result<Row, BatchError>> + Send + 'a {
    let state = (Box::pin(blocks), tally);
    let processed = stream::try_unfold(state, move |(mut blocks, tally)| async move {
        let Some(items) = blocks.try_next().await? else { return Ok::<_, BatchError>(None) };
        let rows = process_block(items, rules, waiting, tally).await?;
        Ok(Some((rows, (blocks, tally))))
    });
    processed.map_ok(|rows| stream::iter(rows.into_iter().map(Ok))).try_flatten()
}

async fn process_block(
    items: Vec<Item>,
    rules: &RowRules,
    waiting: Option<&Waiting>,
    tally: &mut PageTally,
) -> Result<Vec<Row>, BatchError> {
    let (mut keys, mut docs) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
    for item in items {
        match item {
            Item::Row { key, doc, too_long: None } => {
                keys.push(key);
                docs.push(doc);
            }
            Item::Row { key, doc, too_long: Some(bytes) } => {
                tally.reject(&key, doc, too_long(bytes, rules.max_row_bytes), rules)?;
            }
            Item::End(end) => tally.end = Some(end),
        }
    }
    let processed = {
        let _resting = waiting.map(Waiting::rest);
        rules.steps.run(&rules.context, docs).await?
    };
    for (place, block) in processed.steps.iter().enumerate() {
        rules.log(block);
        tally.count(place, block.rows);
    }
    let mut rows = Vec::with_capacity(processed.rows.len());
    for (key, row) in keys.into_iter().zip(processed.rows) {
        match row {
            ProcessedRow::Passed(doc) => rows.push(Row { key, doc }),
            ProcessedRow::Rejected { doc, reason } => tally.reject(&key, doc, reason, rules)?,
            ProcessedRow::Dropped => {}
        }
    }
    Ok(rows)
}

impl RowRules {
    fn log(&self, StepBlock { step, entity, rows, took }: &StepBlock<'_>) {
        let StepRows { rows_in, rows_out, rejected, dropped } = *rows;
        let (job_id, duration_ms, eta) = (&self.job_id, took.as_secs_f64() * 1000.0, self.eta_seconds);
        if *took < SLOW_BLOCK {
            tracing::debug!(
                step,
                entity,
                job_id,
                rows_in,
                rows_out,
                rejected,
                dropped,
                duration_ms,
                eta,
                "block processed"
            );
        } else {
            tracing::info!(step, entity, job_id, rows_in, rows_out, rejected, dropped, duration_ms, eta, "slow block");
        }
    }
}

impl PageTally {
    fn count(&mut self, place: usize, rows: StepRows) {
        if self.steps.len() <= place {
            self.steps.resize(place + 1, StepRows::default());
        }
        self.steps[place] += rows;
    }

    pub fn take_end(&mut self) -> Result<PageEnd, BatchError> {
        self.end.take().ok_or_else(|| BatchError::fatal("the page was not read to its end"))
    }

    /// Puts a row aside, unless those are too many or too large by now.
    fn reject(
        &mut self,
        key: &[Option<String>],
        doc: String,
        error: String,
        rules: &RowRules,
    ) -> Result<(), BatchError> {
        self.rejected_bytes += doc.len();
        self.rejected.push(Rejected { id: id_of_row(key), doc, error });
        if self.rejected_bytes > MOST_REJECTED_BYTES {
            let message = too_much_rejected("steps refuse");
            return Err(BatchError::Failed { class: ErrorClass::Row, message });
        }
        refuse_too_many(&self.rejected, rules.rejects_allowed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;
    use vitrina_shared::domain::{PipelineId, SourceColumn, Task, TaskKind};

    use super::*;
    use crate::step::{Arriving, StepRegistry};

    /// `mask`, which refuses what is no text.
    fn steps() -> Sequence {
        let options = serde_json::Map::from_iter([("columns".to_owned(), json!(["v"]))]);
        let task_type = TaskKind::Rust;
        let task = Task { order_index: 2, task_type, body: "mask".to_owned(), target_table: None, options };
        let column = SourceColumn { name: "v".to_owned(), type_name: "text".to_owned(), ..SourceColumn::default() };
        let columns = vec![column];
        let arriving = Arriving { stages: &[columns.clone(), columns], arrays_as_text: true };
        StepRegistry::default().sequence(&[task], &[], arriving).expect("a plan of one step")
    }

    fn context() -> StepContext {
        StepContext {
            pipeline: PipelineId::generate(),
            name: "p".to_owned(),
            id: Uuid::nil(),
            correlation_id: String::new(),
            cancelled: CancellationToken::new(),
            max_row_bytes: 1 << 30,
            deadline: tokio::time::Instant::now() + std::time::Duration::from_secs(600),
            counts: Default::default(),
        }
    }

    fn row(doc: String) -> Item {
        Item::Row { key: Vec::new(), doc, too_long: None }
    }

    #[tokio::test]
    async fn rejected_rows_that_take_too_much_memory_end_the_batch() {
        let rules = RowRules {
            steps: steps(),
            context: context(),
            max_row_bytes: 1 << 30,
            rejects_allowed: Some(1000),
            job_id: String::new(),
            eta_seconds: None,
        };
        let no_text = format!(r#"{{"v":["{}"]}}"#, "x".repeat(MOST_REJECTED_BYTES / 10));
        for (count, ends) in [(9, false), (10, true)] {
            let mut tally = PageTally::default();
            let blocks = stream::iter((0..count).map(|_| Ok(vec![row(no_text.clone())])));
            let read: Result<Vec<_>, _> = process_page(blocks, &rules, None, &mut tally).try_collect().await;
            match read {
                Ok(rows) => assert!(!ends && rows.is_empty() && tally.rejected.len() == count),
                Err(error) => assert!(ends && error.to_string().contains("more than 64 MiB together"), "{error}"),
            }
        }
    }
}
