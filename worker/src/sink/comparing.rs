//! What is compared, and what was found.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use sqlx::{PgConnection, Postgres, Transaction};
use vitrina_shared::{
    domain::{
        SourceColumn,
        report::{Depth, Difference, Reconciliation, Repaired, Verdict},
    },
    store::comparison::Totals,
};

use super::{BatchError, Subject, scope};
use crate::{session::Sessions, source::Scope};

/// Differences that a comparison shows.
pub const SAMPLE: usize = 20;

#[derive(Debug)]
pub struct Comparing<'a> {
    pub subject: &'a Subject,
    pub depth: Depth,
    /// When the comparison was asked for.
    pub requested_at: DateTime<Utc>,
    pub repairs: bool,
    pub sessions: Sessions,
}

impl Comparing<'_> {
    /// Which rows of the source should be in the target by now, in the snapshot of this transaction.
    pub async fn scope(&self, tx: &mut PgConnection) -> Result<Scope, BatchError> {
        scope::read(tx, self.subject, self.requested_at).await
    }

    /// What was found of both sides, of which `unsteady` rows came differently when they were read twice.
    pub fn result(
        &self,
        agree: bool,
        totals: &Totals,
        (control, bounds): (Option<&SourceColumn>, Bounds),
        (sample, unsteady): (Vec<Difference>, i64),
    ) -> Reconciliation {
        let compares_keys = self.depth != Depth::Counts;
        Reconciliation {
            depth: self.depth,
            source_rows: totals.source_rows,
            target_rows: totals.target_rows,
            missing: compares_keys.then_some(totals.missing),
            extra: compares_keys.then_some(totals.extra),
            different: (self.depth == Depth::Rows).then_some(totals.different),
            in_flight: totals.in_flight,
            control_column: control.map(|column| column.name.clone()).unwrap_or_default(),
            source_min: bounds.source_min,
            source_max: bounds.source_max,
            target_min: bounds.target_min,
            target_max: bounds.target_max,
            verdict: if agree { Verdict::Match } else { Verdict::Drift },
            sample,
            note: if agree { None } else { self.subject.note(unsteady) },
            repaired: None,
            took_ms: 0,
        }
    }
}

/// The least and greatest values of the control column, as they are shown.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Bounds {
    pub source_min: Option<String>,
    pub source_max: Option<String>,
    pub target_min: Option<String>,
    pub target_max: Option<String>,
}

pub struct Compared<'a> {
    pub result: Reconciliation,
    /// The transaction in which it is repaired.
    pub tx: Transaction<'a, Postgres>,
    pub differing: Box<dyn Differing + 'a>,
}

#[async_trait]
pub trait Differing: Send + Sync {
    /// Writes what is missing or different and removes what is extra, where that is wanted, of so many rows. Each row is looked
    /// at once more.
    async fn repair(&self, tx: &mut PgConnection, remove_extra: bool, target_rows: u64)
    -> Result<Repaired, BatchError>;
}
