//! Compares an external sink with its source, and repairs it.
//!
//! No statement can read both sides. So both are read once, row by row and page by page; of each row its id and a
//! fingerprint of its document are put down in tables of the session, where the server tells them apart (`sides`). Neither
//! the worker nor the server ever holds more than ids and fingerprints. What differs is looked at once more, as it is by
//! then on both sides, and only then called drift (`look`); `repair` writes just that, `counts` tells numbers alone.

mod counts;
mod look;
mod repair;
mod sides;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::report::{Depth, Difference, Reconciliation, Verdict},
    store::{self, comparison::Totals},
};

use self::counts::Counted;
use super::ExternalSink;
use crate::{
    error::BatchError,
    session::Session,
    sink::{Compared, Comparing, SAMPLE, Scope},
};

/// One snapshot for all of the source.
const SNAPSHOT: &str = "begin isolation level repeatable read read only";
/// Where more rows differ than this, that is no matter of a moment, and they are not looked at once more.
const MOST_KEYS: i64 = 1000;
/// How often what differs is looked at again. A run may be writing all the while.
const LOOKS: usize = 2;

/// A comparison of one external sink.
struct Comparison<'a> {
    sink: &'a dyn ExternalSink,
    of: &'a Comparing<'a>,
    is_there: bool,
    /// The fields that are compared: those of the documents as they are written now.
    fields: Vec<String>,
    /// Whether documents are made, and not only ids.
    makes_documents: bool,
}

/// Compares a pipeline with its external sink.
pub async fn compare<'a>(
    sink: &'a dyn ExternalSink,
    of: &'a Comparing<'a>,
    session: &'a mut Session,
) -> Result<Compared<'a>, BatchError> {
    let is_there = sink.is_there().await?;
    let makes_documents = of.depth == Depth::Rows || of.repairs;
    let comparison = Comparison { sink, of, is_there, fields: of.subject.fields(), makes_documents };
    let mut tx = session.begin_named("begin").await?;
    store::be_patient(&mut tx).await?;
    let result = match of.depth {
        Depth::Counts => comparison.numbers(&mut tx).await?,
        Depth::Keys | Depth::Rows => comparison.compare(&mut tx).await?,
    };
    Ok(Compared { result, tx, differing: Box::new(comparison) })
}

impl Comparison<'_> {
    /// Numbers alone; where some rows are in flight, or the numbers differ, those of a comparison by keys.
    async fn numbers(&self, tx: &mut PgConnection) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count().await?;
        let mut totals = counted.totals();
        if counted.in_flight > 0 || counted.source_rows != counted.target_rows {
            totals = self.tell_apart(tx).await?;
            self.look_again(tx, &mut totals).await?;
            self.leave_out_versions(&mut counted, &totals).await?;
        }
        let agree = totals.source_rows == totals.target_rows && (totals.in_flight > 0 || counted.bounds_agree());
        let verdict = if agree { Verdict::Match } else { Verdict::Drift };
        let mut result = self.result(verdict, &counted, &totals, Vec::new());
        if verdict == Verdict::Drift {
            result.note = self.of.subject.note(0);
        }
        Ok(Reconciliation { missing: None, extra: None, ..result })
    }

    /// Compares keys or rows, and looks at what differs once more.
    async fn compare(&self, tx: &mut PgConnection) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count().await?;
        let mut totals = self.tell_apart(tx).await?;
        self.leave_out_versions(&mut counted, &totals).await?;
        let sample = self.look_again(tx, &mut totals).await?;
        let verdict = if differing(&totals) == 0 { Verdict::Match } else { Verdict::Drift };
        let mut result = self.result(verdict, &counted, &totals, sample);
        if verdict == Verdict::Drift {
            result.note = self.of.subject.note(self.unsteady(tx).await?);
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
            depth: self.of.depth,
            source_rows: totals.source_rows,
            target_rows: totals.target_rows,
            missing: Some(totals.missing),
            extra: Some(totals.extra),
            different: (self.of.depth == Depth::Rows).then_some(totals.different),
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
