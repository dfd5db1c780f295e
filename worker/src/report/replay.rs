//! Tries rows again that could not be written.
//!
//! What is written is the row as its source has it *now*, never the one that was put aside: that may be older than what
//! the target has by now. No run can begin meanwhile, so nothing newer is overwritten. A letter is closed in the
//! transaction that wrote its row, or after an index has it, so replaying twice changes nothing.

mod statements;

use std::{collections::BTreeMap, time::Instant};

use serde::Deserialize;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Report,
        report::{MAX_REPLAYED, Replay, ReplayOutcome, ReplayedLetter},
    },
    reports::{self, HeldReport},
    store::{
        self,
        dead_letters::{self, Letter},
        pages, pipelines, write_numbers,
    },
};

use super::{encode, subject};
use crate::{
    environment::Environment,
    error::BatchError,
    sink::{Fate, Row, Sink, Subject, refuse_unfinished},
    source::too_long,
    step::ProcessedRow,
};

/// Replays open letters of the report's pipeline, those with these ids or all, and ends the report.
pub async fn make(env: &Environment, job: &HeldReport, report: &Report, ids: Option<&[i64]>) -> Result<(), BatchError> {
    let begun = Instant::now();
    let (subject, sink) = subject::look(env, job, report).await?;
    subject.refuse_impure("a replay")?;
    let mut session = env.sessions(&env.reports, report.id.0).acquire().await?;
    let mut tx = session.begin_named("begin").await?;
    store::be_patient(&mut tx).await?;
    let target = subject.draft().final_target().0;
    let locked = pipelines::lock_writers(&mut tx, report.pipeline_id, target).await?;
    if locked.is_none_or(|pipeline| pipeline.version != subject.pipeline.version) {
        return Err(BatchError::NotYet("the pipeline was changed meanwhile"));
    }
    refuse_unfinished(&mut tx, report.pipeline_id, report.requested_at).await?;
    let mut replay = Replaying { env, subject: &subject, sink: &*sink }.all(&mut tx, ids).await?;
    replay.took_ms = begun.elapsed().as_millis() as u64;
    if !reports::finish(&mut tx, job, &encode(&replay)?).await? {
        return Err(BatchError::TakenOver("the job was given to another worker".to_owned()));
    }
    tx.commit().await?;
    tracing::info!(rows_written = replay.written, rows_rejected = replay.refused, "replayed dead letters");
    Ok(())
}

/// A replay on its way.
struct Replaying<'a> {
    env: &'a Environment,
    subject: &'a Subject,
    sink: &'a dyn Sink,
}

/// The row of a letter as its source has it now.
#[derive(Debug, Deserialize)]
struct Current {
    letter: i64,
    /// The values of the target's key, in the server's text form.
    key: Vec<Option<String>>,
    /// As the query returns it; none where it is too long.
    read: Option<String>,
    /// Its bytes.
    bytes: i64,
}

impl Replaying<'_> {
    async fn all(&self, tx: &mut PgConnection, ids: Option<&[i64]>) -> Result<Replay, BatchError> {
        let letters = dead_letters::lock_open(tx, self.subject.pipeline.id, ids, MAX_REPLAYED as i64).await?;
        let mut fates = self.fates(tx, &letters).await?;
        let mut replay = Replay::default();
        for letter in &letters {
            let (outcome, error) = match fates.remove(&letter.id) {
                None => (ReplayOutcome::Gone, None),
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

    /// Writes what can be written, and notes on the letters of all others why not. A row that is gone has no fate, nor has one
    /// that a step drops.
    async fn fates(&self, tx: &mut PgConnection, letters: &[Letter]) -> Result<BTreeMap<i64, Fate>, BatchError> {
        // Taken before the rows are read: whatever was read before them is older.
        let number = write_numbers::take(tx).await?;
        let mut fates = BTreeMap::new();
        let (short, long): (Vec<_>, Vec<_>) =
            self.current(tx, letters).await?.into_iter().partition(|row| row.read.is_some());
        fates.extend(long.iter().map(|row| (row.letter, Err(too_long(row.bytes, self.env.max_row_bytes)))));
        let docs = short.iter().filter_map(|row| row.read.clone()).collect();
        let (mut ids, mut rows, mut read) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (row, fate) in short.into_iter().zip(self.subject.take_through_steps(docs).await?) {
            read.extend(row.read.map(|whole| (row.letter, whole)));
            match fate {
                ProcessedRow::Passed(doc) => {
                    ids.push(row.letter);
                    rows.push(Row { key: row.key, doc });
                }
                ProcessedRow::Rejected { reason, .. } => drop(fates.insert(row.letter, Err(reason))),
                ProcessedRow::Dropped => {}
            }
        }
        fates.extend(ids.into_iter().zip(self.sink.replay(self.subject, tx, &rows, number).await?));
        for letter in letters {
            let Some(Err(refusal)) = fates.get(&letter.id) else { continue };
            let row = read.remove(&letter.id).unwrap_or_else(|| letter.key.to_string());
            dead_letters::refuse_again(tx, letter.id, &row, refusal).await?;
        }
        Ok(fates)
    }

    /// The rows of the letters' keys as the source has them now.
    async fn current(&self, tx: &mut PgConnection, letters: &[Letter]) -> Result<Vec<Current>, BatchError> {
        let keys: Vec<_> = letters.iter().map(|letter| (letter.id, &letter.key)).collect();
        let keys = serde_json::to_string(&keys).map_err(|error| BatchError::fatal(error.to_string()))?;
        let found =
            pages::read_first(tx, &statements::read_current(self.subject, self.env.max_row_bytes), &[Some(keys)])
                .await?;
        let text = found.and_then(|found| found.0.into_iter().next().flatten()).unwrap_or_default();
        serde_json::from_str(&text).map_err(|error| BatchError::fatal(format!("rows cannot be read: {error}")))
    }
}
