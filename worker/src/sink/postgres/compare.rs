//! Compares a mart with its source, and repairs it.
//!
//! `sides` makes both sides comparable, `statements` is the SQL. Everything is compared by the server in one snapshot.
//! What seems to differ is looked at once more in a new one, and only then called drift: a writer that was in
//! between has committed by then.

mod sides;
mod statements;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Mode,
        report::{BothValues, Depth, Difference, DifferenceKind, Reconciliation, Repaired},
    },
    store::{comparison::Totals, pages},
};

use self::{
    sides::Sides,
    statements::{Closer, MOST_KEYS, RepairStatement},
};
use super::mart::Mart;
use crate::{
    error::{BatchError, KEEPS_ROWS, is_row_error},
    session::Session,
    sink::{Bounds, Compared, Comparing, Differing, RemovalLimit, comparing::SAMPLE},
    source::{Scope, home::PageSql},
};

/// Its rows are made by the worker, so the server has nothing to compare the mart with; a run does that as it writes.
const WITH_TRANSFORMS: &str = "the rows of a pipeline with transforms are compared by running it: reset it (if it is \
    incremental) and run it, which writes the rows that differ and counts them; depth `keys` finds rows that are missing \
    or extra";
/// One snapshot for everything, one of the server's cores for as long as it takes.
const SNAPSHOT: &str = "begin isolation level repeatable read read only; set local max_parallel_workers_per_gather = 0";

/// The values of a key, as text.
type Key = Vec<Option<String>>;

struct MartComparison<'a> {
    of: &'a Comparing<'a>,
    source: PageSql<'a>,
    mart: &'a Mart,
    limit: &'a RemovalLimit,
    /// The rows that a repair looks at again; none where there is nothing to repair.
    differing: Option<(Closer, Vec<Key>)>,
}

#[derive(Debug, Deserialize)]
struct MartCounts {
    #[serde(flatten)]
    totals: Totals,
    #[serde(flatten)]
    bounds: Bounds,
}

#[derive(Debug, Deserialize)]
struct Coarse {
    same_rows: i64,
    in_flight: i64,
    #[serde(flatten)]
    bounds: Bounds,
    buckets: Vec<u32>,
}

#[derive(Debug, Default, Deserialize)]
struct Narrow {
    #[serde(flatten)]
    totals: Totals,
    /// The kind and the key of each.
    keys: Vec<Key>,
}

#[derive(Debug, Deserialize)]
struct Detail {
    key: Key,
    columns: BTreeMap<String, BothValues>,
}

impl MartCounts {
    fn matches(&self) -> bool {
        let Bounds { source_min, source_max, target_min, target_max } = &self.bounds;
        self.totals.source_rows == self.totals.target_rows && source_min == target_min && source_max == target_max
    }
}

impl Narrow {
    /// Whether every row that differs is listed.
    fn is_whole(&self) -> bool {
        self.keys.len() < MOST_KEYS
    }
}

pub async fn compare<'a>(
    mart: &'a Mart,
    limit: &'a RemovalLimit,
    of: &'a Comparing<'a>,
    session: &'a mut Session,
) -> Result<Compared<'a>, BatchError> {
    if of.subject.has_transforms() && (of.depth == Depth::Rows || of.repairs) {
        return Err(BatchError::fatal(WITH_TRANSFORMS));
    }
    let source = of.subject.home_sql()?;
    let _waiting = of.sessions.wait();
    let mut comparison = MartComparison { of, source, mart, limit, differing: None };
    let (result, differing) = match of.depth {
        Depth::Counts => (comparison.count(session).await?, None),
        Depth::Keys | Depth::Rows => comparison.compare(session).await?,
    };
    let tx = session.begin_named("begin").await?;
    comparison.differing = differing;
    Ok(Compared { result, tx, differing: Box::new(comparison) })
}

impl MartComparison<'_> {
    fn sides<'s>(&'s self, scope: &'s Scope) -> Sides<'s> {
        Sides { subject: self.of.subject, source: self.source, mart: self.mart, depth: self.of.depth, scope }
    }

    /// Counts, and counts again where the numbers differ.
    async fn count(&self, session: &mut Session) -> Result<Reconciliation, BatchError> {
        let mut counted = self.count_once(session).await?;
        if !counted.matches() {
            counted = self.count_once(session).await?;
        }
        let agree = counted.matches();
        Ok(self.result(agree, &counted.totals, counted.bounds, (Vec::new(), 0)))
    }

    async fn count_once(&self, session: &mut Session) -> Result<MartCounts, BatchError> {
        let mut tx = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut tx).await?;
        let sides = self.sides(&scope);
        let mut counted: MartCounts = ask(&mut tx, &sides.counts(false), &scope, None).await?;
        if !counted.matches() && self.of.subject.draft().mode == Mode::Incremental {
            counted = ask(&mut tx, &sides.counts(true), &scope, None).await?;
        }
        tx.rollback().await?;
        Ok(counted)
    }

    /// Compares keys or rows, and looks at what differs once more.
    async fn compare(&self, session: &mut Session) -> Result<(Reconciliation, Option<(Closer, Vec<Key>)>), BatchError> {
        let mut tx = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut tx).await?;
        let coarse: Coarse = ask(&mut tx, &self.sides(&scope).coarse(), &scope, None).await?;
        let mut narrow = Narrow::default();
        let (mut sample, mut unsteady) = (Vec::new(), 0);
        let closer = Closer::Buckets(coarse.buckets);
        if closer != Closer::Buckets(Vec::new()) {
            narrow = ask(&mut tx, &self.sides(&scope).narrow(&closer), &scope, None).await?;
        }
        tx.rollback().await?;
        if narrow.totals.differing() > 0 {
            let mut tx = session.begin_named(SNAPSHOT).await?;
            let scope = self.of.scope(&mut tx).await?;
            narrow = self.confirm(&mut tx, &scope, narrow).await?;
            sample = self.sample(&mut tx, &scope, &narrow).await?;
            unsteady = self.unsteady(&mut tx, &scope, &narrow).await?;
            tx.rollback().await?;
        }
        let mut totals = Totals { in_flight: coarse.in_flight, ..narrow.totals.clone() };
        // A closer look at everything has counted the rows of equal buckets already.
        if !closer.is_everything() {
            totals.source_rows += coarse.same_rows;
            totals.target_rows += coarse.same_rows;
        }
        let differs = totals.differing() > 0;
        let result = self.result(!differs, &totals, coarse.bounds, (sample, unsteady));
        let keys = narrow.keys.iter().map(|entry| entry[1..].to_vec()).collect();
        let closer = differs.then(|| if narrow.is_whole() { Closer::Keys } else { closer });
        Ok((result, closer.map(|closer| (closer, keys))))
    }

    /// Looks at what differs once more. Where it is so much that not every key is known, it is no matter of a moment.
    async fn confirm(&self, tx: &mut PgConnection, scope: &Scope, before: Narrow) -> Result<Narrow, BatchError> {
        if !before.is_whole() {
            return Ok(before);
        }
        let keys: Vec<&[Option<String>]> = before.keys.iter().map(|entry| &entry[1..]).collect();
        let Narrow { totals: again, keys } =
            ask(tx, &self.sides(scope).narrow(&Closer::Keys), scope, Some(&keys)).await?;
        let before = before.totals;
        // What was missing has been written since, and what was extra removed.
        let target_rows = before.target_rows + (before.missing - again.missing) - (before.extra - again.extra);
        Ok(Narrow { totals: Totals { source_rows: before.source_rows, target_rows, ..again }, keys })
    }

    fn result(&self, agree: bool, totals: &Totals, bounds: Bounds, found: (Vec<Difference>, i64)) -> Reconciliation {
        let sides = self.sides(&Scope::Everything);
        self.of.result(agree, totals, (sides.control().map(|(column, _)| column), bounds), found)
    }

    /// Some of the rows that differ, with the values that do.
    async fn sample(
        &self,
        tx: &mut PgConnection,
        scope: &Scope,
        narrow: &Narrow,
    ) -> Result<Vec<Difference>, BatchError> {
        let shown = &narrow.keys[..narrow.keys.len().min(SAMPLE)];
        let different = |entry: &&Key| entry[0].as_deref() == Some(DifferenceKind::Different.as_str());
        let keys: Vec<&[Option<String>]> = shown.iter().filter(different).map(|entry| &entry[1..]).collect();
        let details: Vec<Detail> = match keys.is_empty() {
            true => Vec::new(),
            false => ask(tx, &self.sides(scope).details(), scope, Some(&keys)).await?,
        };
        let details: BTreeMap<Key, BTreeMap<String, BothValues>> =
            details.into_iter().map(|detail| (detail.key, detail.columns)).collect();
        let difference = |entry: &Key| {
            let kind = entry[0].as_deref().and_then(|kind| kind.parse().ok())?;
            let key = self.of.subject.walk().key_names().zip(entry[1..].iter().cloned()).collect();
            let columns = details.get(&entry[1..]).cloned().unwrap_or_default();
            Some(Difference { kind, key, columns })
        };
        Ok(shown.iter().filter_map(difference).collect())
    }

    /// How many of the rows that differ the source returns otherwise when it is read twice.
    async fn unsteady(&self, tx: &mut PgConnection, scope: &Scope, narrow: &Narrow) -> Result<i64, BatchError> {
        let keys: Vec<&[Option<String>]> = narrow.keys.iter().map(|entry| &entry[1..]).collect();
        if keys.is_empty() {
            return Ok(0);
        }
        ask(tx, &self.sides(scope).unsteady(), scope, Some(&keys)).await
    }
}

#[async_trait]
impl Differing for MartComparison<'_> {
    async fn repair(
        &self,
        tx: &mut PgConnection,
        remove_extra: bool,
        target_rows: u64,
    ) -> Result<Repaired, BatchError> {
        let mut repaired = Repaired { written: 0, removed: 0 };
        let Some((closer, keys)) = &self.differing else { return Ok(repaired) };
        let scope = self.of.scope(tx).await?;
        let keys: Vec<&[Option<String>]> = keys.iter().map(Vec::as_slice).collect();
        for statement in self.sides(&scope).repair(closer, remove_extra) {
            let statement = match statement {
                RepairStatement::Change(statement) => statement,
                // The statement before it holds its lock on the mart by now.
                RepairStatement::MakeRoom(statement) => match self.mart.can_still_rewrite(tx).await? {
                    true => statement,
                    false => continue,
                },
            };
            let outcome = pages::execute(tx, &statement, &parameters(&scope, Some(&keys))?)
                .await
                .map_err(|error| in_the_way(error, remove_extra))?;
            repaired.written += outcome.rows_written;
            repaired.removed += outcome.rows_read;
        }
        self.limit.refuse(repaired.removed.unsigned_abs(), target_rows)?;
        Ok(repaired)
    }
}

/// What to do about a row that the mart refuses, or that has a unique value of another one.
fn in_the_way(error: sqlx::Error, removes: bool) -> BatchError {
    let is_taken = error.as_database_error().is_some_and(|error| error.is_unique_violation());
    let is_refused = is_row_error(&error);
    let error = BatchError::from(error);
    if !is_taken && is_refused {
        return BatchError::fatal(format!(
            "nothing was repaired, the mart refuses a row of the source: {error}. Mend the row or the mart, or leave it: a \
             run puts such rows aside with `on_row_error: dead_letter`, a repair does not"
        ));
    }
    if !is_taken {
        return error;
    }
    let then = match removes {
        true => KEEPS_ROWS,
        false => "Repair `all`, which removes what is in the way, or run the pipeline with --full",
    };
    BatchError::fatal(format!(
        "nothing was repaired, another row of the mart has a value that is unique besides the key: {error}. {then}"
    ))
}

/// What statements get from `($5)[3]` on: the scope, and the keys that are looked at.
fn parameters(scope: &Scope, keys: Option<&[&[Option<String>]]>) -> Result<Vec<Option<String>>, BatchError> {
    let keys = keys.map(serde_json::to_string).transpose().map_err(|error| BatchError::fatal(error.to_string()))?;
    Ok(scope.bounds().into_iter().chain([keys]).collect())
}

/// Executes a statement of the comparison and reads its answer.
async fn ask<T: serde::de::DeserializeOwned>(
    tx: &mut PgConnection,
    statement: &str,
    scope: &Scope,
    keys: Option<&[&[Option<String>]]>,
) -> Result<T, BatchError> {
    let answer = pages::compare(tx, statement, &parameters(scope, keys)?).await?;
    serde_json::from_str(&answer).map_err(|error| BatchError::fatal(format!("a comparison cannot be read: {error}")))
}
