//! Tries rows again that could not be written.
//!
//! What is written is the row as its source has it *now*, never the one that was put aside: that may be older than what
//! the target has by now. No run can begin meanwhile, so nothing newer is overwritten. A letter is closed in the
//! transaction that wrote its row, or after an external sink has it, so replaying twice changes nothing.

use std::{collections::BTreeMap, time::Instant};

use futures_util::TryStreamExt;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Report,
        report::{MAX_REPLAYED, Replay, ReplayOutcome, ReplayedLetter},
    },
    reports::HeldReport,
    store::{
        self,
        dead_letters::{self, Letter},
        write_numbers,
    },
};

use super::{finish, keep_runs_away, subject};
use crate::{
    environment::Environment,
    error::BatchError,
    rejected::MOST_REJECTED_BYTES,
    sink::{Replayed, Row, Sink, Subject},
    source::{KeyColumn, RowStream, RowsQuery, Scope, SourceRow, Wanted, is_cut},
    step::{ProcessedRow, too_long},
};

/// Replays open letters of the report's pipeline, those with these ids or all, and ends the report.
pub async fn replay_letters(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    ids: Option<&[i64]>,
) -> Result<(), BatchError> {
    let begun = Instant::now();
    let (subject, sink) = subject::open(env, job, report, |walk| walk).await?;
    subject.refuse_unrepeatable("a replay")?;
    let mut session = env.sessions(&env.reports, report.id.0).acquire().await?;
    // Taken before the rows are read: whatever was read before them is older. A run that writes between this and the lock has
    // greater numbers, and the replay is then tried again.
    let number = write_numbers::take(&mut session).await?;
    let mut tx = session.begin_named("begin").await?;
    store::allow_long_waits(&mut tx).await?;
    keep_runs_away(&mut tx, report, &subject).await?;
    let mut replay = Replaying { subject: &subject, sink: &*sink, number }.all(&mut tx, ids).await?;
    replay.took_ms = begun.elapsed().as_millis() as u64;
    finish(&mut tx, job, &replay).await?;
    tx.commit().await?;
    tracing::info!(rows_written = replay.written, rows_rejected = replay.refused, "replayed dead letters");
    Ok(())
}

struct Replaying<'a> {
    subject: &'a Subject,
    sink: &'a dyn Sink,
    number: i64,
}

impl Replaying<'_> {
    async fn all(&self, tx: &mut PgConnection, ids: Option<&[i64]>) -> Result<Replay, BatchError> {
        let letters = dead_letters::lock_open(tx, self.subject.pipeline.id, ids, MAX_REPLAYED as i64).await?;
        let whole: Vec<&Letter> = letters.iter().filter(|letter| self.unsought(letter).is_none()).collect();
        let mut fates = self.fates(tx, &whole).await?;
        let mut replay = Replay::default();
        for letter in &letters {
            let (outcome, error) = match fates.remove(&letter.id) {
                None => match self.unsought(letter) {
                    None => (ReplayOutcome::Gone, None),
                    unsought => (ReplayOutcome::Refused, unsought),
                },
                Some(Ok(outcome)) => (outcome, None),
                Some(Err(refusal)) => (ReplayOutcome::Refused, Some(refusal)),
            };
            replay.note(ReplayedLetter { id: letter.id, outcome, error });
        }
        let closed = replay.letters.iter().filter(|letter| letter.outcome != ReplayOutcome::Refused);
        let closed: Vec<i64> = closed.map(|letter| letter.id).collect();
        dead_letters::close(tx, &closed).await?;
        for id in ids.unwrap_or_default() {
            if !letters.iter().any(|letter| letter.id == *id) {
                replay.note(ReplayedLetter { id: *id, outcome: ReplayOutcome::NotOpen, error: None });
            }
        }
        replay.left = dead_letters::open(tx, self.subject.pipeline.id).await?;
        Ok(replay)
    }

    /// Why the row of a letter cannot be looked for, so that it is not known to be gone.
    fn unsought(&self, letter: &Letter) -> Option<String> {
        self.subject.walk().key.iter().find_map(|KeyColumn { name, .. }| match letter.key.get(name) {
            None => {
                Some(format!("the letter was put aside by another key, without `{name}`: its row cannot be looked for"))
            }
            Some(Some(value)) if is_cut(value) => Some(format!(
                "only the beginning of `{name}` was kept, so the row cannot be looked for: run the pipeline again"
            )),
            Some(_) => None,
        })
    }

    /// Writes what can be written, and notes on the letters of all others why not. A row that is gone has no fate, nor has one
    /// that a step drops.
    async fn fates(&self, tx: &mut PgConnection, letters: &[&Letter]) -> Result<BTreeMap<i64, Replayed>, BatchError> {
        let keys = letters.iter().map(|letter| letter.key.0.clone()).collect();
        let query = RowsQuery { wanted: Wanted::Keys(keys), scope: Scope::Everything, bodies: true };
        let reading = &self.subject.reading;
        let current = gather(reading.rows(tx, query)).await?;
        let (mut fates, mut read, mut short) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for row in current {
            let letter = letters.get(row.place).ok_or_else(|| BatchError::fatal("a row came that was not sought"))?.id;
            match row.doc {
                None => drop(fates.insert(letter, Err(too_long(row.bytes, reading.walk().max_row_bytes)))),
                Some(doc) => {
                    read.insert(letter, doc);
                    short.push((letter, row.key));
                }
            }
        }
        let docs = short.iter().filter_map(|(letter, _)| read.get(letter).cloned()).collect();
        let (mut ids, mut rows) = (Vec::new(), Vec::new());
        for ((letter, key), fate) in short.into_iter().zip(self.subject.take_through_steps(docs).await?) {
            match fate {
                ProcessedRow::Passed(doc) => {
                    ids.push(letter);
                    rows.push(Row { key, doc });
                }
                ProcessedRow::Rejected { reason, .. } => drop(fates.insert(letter, Err(reason))),
                ProcessedRow::Dropped => {}
            }
        }
        fates.extend(ids.into_iter().zip(self.sink.replay(self.subject, tx, &rows, self.number).await?));
        for letter in letters {
            let Some(Err(refusal)) = fates.get(&letter.id) else { continue };
            let row = match read.remove(&letter.id) {
                Some(row) => row,
                None => letter.key.encode_to_string().map_err(|error| BatchError::fatal(error.to_string()))?,
            };
            dead_letters::refuse_again(tx, letter.id, &row, refusal).await?;
        }
        Ok(fates)
    }
}

/// The rows, unless they take too much memory: how many letters there are says nothing about that.
async fn gather(mut rows: RowStream<'_>) -> Result<Vec<SourceRow>, BatchError> {
    let (mut gathered, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        bytes += row.doc.as_ref().map_or(0, String::len);
        if bytes > MOST_REJECTED_BYTES {
            return Err(BatchError::fatal(format!(
                "the rows of these letters have more than {} MiB together: replay fewer of them at once, by their ids",
                MOST_REJECTED_BYTES >> 20
            )));
        }
        gathered.push(row);
    }
    Ok(gathered)
}
