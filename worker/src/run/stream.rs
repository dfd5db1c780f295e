//! A batch whose rows pass through the worker: read the page, write it to the sink, then commit what became of it.
//!
//! A sink inside is written in the transaction of the commit, so that all of it happened or none. One outside is written
//! before: a crash in between repeats the batch onto the same keys.

use std::sync::Arc;

use futures_util::StreamExt;
use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    domain::{ErrorClass, Position},
    lifecycle::execution::HeldJob,
    sql,
    store::{
        dead_letters::{self, Origin},
        runs::{self, BatchCall, BatchOutcome, NextPage},
    },
};

use super::{
    ahead::{Ahead, Pages},
    reader::{self, Handling, Remains},
};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    in_hand::Waiting,
    plan::Stream,
    sink::{ExternalSink, InsideSink, PageWrite, Rejected, Sink, Writing, external::PageWritten},
    source::{PageEnd, PageQuery},
    step::StepContext,
};

/// What a streamed batch did.
#[derive(Debug)]
pub struct Streamed {
    pub outcome: BatchOutcome,
    /// Rows that were put aside.
    pub rejected: u64,
}

/// Executes the batch of a call, whose statement is not looked at. What was read `ahead` is used, and for the next batch it
/// is filled.
pub(super) async fn execute(
    env: &Environment,
    connection: &mut PgConnection,
    (stream, sink): (&Stream, &dyn Sink),
    job: &HeldJob,
    call: &BatchCall<'_>,
    ahead: &mut Ahead,
    waiting: Waiting,
) -> Result<Streamed, BatchError> {
    let writing = sink.writing();
    let numbered = matches!(writing, Writing::Before(_));
    let page = runs::next_page(connection, call, numbered).await?.ok_or_else(taken_over)?;
    let allowed = stream.rejects_allowed.map(|most| u64::from(most).saturating_sub(page.rows_rejected.unsigned_abs()));
    let origin = Origin { pipeline: job.batch.pipeline_id, run: call.run, batch: call.number, key: &stream.key };
    let context = env.step_context(job.batch.pipeline_id, call.run.0, &job.batch.correlation_id);
    let batch = Batch { stream, call, page, allowed, origin, context };
    match writing {
        Writing::Inside(sink) => batch.write_inside(env, connection, sink, &waiting).await,
        Writing::Before(sink) => {
            // What follows waits for the sink.
            drop(waiting);
            batch.write_before(env, connection, sink, ahead).await
        }
    }
}

fn taken_over() -> BatchError {
    BatchError::TakenOver("the batch was committed by another worker, or its job given to one".to_owned())
}

/// A batch on its way.
struct Batch<'a> {
    stream: &'a Stream,
    call: &'a BatchCall<'a>,
    page: NextPage,
    allowed: Option<u64>,
    origin: Origin<'a>,
    context: StepContext,
}

impl Batch<'_> {
    async fn write_inside(
        &self,
        env: &Environment,
        connection: &mut PgConnection,
        sink: &dyn InsideSink,
        waiting: &Waiting,
    ) -> Result<Streamed, BatchError> {
        let mut tx = connection.begin().await?;
        let mut remains = Remains::default();
        let page = self.stream.reading.page(env.in_hand.handle(self.call.run.0), self.query(self.page.after.clone()));
        let places = {
            // Rows may take the worker longer than the server.
            let page = page.inspect(|_| waiting.heard());
            let rows = reader::rows(page, self.handling(waiting), &mut remains);
            sink.stage(&mut tx, rows.boxed()).await?
        };
        let end = remains.whole()?;
        let left = self.allowed.map(|allowed| allowed.saturating_sub(remains.rejected.len() as u64));
        let write = sink.write_staged(places, left.map(|left| i64::try_from(left).unwrap_or(i64::MAX)));
        let outcome = self.commit(&mut tx, &statement_of(&end, &write)).await?;
        let refused = if self.allowed.is_some() { dead_letters::keep_refused(&mut tx, self.origin).await? } else { 0 };
        let rejected = refused + self.keep(&mut tx, &remains.rejected).await?;
        runs::add_rejected(&mut tx, self.call.run, rejected).await?;
        tx.commit().await.map_err(at_commit)?;
        Ok(Streamed { outcome, rejected })
    }

    /// Reading and writing overlap: the sink takes rows while the next ones come, and the next page is begun while the last
    /// requests of this one are under way.
    async fn write_before(
        &self,
        env: &Environment,
        connection: &mut PgConnection,
        sink: &Arc<dyn ExternalSink>,
        ahead: &mut Ahead,
    ) -> Result<Streamed, BatchError> {
        let pages = Pages {
            work: env.in_hand.handle(self.call.run.0),
            reading: self.stream.reading.clone(),
            sink: sink.clone(),
            steps: self.stream.steps.clone(),
            context: self.context.clone(),
            rejects_allowed: self.allowed,
        };
        let query = self.query(self.page.after.clone());
        let number = self.page.write_number.unwrap_or_default();
        let page = ahead.take(&query).unwrap_or_else(|| pages.clone().begin(query, number));
        let (end, sent) = page.send().await;
        if let Some(next) = end.and_then(|end| self.following(&end)) {
            // Numbers are taken two at a time: this one is nobody else's.
            ahead.keep(pages.begin(next, number + 1));
        }
        let (end, PageWritten { changes, rejected, overtaken }) = sent.finish().await?;
        if let Some(overtaken) = overtaken {
            return Err(overtaken.explain(connection, sink.target()).await?);
        }
        self.refuse_too_many(&rejected)?;
        let _waiting = env.in_hand.waits(self.call.run.0).begin();
        let mut tx = connection.begin().await?;
        let write = PageWrite { with: String::new(), count: changes.to_string() };
        let outcome = self.commit(&mut tx, &statement_of(&end, &write)).await?;
        let rejected = self.keep(&mut tx, &rejected).await?;
        runs::add_rejected(&mut tx, self.call.run, rejected).await?;
        tx.commit().await?;
        Ok(Streamed { outcome, rejected })
    }

    /// Steps and the sink refused rows of one page, each within the bound.
    fn refuse_too_many(&self, rejected: &[Rejected]) -> Result<(), BatchError> {
        match (rejected.last(), self.allowed) {
            (Some(last), Some(allowed)) if rejected.len() as u64 > allowed => {
                let message = format!("more rows were refused than max_rejects allows; the last one: {}", last.error);
                Err(BatchError::Failed { class: ErrorClass::Row, message })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn query(&self, after: Option<Position>) -> PageQuery {
        PageQuery { after, upper: self.page.upper.clone() }
    }

    /// The page after this one, where this worker goes on with it at once and it may be read ahead. One that is not used is
    /// read again, and its steps executed again.
    fn following(&self, end: &PageEnd) -> Option<PageQuery> {
        let goes_on = self.call.next_job.is_none() && end.more == Some(true);
        (goes_on && self.stream.steps.impure().is_none()).then(|| self.query(end.last.clone()))
    }

    fn handling<'a>(&'a self, waiting: &'a Waiting) -> Handling<'a> {
        Handling {
            steps: &self.stream.steps,
            context: &self.context,
            waiting: Some(waiting),
            max_row_bytes: self.stream.reading.walk().max_row_bytes,
            rejects_allowed: self.allowed,
        }
    }

    /// Commits the batch with a statement of its own in place of the page's.
    async fn commit(&self, tx: &mut PgConnection, statement: &str) -> Result<BatchOutcome, BatchError> {
        let call = BatchCall { statement, ..*self.call };
        Ok(runs::execute_batch(tx, &call).await?)
    }

    async fn keep(&self, tx: &mut PgConnection, rejected: &[Rejected]) -> Result<u64, BatchError> {
        if rejected.is_empty() {
            return Ok(0);
        }
        let rows: Vec<_> = rejected.iter().map(|row| row.doc.clone()).collect();
        let errors: Vec<_> = rejected.iter().map(|row| row.error.clone()).collect();
        Ok(dead_letters::keep(tx, self.origin, &rows, &errors).await?)
    }
}

/// The statement of a page that was read before, of which `write` writes and counts the rows. It returns what that of a
/// pushed-down page does.
fn statement_of(end: &PageEnd, PageWrite { with, count }: &PageWrite) -> String {
    let last = end.last.as_ref().map_or("null".to_owned(), |last| sql::array(&last.0));
    let more = end.more.map_or("null".to_owned(), |more| more.to_string());
    format!("{with}select {}::bigint, ({count})::bigint, {last}::text[], {more}::boolean", end.rows_read)
}
