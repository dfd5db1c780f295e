//! Writes rows to an external sink, before their letters are closed: a worker that dies in between finds them written the next
//! time, and closes them.

use std::collections::{HashMap, HashSet};

use futures_util::stream::{self, StreamExt};
use sqlx::PgConnection;
use vitrina_shared::domain::report::ReplayOutcome;

use super::{ExternalSink, Mending, Record, fingerprint::fingerprint, refuse_emptied};
use crate::{
    error::BatchError,
    row_id::id_of_row,
    sink::{Replayed, Row, Subject},
};

const TOGETHER: usize = 100;

/// Writes the documents that are not there yet, with this number.
pub async fn write(
    sink: &dyn ExternalSink,
    subject: &Subject,
    tx: &mut PgConnection,
    rows: &[Row],
    number: i64,
) -> Result<Vec<Replayed>, BatchError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    refuse_emptied(tx, sink).await?;
    let fields = subject.fields();
    let hash = |doc: &str| fingerprint(doc, &fields);
    // Refused rows are no reason to end: they were refused before.
    let mut writer = sink.mend(number, Mending::Write(u64::MAX));
    let mut there = HashSet::new();
    for together in rows.chunks(TOGETHER) {
        let ids: Vec<String> = together.iter().map(|row| id_of_row(&row.key)).collect();
        let known: Vec<&str> = ids.iter().map(String::as_str).filter(|id| !id.is_empty()).collect();
        let found = sink.fetch(&known, true).await?;
        let (same, changed): (Vec<_>, Vec<_>) = ids
            .into_iter()
            .zip(together)
            .partition(|(id, row)| found.get(id).is_some_and(|stored| hash(stored) == hash(&row.doc)));
        there.extend(same.into_iter().map(|(id, _)| id));
        let records = changed.into_iter().map(|(id, row)| Ok(Record { id, doc: row.doc.clone() }));
        writer.take(stream::iter(records).boxed()).await?;
    }
    let written = writer.finish(Vec::new()).await?;
    if let Some(overtaken) = written.overtaken {
        return Err(overtaken.explain(tx, sink.target()).await?);
    }
    let refused: HashMap<String, String> = written.rejected.into_iter().map(|row| (row.id, row.error)).collect();
    Ok(rows.iter().map(|row| fate(&id_of_row(&row.key), &there, &refused)).collect())
}

fn fate(id: &str, there: &HashSet<String>, refused: &HashMap<String, String>) -> Replayed {
    match refused.get(id) {
        Some(reason) => Err(reason.clone()),
        None if there.contains(id) => Ok(ReplayOutcome::Unchanged),
        None => Ok(ReplayOutcome::Written),
    }
}
