//! Tries rows again that could not be written.
//!
//! What is written is the row as its source has it *now*, never the one that was put aside: that may be older than what
//! the mart has by now. No run can begin meanwhile, so nothing newer is overwritten. A letter is closed in the transaction
//! that wrote its row, so replaying twice changes nothing.

mod statements;

use std::{collections::BTreeMap, time::Instant};

use sqlx::{Connection, PgConnection};
use vitrina_shared::{
    domain::{
        Report, TargetName,
        report::{MAX_REPLAYED, Replay, ReplayOutcome, ReplayedLetter},
        transform,
    },
    reports::{self, HeldReport},
    store::{
        comparisons,
        dead_letters::{self, Letter},
        pipelines,
    },
};

use super::{encode, subject::Subject, unfinished};
use crate::{batch::transformed, environment::Environment, error::BatchError};

/// Replays open letters of the report's pipeline, those with these ids or all, and ends the report.
pub async fn make(env: &Environment, job: &HeldReport, report: &Report, ids: Option<&[i64]>) -> Result<(), BatchError> {
    let begun = Instant::now();
    let subject = Subject::look(env, report.pipeline_id).await?;
    let TargetName::Mart(table) = &subject.target else {
        return Err(BatchError::fatal("only rows of tables of `analytics` can be replayed by this version"));
    };
    let mut connection = env.reports.acquire().await?;
    let mut tx = connection.begin().await?;
    let locked = pipelines::lock(&mut tx, &report.pipeline_id.into()).await?;
    if locked.is_none_or(|pipeline| pipeline.version != subject.pipeline.version) {
        return Err(BatchError::NotYet("the pipeline was changed meanwhile"));
    }
    unfinished::refuse(&mut tx, report.pipeline_id, report.requested_at).await?;
    let replaying = Replaying { subject: &subject, table };
    let mut replay = replaying.all(&mut tx, ids).await?;
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
    subject: &'a Subject,
    table: &'a str,
}

impl Replaying<'_> {
    async fn all(&self, tx: &mut PgConnection, ids: Option<&[i64]>) -> Result<Replay, BatchError> {
        let letters = dead_letters::lock_open(tx, self.subject.pipeline.id, ids, MAX_REPLAYED as i64).await?;
        let current = self.current(tx, &letters).await?;
        let mut replay = Replay::default();
        for letter in &letters {
            let (outcome, error) = match current.get(&letter.id) {
                None => (ReplayOutcome::Gone, None),
                Some(row) => self.one(tx, letter, row).await?,
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

    /// The rows of the letters' keys as the source has them now, by letter.
    async fn current(&self, tx: &mut PgConnection, letters: &[Letter]) -> Result<BTreeMap<i64, String>, BatchError> {
        let keys: Vec<_> = letters.iter().map(|letter| (letter.id, &letter.key)).collect();
        let keys = serde_json::to_string(&keys).map_err(|error| BatchError::fatal(error.to_string()))?;
        let found = comparisons::execute(tx, &self.read_current(), &[Some(keys)]).await?;
        let text = found.last.and_then(|last| last.0.into_iter().next().flatten()).unwrap_or_default();
        let rows: Vec<(i64, String)> =
            serde_json::from_str(&text).map_err(|error| BatchError::fatal(format!("rows cannot be read: {error}")))?;
        Ok(rows.into_iter().collect())
    }

    /// Writes one row. What is refused is noted on its letter, which stays open.
    async fn one(
        &self,
        tx: &mut PgConnection,
        letter: &Letter,
        row: &str,
    ) -> Result<(ReplayOutcome, Option<String>), BatchError> {
        let transforms = transform::configured(&self.subject.draft().tasks);
        let refusal = match transformed(row, &transforms) {
            Ok(changed) => {
                let mut attempt = tx.begin().await?;
                let document = changed.unwrap_or_else(|| row.to_owned());
                match comparisons::execute(&mut attempt, &self.upsert(), &[Some(document)]).await {
                    Ok(outcome) => {
                        attempt.commit().await?;
                        let written = outcome.rows_written > 0;
                        return Ok((if written { ReplayOutcome::Written } else { ReplayOutcome::Unchanged }, None));
                    }
                    Err(error) => {
                        attempt.rollback().await?;
                        refusal(error)?
                    }
                }
            }
            Err(reason) => reason,
        };
        dead_letters::refuse_again(tx, letter.id, row, &refusal).await?;
        Ok((ReplayOutcome::Refused, Some(refusal)))
    }
}

/// What the server has against a row: its values (SQLSTATE 22) or a constraint (23). Anything else ends the replay.
fn refusal(error: sqlx::Error) -> Result<String, BatchError> {
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default().into_owned();
    let of_the_row = code.starts_with("22") || code.starts_with("23");
    let error = BatchError::from(error);
    if let BatchError::Failed { message, .. } = &error
        && of_the_row
    {
        return Ok(message.clone());
    }
    Err(error)
}
