//! Compares an index with its source, and repairs it.
//!
//! No statement can read both sides. So both are read once, row by row and page by page; of each row its id and a
//! fingerprint of its document are put down in tables of the session, where the server tells them apart (`sides`). Neither
//! the worker nor the server ever holds more than ids and fingerprints. What differs is looked at once more, as it is by
//! then on both sides, and only then called drift (`look`); `repair` writes just that, `counts` tells numbers alone.

mod counts;
mod look;
mod repair;
mod sides;

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Report,
        report::{Depth, Difference, Reconciliation, Repair, Verdict},
    },
    reports::{self, HeldReport},
    store::{self, compared::Totals},
};

use self::counts::Counted;
use super::{
    SAMPLE, forget_others, note,
    scope::{self, Scope},
};
use crate::{
    elasticsearch::Index,
    environment::Environment,
    error::BatchError,
    report::{encode, subject::Subject, unfinished},
    session::Sessions,
};

/// One snapshot for all of the source.
const SNAPSHOT: &str = "begin isolation level repeatable read read only";
/// Where more rows differ than this, that is no matter of a moment, and they are not looked at once more.
const MOST_KEYS: i64 = 1000;
/// How often what differs is looked at again. A run may be writing all the while.
const LOOKS: usize = 2;

/// A comparison of one index.
pub struct Comparison<'a> {
    env: &'a Environment,
    report: &'a Report,
    subject: Subject,
    index: Index,
    name: String,
    depth: Depth,
    /// The fields that are compared: those of the documents as they are written now.
    fields: Vec<String>,
    /// Whether documents are made, and not only ids.
    makes_documents: bool,
}

impl<'a> Comparison<'a> {
    /// The comparison of a pipeline with its index.
    pub fn of(
        env: &'a Environment,
        report: &'a Report,
        subject: Subject,
        name: String,
        (depth, repair): (Depth, Repair),
    ) -> Result<Self, BatchError> {
        let index = subject.index(env, &name)?;
        let fields = subject.reader.arriving.iter().map(|column| column.name.clone()).collect();
        let makes_documents = depth == Depth::Rows || repair != Repair::Nothing;
        Ok(Self { env, report, subject, index, name, depth, fields, makes_documents })
    }

    /// Compares, repairs if that is wanted, and ends the report.
    pub async fn make(&self, job: &HeldReport, repair: Repair) -> Result<(), BatchError> {
        let begun = Instant::now();
        let mut connection = self.sessions().acquire().await?;
        if repair != Repair::Nothing {
            unfinished::refuse(&mut connection, self.report.pipeline_id, self.report.requested_at).await?;
        }
        self.index.check_access().await?;
        let is_there = self.index.is_there().await?;
        if is_there {
            self.index.refresh(&self.name).await?;
        }
        let mut tx = connection.begin_named("begin").await?;
        store::be_patient(&mut tx).await?;
        let mut result = match self.depth {
            Depth::Counts => self.numbers(&mut tx, is_there).await?,
            Depth::Keys | Depth::Rows => self.compare(&mut tx, is_there).await?,
        };
        if repair != Repair::Nothing {
            let repaired = self.repair(&mut tx, &result, is_there, repair).await?;
            forget_others(&mut tx, job, &self.subject, repaired).await?;
            tracing::info!(rows_written = repaired.written, rows_removed = repaired.removed, "repaired what differed");
            result.repaired = Some(repaired);
        }
        result.took_ms = begun.elapsed().as_millis() as u64;
        if !reports::finish(&mut tx, job, &encode(&result)?).await? {
            return Err(BatchError::TakenOver("the job was given to another worker".to_owned()));
        }
        tx.commit().await?;
        Ok(())
    }

    fn sessions(&self) -> Sessions {
        self.env.sessions(&self.env.reports, self.report.id.0)
    }

    async fn scope(&self, tx: &mut PgConnection) -> Result<Scope, BatchError> {
        scope::read(tx, self.report.pipeline_id, &self.subject, self.report.requested_at).await
    }

    /// Numbers alone; where some rows are in flight, or the numbers differ, those of a comparison by keys.
    async fn numbers(&self, tx: &mut PgConnection, is_there: bool) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count(is_there).await?;
        let mut totals = counted.totals();
        if counted.in_flight > 0 || counted.source_rows != counted.target_rows {
            totals = self.tell_apart(tx, is_there).await?;
            self.look_again(tx, &mut totals).await?;
            self.leave_out_versions(&mut counted, &totals).await?;
        }
        let agree = totals.source_rows == totals.target_rows && (totals.in_flight > 0 || counted.bounds_agree());
        let verdict = if agree { Verdict::Match } else { Verdict::Drift };
        let mut result = self.result(verdict, &counted, &totals, Vec::new());
        if verdict == Verdict::Drift {
            result.note = note(&self.subject, 0);
        }
        Ok(Reconciliation { missing: None, extra: None, ..result })
    }

    /// Compares keys or rows, and looks at what differs once more.
    async fn compare(&self, tx: &mut PgConnection, is_there: bool) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count(is_there).await?;
        let mut totals = self.tell_apart(tx, is_there).await?;
        self.leave_out_versions(&mut counted, &totals).await?;
        let sample = self.look_again(tx, &mut totals).await?;
        let verdict = if differing(&totals) == 0 { Verdict::Match } else { Verdict::Drift };
        let mut result = self.result(verdict, &counted, &totals, sample);
        if verdict == Verdict::Drift {
            result.note = note(&self.subject, self.unsteady(tx).await?);
        }
        Ok(result)
    }

    /// Looks at what differs once more, where that is not too much. Returns some of it.
    async fn look_again(&self, tx: &mut PgConnection, totals: &mut Totals) -> Result<Vec<Difference>, BatchError> {
        if differing(totals) > MOST_KEYS {
            return Ok(self.look(tx, SAMPLE as i64).await?.sample);
        }
        let mut sample = Vec::new();
        for _ in 0..LOOKS {
            if differing(totals) == 0 {
                break;
            }
            let looked = self.look(tx, MOST_KEYS).await?;
            (totals.missing, totals.extra, totals.different) = (looked.missing, looked.extra, looked.different);
            totals.target_rows = totals.source_rows - looked.missing + looked.extra;
            sample = looked.sample;
        }
        Ok(sample)
    }

    fn result(&self, verdict: Verdict, counted: &Counted, totals: &Totals, sample: Vec<Difference>) -> Reconciliation {
        let control = self.control().map(|column| column.name.clone());
        let [source_min, source_max, target_min, target_max] = counted.shown();
        Reconciliation {
            depth: self.depth,
            source_rows: totals.source_rows,
            target_rows: totals.target_rows,
            missing: Some(totals.missing),
            extra: Some(totals.extra),
            different: (self.depth == Depth::Rows).then_some(totals.different),
            in_flight: totals.in_flight,
            control_column: control.unwrap_or_default(),
            source_min,
            source_max,
            target_min,
            target_max,
            verdict,
            sample,
            note: None,
            repaired: None,
            took_ms: 0,
        }
    }
}

fn differing(totals: &Totals) -> i64 {
    totals.missing + totals.extra + totals.different
}
