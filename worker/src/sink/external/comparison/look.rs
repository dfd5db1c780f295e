//! A closer look at what differs: both sides as they are by then.

use std::collections::BTreeMap;

use futures_util::{Stream, TryStreamExt};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::report::{BothValues, Depth, Difference, DifferenceKind},
    store::compared,
};

use super::{Comparison, SAMPLE, Scope, counts::parameters, sides::document};
use crate::{
    elasticsearch::{Fields, same_value},
    error::BatchError,
    source::home::bounded_row,
    step::ProcessedRow,
};

/// Rows that are looked at together.
const TOGETHER: usize = 100;
/// Characters of a value that are shown.
const SHOWN: usize = 200;

const CANDIDATES: &str = "select * from etl_page.read($1, $2, 'infinity', 9223372036854775807, true)
    as candidate (id text, key text[], settled boolean, doc text)";

/// A row that differed, as the source has it now.
#[derive(Debug, sqlx::FromRow)]
pub struct Candidate {
    pub id: String,
    pub key: Vec<Option<String>>,
    /// Whether it should be in the index by now; none where the source has no such row.
    pub settled: Option<bool>,
    /// As the query returns it; none where it is too long for a worker.
    pub doc: Option<String>,
}

/// What a candidate turned out to be.
#[derive(Debug)]
pub struct Looked {
    pub candidate: Candidate,
    /// What the plan's steps make of it.
    pub fate: Option<ProcessedRow>,
    pub kind: DifferenceKind,
    /// The document that is there.
    pub stored: Option<String>,
}

/// What still differs.
#[derive(Debug, Default)]
pub struct Remaining {
    pub missing: i64,
    pub extra: i64,
    pub different: i64,
    pub sample: Vec<Difference>,
}

impl Comparison<'_> {
    /// Looks at up to `limit` rows that differed, and forgets those that do not any more.
    pub async fn look(&self, tx: &mut PgConnection, limit: i64) -> Result<Remaining, BatchError> {
        let scope = self.of.scope(tx).await?;
        let mut remaining = Remaining::default();
        let mut ids = Vec::new();
        {
            let mut chunks = std::pin::pin!(self.candidates(tx, &scope, limit).try_chunks(TOGETHER));
            while let Some(chunk) = chunks.try_next().await.map_err(|error| error.1)? {
                for looked in self.examine(chunk).await? {
                    self.count_in(&mut remaining, &looked);
                    ids.push(looked.candidate.id);
                }
            }
        }
        if limit > SAMPLE as i64 {
            compared::keep_only(tx, &ids).await?;
        }
        Ok(remaining)
    }

    /// The rows that differed, as the source has them now.
    pub fn candidates<'c>(
        &'c self,
        connection: &'c mut PgConnection,
        scope: &Scope,
        limit: i64,
    ) -> impl Stream<Item = Result<Candidate, BatchError>> + 'c {
        let subject = self.of.subject;
        let query = format!(
            "select distinct on (d.id) d.id, d.key, case when not (source.* is null) then {settled} end as settled,
                    case when not (source.* is null) then {row} end as doc
             from (select id, key from pg_temp.vitrina_differing order by id limit ($5)[6]::bigint) as d
             left join ({query}\n) as source on {id} collate \"C\" = d.id
             order by d.id{newest}",
            settled = scope.settled(subject),
            row = bounded_row("source", self.of.max_row_bytes),
            query = subject.query(),
            // Not by the key: of one that is a digest the index does not tell it.
            id = subject.id_of_row(),
            newest = subject.newest_first(),
        );
        let mut parameters = parameters(scope);
        parameters.push(Some(limit.to_string()));
        sqlx::query_as::<_, Candidate>(CANDIDATES)
            .bind(query)
            .bind(parameters)
            .fetch(connection)
            .map_err(BatchError::from)
    }

    /// How many of the rows that differ, of some of them, the source returns otherwise when it is read twice.
    pub async fn unsteady(&self, tx: &mut PgConnection) -> Result<i64, BatchError> {
        let scope = self.of.scope(tx).await?;
        let once: Vec<Candidate> = self.candidates(tx, &scope, SAMPLE as i64).try_collect().await?;
        let twice: Vec<Candidate> = self.candidates(tx, &scope, SAMPLE as i64).try_collect().await?;
        let unsteady = once.iter().zip(&twice).filter(|(once, twice)| once.doc != twice.doc);
        Ok(unsteady.count() as i64)
    }

    /// Which of them differ still.
    pub async fn examine(&self, mut candidates: Vec<Candidate>) -> Result<Vec<Looked>, BatchError> {
        let ids: Vec<&str> =
            candidates.iter().map(|candidate| candidate.id.as_str()).filter(|id| !id.is_empty()).collect();
        let mut found = self.sink.fetch(&ids).await?;
        let fates = self.fates(candidates.iter_mut().map(|candidate| candidate.doc.take()).collect()).await?;
        let looked = candidates.into_iter().zip(fates).filter_map(|(candidate, fate)| {
            let stored = found.remove(&candidate.id);
            let kind = self.kind(candidate.settled, document(fate.as_ref()), stored.as_deref())?;
            Some(Looked { candidate, fate, kind, stored })
        });
        Ok(looked.collect())
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

    fn count_in(&self, remaining: &mut Remaining, looked: &Looked) {
        *match looked.kind {
            DifferenceKind::Missing => &mut remaining.missing,
            DifferenceKind::Extra => &mut remaining.extra,
            DifferenceKind::Different => &mut remaining.different,
        } += 1;
        if remaining.sample.len() < SAMPLE {
            let key = self.of.subject.key.iter().cloned().zip(looked.candidate.key.iter().cloned()).collect();
            remaining.sample.push(Difference { kind: looked.kind, key, columns: self.values(looked) });
        }
    }

    /// The fields that differ, with both values.
    fn values(&self, looked: &Looked) -> BTreeMap<String, BothValues> {
        let (Some(written), Some(stored)) = (document(looked.fate.as_ref()), &looked.stored) else {
            return BTreeMap::new();
        };
        let (Ok(source), Ok(target)) =
            (serde_json::from_str::<Fields<'_>>(written), serde_json::from_str::<Fields<'_>>(stored))
        else {
            return BTreeMap::new();
        };
        let value =
            |fields: &Fields<'_>, name: &String| fields.get(name).map_or("null", |value| value.get()).to_owned();
        let pairs = self.fields.iter().map(|name| (name, value(&source, name), value(&target, name)));
        pairs
            .filter(|(_, source, target)| !same_value(source, target))
            .map(|(name, source, target)| (name.clone(), BothValues { source: shown(&source), target: shown(&target) }))
            .collect()
    }
}

/// The beginning of a value as people read it.
fn shown(json: &str) -> Option<String> {
    let text = match json {
        "null" => return None,
        _ => serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()),
    };
    Some(text.chars().take(SHOWN).collect())
}
