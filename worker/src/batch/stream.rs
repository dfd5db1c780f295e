//! A batch whose rows pass through the worker: read the page, write it to the sink, then commit what became of it.
//!
//! A sink inside is written in the transaction of the commit, so that all of it happened or none. One outside is written
//! before: a crash in between repeats the batch onto the same keys.

use std::sync::Arc;

use futures_util::StreamExt;
use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    domain::{ErrorClass, Position, transform::Transform},
    lifecycle::execution::HeldJob,
    store::{
        dead_letters::{self, Origin},
        runs::{self, BatchCall, BatchOutcome, NextPage},
    },
};

use super::{
    ahead::{Ahead, Pages},
    reader::{self, Handling, PageQuery, Remains},
    streaming::PageEnd,
};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    in_hand::Waiting,
    sink::{ExternalSink, InsideSink, PageWrite, Rejected, Sink, Writing, external::PageWritten},
};

/// How a run's rows are streamed.
#[derive(Debug)]
pub struct Stream {
    /// The statement that reads a page.
    pub read: String,
    /// How large a row may be. Of a larger one the server sends the key and the size.
    pub max_row_bytes: u32,
    /// What changes its rows.
    pub transforms: Arc<[Box<dyn Transform>]>,
    /// The key columns of the target.
    pub key: Vec<String>,
    /// How many rows of the run may be put aside; none where the first one ends it.
    pub rejects_allowed: Option<u32>,
}

/// What a streamed batch did.
#[derive(Debug)]
pub struct Streamed {
    /// What was committed.
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
    let page =
        runs::next_page(connection, call.run, call.range, call.number, numbered).await?.ok_or_else(taken_over)?;
    let allowed = stream.rejects_allowed.map(|most| u64::from(most).saturating_sub(page.rows_rejected.unsigned_abs()));
    let origin = Origin { pipeline: job.batch.pipeline_id, run: call.run, batch: call.number, key: &stream.key };
    let batch = Batch { stream, call, page, allowed, origin };
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
    BatchError::TakenOver("the batch was committed by another worker".to_owned())
}

/// A batch on its way.
struct Batch<'a> {
    stream: &'a Stream,
    call: &'a BatchCall<'a>,
    page: NextPage,
    allowed: Option<u64>,
    origin: Origin<'a>,
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
        let mut reading = env.sessions(&env.reading, self.call.run.0).acquire().await?;
        reading.may_not_end();
        let mut snapshot = reading.begin_named("begin read only").await?;
        let query = self.query(self.page.after.clone());
        let places = {
            let rows = reader::rows(reader::items(&mut snapshot, &query), self.handling(), &mut remains);
            // Rows may take the worker longer than the server.
            let rows = rows.inspect(|_| waiting.heard());
            sink.stage(&mut tx, rows.boxed()).await?
        };
        snapshot.rollback().await?;
        reading.has_ended();
        let end = remains.whole()?;
        let left = self.allowed.map(|allowed| allowed.saturating_sub(remains.rejected.len() as u64));
        let write = sink.write_staged(places, left.map(|left| i64::try_from(left).unwrap_or(i64::MAX)));
        let outcome = self.commit(&mut tx, &end.statement(&write)).await?;
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
            reading: env.sessions(&env.reading, self.call.run.0),
            sink: sink.clone(),
            transforms: self.stream.transforms.clone(),
            max_row_bytes: self.stream.max_row_bytes,
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
        let outcome = self.commit(&mut tx, &end.statement(&write)).await?;
        let rejected = self.keep(&mut tx, &rejected).await?;
        runs::add_rejected(&mut tx, self.call.run, rejected).await?;
        tx.commit().await?;
        Ok(Streamed { outcome, rejected })
    }

    /// Transforms and the sink refused rows of one page, each within the bound.
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
        PageQuery {
            statement: self.stream.read.clone(),
            page_size: self.call.page_size,
            by_time: self.call.by_time,
            after,
            upper: self.page.upper.clone(),
        }
    }

    /// The page after this one, where this worker goes on with it at once.
    fn following(&self, end: &PageEnd) -> Option<PageQuery> {
        (self.call.next_job.is_none() && end.more == Some(true)).then(|| self.query(end.last.clone()))
    }

    fn handling(&self) -> Handling<'_> {
        Handling {
            transforms: &self.stream.transforms,
            max_row_bytes: self.stream.max_row_bytes,
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
