//! A batch whose rows pass through the worker: read the page, write it to the sink, then commit what became of it.
//!
//! A sink inside is written in the transaction of the commit, so that all of it happened or none. One outside is written
//! before: a crash in between repeats the batch onto the same keys.

use std::sync::Arc;

use futures_util::StreamExt;
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use vitrina_shared::{
    domain::{Hooks, Position},
    lifecycle::execution::HeldBatch,
    sql,
    store::{
        self,
        dead_letters::{self, Kept, Origin},
        runs::{self, BatchCall, BatchOutcome, NextPage},
    },
};

use super::{
    hooks,
    prefetch::{PageTasks, Prefetched, WrittenPage},
    steps::{PageTally, RowRules, process_page},
};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    in_hand::Waiting,
    plan::Stream,
    rejected::{Rejected, refuse_too_many},
    sink::{ExternalSink, InsideSink, PageWrite, Sink, Writing, external::PageWritten},
    source::{PageEnd, PageQuery},
    step::StepRows,
};

/// Between two blocks a step may take its time, up to that of the page's statement (`session::LONGEST_STATEMENT`).
const BEGIN: &str = "begin; set local idle_in_transaction_session_timeout = '10min'";

#[derive(Debug)]
pub struct ExecutedBatch {
    pub outcome: BatchOutcome,
    pub rejected: u64,
}

/// Executes the batch of a call, whose statement is not used. Takes the prefetched page if it is this one, and prefetches the next.
pub(super) async fn stream_batch(
    env: &Environment,
    connection: &mut PgConnection,
    (name, stream, sink, hooks): (&str, &Stream, &dyn Sink, &Hooks),
    (job, eta_seconds): (&HeldBatch, Option<f64>),
    call: &BatchCall<'_>,
    prefetched: &mut Prefetched,
    waiting: Waiting,
) -> Result<ExecutedBatch, BatchError> {
    let writing = sink.writing();
    let numbered = matches!(writing, Writing::Before(_));
    let page = runs::next_page(connection, call, numbered).await?.ok_or_else(taken_over)?;
    let origin = Origin { pipeline: job.pipeline_id, run: call.run, batch: call.number, key: &stream.key };
    let rules = RowRules {
        steps: stream.steps.clone(),
        context: env.step_context((job.pipeline_id, name), call.run.0, &job.correlation_id),
        max_row_bytes: stream.reading.walk().max_row_bytes,
        rejects_allowed: stream
            .rejects_allowed
            .map(|most| u64::from(most).saturating_sub(page.rows_rejected.unsigned_abs())),
        job_id: job.id.clone(),
        eta_seconds,
    };
    let batch = Batch { stream, hooks, call, page, rules, origin };
    match writing {
        Writing::Inside(sink) => batch.write_inside(env, connection, sink, &waiting).await,
        Writing::Before(sink) => {
            // What follows waits for the sink.
            drop(waiting);
            batch.write_before(env, connection, sink, prefetched).await
        }
    }
}

fn taken_over() -> BatchError {
    BatchError::TakenOver("the batch was committed by another worker, or its job given to one".to_owned())
}

struct Batch<'a> {
    stream: &'a Stream,
    hooks: &'a Hooks,
    call: &'a BatchCall<'a>,
    page: NextPage,
    rules: RowRules,
    origin: Origin<'a>,
}

impl Batch<'_> {
    async fn write_inside(
        &self,
        env: &Environment,
        connection: &mut PgConnection,
        sink: &dyn InsideSink,
        waiting: &Waiting,
    ) -> Result<ExecutedBatch, BatchError> {
        let mut tx = connection.begin_with(BEGIN).await?;
        if self.stream.steps.impure().is_some() {
            store::wait_for_disk(&mut tx).await?;
        }
        let mut tally = PageTally::default();
        let page = self.stream.reading.page(env.in_hand.handle(self.call.run.0), self.query(self.page.after.clone()));
        let places = {
            // Rows may take the worker longer than the server.
            let page = page.inspect(|_| waiting.heard());
            let rows = process_page(page, &self.rules, Some(waiting), &mut tally);
            sink.stage(&mut tx, rows.boxed()).await?
        };
        let end = tally.take_end()?;
        let left = self.rules.rejects_allowed.map(|allowed| allowed.saturating_sub(tally.rejected.len() as u64));
        let write = sink.write_staged(places, left.map(|left| i64::try_from(left).unwrap_or(i64::MAX)));
        let refused = self.rules.rejects_allowed.is_some();
        self.commit(tx, &end, &write, (&tally.rejected, refused), &tally.steps).await
    }

    /// Reading and writing overlap: the sink takes rows while the next ones come, and the next page is begun while the last
    /// requests of this one are under way.
    async fn write_before(
        &self,
        env: &Environment,
        connection: &mut PgConnection,
        sink: &Arc<dyn ExternalSink>,
        prefetched: &mut Prefetched,
    ) -> Result<ExecutedBatch, BatchError> {
        let pages = PageTasks {
            work: env.in_hand.handle(self.call.run.0),
            reading: self.stream.reading.clone(),
            sink: sink.clone(),
            rules: self.rules.clone(),
        };
        let query = self.query(self.page.after.clone());
        let number = self.page.write_number.unwrap_or_default();
        let mut page = prefetched.take(&query).unwrap_or_else(|| pages.clone().begin(query, number));
        self.keep_number(env, connection).await?;
        if let Some(next) = page.send().await.and_then(|end| self.following(&end)) {
            // Numbers are taken two at a time: no other page has this one.
            prefetched.0 = Some(pages.begin(next, number + 1));
        }
        let WrittenPage { end, steps, written } = page.finish().await?;
        let PageWritten { changes, rejected, overtaken } = written;
        if let Some(overtaken) = overtaken {
            return Err(overtaken.explain(connection, sink.target()).await?);
        }
        // Steps and the sink refused rows of one page, each within the bound.
        refuse_too_many(&rejected, self.rules.rejects_allowed)?;
        let _waiting = env.in_hand.waits(self.call.run.0).begin();
        let mut tx = connection.begin().await?;
        store::wait_for_disk(&mut tx).await?;
        let write = PageWrite { with: String::new(), count: changes.to_string() };
        self.commit(tx, &end, &write, (&rejected, false), &steps).await
    }

    /// Waits until the page's number is on disk: another session may have logged it, and a crash of the server would give it out
    /// again. Nothing of the page is visible yet, and it is read meanwhile.
    async fn keep_number(&self, env: &Environment, connection: &mut PgConnection) -> sqlx::Result<()> {
        let _waiting = env.in_hand.waits(self.call.run.0).begin();
        store::flush(connection).await
    }

    fn query(&self, after: Option<Position>) -> PageQuery {
        PageQuery { after, upper: self.page.upper.clone() }
    }

    /// The page after this one, where this worker goes on with it at once and it may be prefetched. One that is not used is
    /// read again, and its steps executed again.
    fn following(&self, end: &PageEnd) -> Option<PageQuery> {
        let goes_on = self.call.next_job.is_none() && end.more == Some(true);
        (goes_on && self.stream.steps.impure().is_none()).then(|| self.query(end.last.clone()))
    }

    /// Commits the batch with a statement of its own in place of the page's, and puts aside what was rejected, with what that
    /// statement has `refused`. What its rows did in each step is counted with it.
    async fn commit(
        &self,
        mut tx: Transaction<'_, Postgres>,
        end: &PageEnd,
        write: &PageWrite,
        (rejected, refused): (&[Rejected], bool),
        steps: &[StepRows],
    ) -> Result<ExecutedBatch, BatchError> {
        let statement = statement_of(end, write);
        let outcome = runs::run_batch(&mut tx, &BatchCall { statement: &statement, ..*self.call }).await?;
        let Kept { rows: mut count, mut opened } =
            if refused { dead_letters::keep_refused(&mut tx, self.origin).await? } else { Kept::default() };
        if !rejected.is_empty() {
            let (rows, errors): (Vec<_>, Vec<_>) =
                rejected.iter().map(|row| (row.doc.clone(), row.error.clone())).unzip();
            let kept = dead_letters::keep(&mut tx, self.origin, &rows, &errors).await?;
            count += kept.rows;
            opened.extend(kept.opened);
        }
        runs::add_rejected(&mut tx, self.call.run, count).await?;
        if !self.stream.steps.is_empty() {
            runs::add_steps(&mut tx, self.call.run, &self.stream.steps.take_counts(steps)).await?;
        }
        hooks::call_after_batch(&mut tx, self.hooks, self.call, &opened).await?;
        tx.commit().await.map_err(at_commit)?;
        Ok(ExecutedBatch { outcome, rejected: count })
    }
}

/// The statement of a page that was read before, whose rows `write` writes and counts. It returns what a pushed-down page does.
fn statement_of(end: &PageEnd, PageWrite { with, count }: &PageWrite) -> String {
    let last = end.last.as_ref().map_or("null".to_owned(), |last| sql::array(&last.0));
    let more = end.more.map_or("null".to_owned(), |more| more.to_string());
    format!("{with}select {}::bigint, ({count})::bigint, {last}::text[], {more}::boolean", end.rows_read)
}
