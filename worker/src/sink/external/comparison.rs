//! Compares an external sink with its source, and repairs it.
//!
//! No statement can read both sides. So both are read once, row by row and page by page; of each row its id and a
//! fingerprint of its document are put down in tables of the session, where the server compares them (`sides`). Neither
//! the worker nor the server ever holds more than ids and fingerprints. What differs is read once more, as it is by
//! then on both sides, and only then called drift (`recheck`); `repair` writes just that, `counts` reports numbers alone.

mod counts;
mod recheck;
mod repair;
mod sides;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::report::{Depth, Difference, Reconciliation},
    store::{self, comparison::Totals},
};

use super::ExternalSink;
use crate::{
    error::BatchError,
    session::Session,
    sink::{Compared, Comparing, comparing::SAMPLE},
};

/// One snapshot for all of the source.
const SNAPSHOT: &str = "begin isolation level repeatable read read only; \
    set local idle_in_transaction_session_timeout = '10min'";
/// Where more rows differ than this, that is no matter of a moment, and they are not read once more.
const MOST_KEYS: i64 = 1000;
/// How often what differs is read again. A run may be writing all the while.
const RECHECKS: usize = 2;

struct ExternalComparison<'a> {
    sink: &'a dyn ExternalSink,
    of: &'a Comparing<'a>,
    is_there: bool,
    /// The fields that are compared: those of the documents as they are written now.
    fields: Vec<String>,
    /// Whether documents are made, and not only ids.
    makes_documents: bool,
}

pub async fn compare<'a>(
    sink: &'a dyn ExternalSink,
    of: &'a Comparing<'a>,
    session: &'a mut Session,
) -> Result<Compared<'a>, BatchError> {
    let is_there = sink.is_there().await?;
    let makes_documents = of.depth == Depth::Rows || of.repairs;
    let comparison = ExternalComparison { sink, of, is_there, fields: of.subject.fields(), makes_documents };
    let mut tx = session.begin_named("begin").await?;
    store::allow_long_waits(&mut tx).await?;
    let result = match of.depth {
        Depth::Counts => comparison.numbers(&mut tx).await?,
        Depth::Keys | Depth::Rows => comparison.compare(&mut tx).await?,
    };
    Ok(Compared { result, tx, differing: Box::new(comparison) })
}

impl ExternalComparison<'_> {
    /// Numbers alone; where some rows are in flight, or the numbers differ, those of a comparison by keys.
    async fn numbers(&self, tx: &mut PgConnection) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count().await?;
        let mut totals = counted.totals.clone();
        if totals.in_flight > 0 || totals.source_rows != totals.target_rows {
            totals = self.read_and_compare(tx).await?;
            self.confirm_differing(tx, &mut totals).await?;
            self.leave_out_versions(&mut counted, &totals).await?;
        }
        let agree = totals.source_rows == totals.target_rows && (totals.in_flight > 0 || counted.bounds_agree());
        Ok(self.of.result(agree, &totals, (self.control(), counted.shown()), (Vec::new(), 0)))
    }

    /// Compares keys or rows, and reads what differs once more.
    async fn compare(&self, tx: &mut PgConnection) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count().await?;
        let mut totals = self.read_and_compare(tx).await?;
        self.leave_out_versions(&mut counted, &totals).await?;
        let sample = self.confirm_differing(tx, &mut totals).await?;
        let agree = totals.differing() == 0;
        let unsteady = if agree { 0 } else { self.unsteady(tx).await? };
        Ok(self.of.result(agree, &totals, (self.control(), counted.shown()), (sample, unsteady)))
    }

    /// Reads what differs once more, where that is not too much. Returns some of it.
    async fn confirm_differing(
        &self,
        tx: &mut PgConnection,
        totals: &mut Totals,
    ) -> Result<Vec<Difference>, BatchError> {
        if totals.differing() > MOST_KEYS {
            return Ok(self.recheck_differing(tx, SAMPLE as i64).await?.sample);
        }
        let mut sample = Vec::new();
        for _ in 0..RECHECKS {
            if totals.differing() == 0 {
                break;
            }
            let remaining = self.recheck_differing(tx, MOST_KEYS).await?;
            let target_rows = totals.source_rows - remaining.totals.missing + remaining.totals.extra;
            let Totals { source_rows, in_flight, .. } = *totals;
            *totals = Totals { source_rows, target_rows, in_flight, ..remaining.totals };
            sample = remaining.sample;
        }
        Ok(sample)
    }
}
