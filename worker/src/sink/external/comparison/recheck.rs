//! Reads what differs once more: both sides as they are by then.

use std::{collections::BTreeMap, pin::Pin};

use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::report::{BothValues, Depth, Difference, DifferenceKind},
    store::comparison::{self, DifferingRow, Totals},
};

use super::{ExternalComparison, SAMPLE, sides::document};
use crate::{
    error::BatchError,
    row_id,
    sink::external::fingerprint::{DocumentFields, same_value},
    source::{RowsQuery, Scope, SourceRow, Wanted, fill_block},
    step::ProcessedRow,
};

/// Rows that are rechecked together at the most: the sink returns all of their documents at once.
const TOGETHER: usize = 100;
/// Characters of a value that are shown.
const SHOWN: usize = 200;

/// A row that differed, as the source has it now.
#[derive(Debug)]
pub struct Candidate {
    pub id: String,
    pub key: Vec<Option<String>>,
    /// Whether it should be in the sink by now; none where the source has no such row.
    pub settled: Option<bool>,
    /// As the query returns it; none where it is too long for a worker.
    pub doc: Option<String>,
}

impl Candidate {
    /// About what it takes in memory.
    fn size(&self) -> usize {
        size_of::<Self>() + self.doc.as_ref().map_or(0, String::len)
    }
}

/// What a candidate turned out to be.
#[derive(Debug)]
pub struct Rechecked {
    pub candidate: Candidate,
    /// What the plan's steps make of it.
    pub fate: Option<ProcessedRow>,
    pub kind: DifferenceKind,
    pub stored: Option<String>,
}

#[derive(Debug, Default)]
pub struct Remaining {
    pub totals: Totals,
    pub sample: Vec<Difference>,
}

impl ExternalComparison<'_> {
    /// Reads up to `limit` rows that differed again, and forgets those that do not any more.
    pub async fn recheck_differing(&self, tx: &mut PgConnection, limit: i64) -> Result<Remaining, BatchError> {
        let scope = self.of.scope(tx).await?;
        let sought = comparison::differing(tx, None, limit).await?;
        let mut remaining = Remaining::default();
        let mut ids = Vec::new();
        {
            let mut candidates = self.candidates(tx, &scope, sought);
            while let Some(block) = next_block(&mut candidates).await? {
                for rechecked in self.recheck(block).await? {
                    self.count_in(&mut remaining, &rechecked);
                    ids.push(rechecked.candidate.id);
                }
            }
        }
        if limit > SAMPLE as i64 {
            comparison::keep_only(tx, &ids).await?;
        }
        Ok(remaining)
    }

    /// The rows that differed, as the source has them now.
    pub fn candidates<'c>(
        &'c self,
        connection: &'c mut PgConnection,
        scope: &Scope,
        sought: Vec<DifferingRow>,
    ) -> BoxStream<'c, Result<Candidate, BatchError>> {
        let ids = sought.iter().map(|differing| differing.id.clone()).collect();
        // By the id and not by the key: where the id is a digest, the sink does not tell the key.
        let query = RowsQuery { wanted: Wanted::Ids(ids), scope: scope.clone(), bodies: true };
        let rows = self.of.subject.reading.rows(connection, query).peekable();
        let state = (rows, sought.into_iter().enumerate());
        let candidates = stream::try_unfold(state, async |(mut rows, mut sought)| {
            let Some((place, DifferingRow { id, key })) = sought.next() else { return Ok(None) };
            let is_next = |row: &Result<SourceRow, _>| row.as_ref().map_or(true, |row| row.place == place);
            let row = Pin::new(&mut rows).next_if(is_next).await.transpose()?;
            let (settled, doc) = row.map_or((None, None), |row| (Some(row.settled), row.doc));
            Ok(Some((Candidate { id, key, settled, doc }, (rows, sought))))
        });
        candidates.boxed()
    }

    /// How many of the rows that differ, of some of them, the source returns otherwise when it is read twice.
    pub async fn unsteady(&self, tx: &mut PgConnection) -> Result<i64, BatchError> {
        let scope = self.of.scope(tx).await?;
        let sought = comparison::differing(tx, None, SAMPLE as i64).await?;
        // What is kept of a row is small: a row may not be.
        let hash = |candidate: Candidate| candidate.doc.map(|doc| row_id::digest(&doc));
        let once: Vec<_> = self.candidates(tx, &scope, sought.clone()).map_ok(hash).try_collect().await?;
        let twice: Vec<_> = self.candidates(tx, &scope, sought).map_ok(hash).try_collect().await?;
        Ok(once.iter().zip(&twice).filter(|(once, twice)| once != twice).count() as i64)
    }

    /// Which of them differ still.
    pub async fn recheck(&self, mut candidates: Vec<Candidate>) -> Result<Vec<Rechecked>, BatchError> {
        // Of what the source does not have it matters only that it is there.
        let is_compared = |candidate: &Candidate| self.of.depth == Depth::Rows && candidate.doc.is_some();
        let ids = |compared: bool| -> Vec<&str> {
            let wanted = candidates.iter().filter(|candidate| is_compared(candidate) == compared);
            wanted.map(|candidate| candidate.id.as_str()).filter(|id| !id.is_empty()).collect()
        };
        let mut found = self.sink.fetch(&ids(true), true).await?;
        found.extend(self.sink.fetch(&ids(false), false).await?);
        let fates = self.fates(candidates.iter_mut().map(|candidate| candidate.doc.take()).collect()).await?;
        let rechecked = candidates.into_iter().zip(fates).filter_map(|(candidate, fate)| {
            let stored = found.remove(&candidate.id);
            let kind = self.kind(candidate.settled, document(fate.as_ref()), stored.as_deref())?;
            Some(Rechecked { candidate, fate, kind, stored })
        });
        Ok(rechecked.collect())
    }

    fn kind(&self, settled: Option<bool>, doc: Option<&str>, stored: Option<&str>) -> Option<DifferenceKind> {
        match (settled, doc, stored) {
            (None, _, Some(_)) => Some(DifferenceKind::Extra),
            (Some(true), _, None) => Some(DifferenceKind::Missing),
            (Some(true), Some(doc), Some(stored)) if self.of.depth == Depth::Rows => {
                (self.hash(doc) != self.hash(stored)).then_some(DifferenceKind::Different)
            }
            (Some(true), None, Some(_)) if self.of.depth == Depth::Rows => Some(DifferenceKind::Different),
            (None | Some(_), _, _) => None,
        }
    }

    fn count_in(&self, remaining: &mut Remaining, rechecked: &Rechecked) {
        *match rechecked.kind {
            DifferenceKind::Missing => &mut remaining.totals.missing,
            DifferenceKind::Extra => &mut remaining.totals.extra,
            DifferenceKind::Different => &mut remaining.totals.different,
        } += 1;
        if remaining.sample.len() < SAMPLE {
            let key = self.of.subject.walk().key_names().zip(rechecked.candidate.key.iter().cloned()).collect();
            remaining.sample.push(Difference { kind: rechecked.kind, key, columns: self.values(rechecked) });
        }
    }

    /// The fields that differ, with both values.
    fn values(&self, rechecked: &Rechecked) -> BTreeMap<String, BothValues> {
        let (Some(written), Some(stored)) = (document(rechecked.fate.as_ref()), &rechecked.stored) else {
            return BTreeMap::new();
        };
        let (Ok(source), Ok(target)) =
            (serde_json::from_str::<DocumentFields<'_>>(written), serde_json::from_str::<DocumentFields<'_>>(stored))
        else {
            return BTreeMap::new();
        };
        let value = |fields: &DocumentFields<'_>, name: &String| {
            fields.get(name).map_or("null", |value| value.get()).to_owned()
        };
        let pairs = self.fields.iter().map(|name| (name, value(&source, name), value(&target, name)));
        pairs
            .filter(|(_, source, target)| !same_value(source, target))
            .map(|(name, source, target)| (name.clone(), BothValues { source: shown(&source), target: shown(&target) }))
            .collect()
    }
}

/// The candidates that are rechecked together next: a block by its bytes, and no more than [`TOGETHER`].
pub async fn next_block(
    candidates: &mut BoxStream<'_, Result<Candidate, BatchError>>,
) -> Result<Option<Vec<Candidate>>, BatchError> {
    let (block, _more) = fill_block(&mut candidates.take(TOGETHER), Candidate::size).await?;
    Ok(Some(block).filter(|block| !block.is_empty()))
}

/// The beginning of a value as people read it.
fn shown(json: &str) -> Option<String> {
    let text = match json {
        "null" => return None,
        _ => serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()),
    };
    Some(text.chars().take(SHOWN).collect())
}
