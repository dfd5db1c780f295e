//! Writes rows to an index, before their letters are closed: whoever dies in between finds them written, and closes them.

use std::collections::{HashMap, HashSet};

use sqlx::PgConnection;
use vitrina_shared::domain::report::ReplayOutcome;

use super::{Current, Fate};
use crate::{
    elasticsearch::{BulkWriter, Document, Stored, fingerprint},
    environment::Environment,
    error::BatchError,
    report::{emptied, subject::Subject},
    sink::{
        Row,
        elasticsearch::{action, document, overtaken, overtaken_by},
    },
};

/// Documents that are looked at together.
const TOGETHER: usize = 100;

/// Writes the documents that are not there yet, with this number.
pub async fn write(
    env: &Environment,
    subject: &Subject,
    name: &str,
    rows: &[Current],
    number: i64,
    tx: &mut PgConnection,
) -> Result<Vec<Fate>, BatchError> {
    let index = subject.index(env, name)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    index.check_access().await?;
    if !index.is_there().await? {
        return Err(BatchError::fatal(format!("`es:{name}` has no index: run the pipeline, which makes one")));
    }
    emptied::refuse(tx, &index).await?;
    let fields: Vec<String> = subject.reader.arriving.iter().map(|column| column.name.clone()).collect();
    let action = action(subject.draft().mode, index.options());
    // Refused rows are no reason to end: they were refused before.
    let mut writer = BulkWriter::new(index.route(), action, u64::MAX);
    let mut there = HashSet::new();
    for together in rows.chunks(TOGETHER) {
        let documents: Vec<Document> = together.iter().map(|row| of(row, number)).collect();
        let ids: Vec<&str> =
            documents.iter().map(|document| document.id.as_str()).filter(|id| !id.is_empty()).collect();
        let found = index.fetch(&ids).await?;
        for document in documents {
            if found.get(&document.id).is_some_and(|stored| is_same(stored, &document, &fields)) {
                there.insert(document.id);
            } else {
                writer.push(document).await?;
            }
        }
    }
    let written = writer.finish().await?;
    if let Some(version) = overtaken_by(&written) {
        return Err(overtaken(tx, name, version).await?);
    }
    let refused: HashMap<String, String> =
        written.rejected.into_iter().map(|row| (row.document.id, row.reason)).collect();
    Ok(rows.iter().map(|row| fate(&of(row, number).id, &there, &refused)).collect())
}

fn of(row: &Current, number: i64) -> Document {
    document(Row { key: row.key.clone(), doc: row.doc.clone() }, number)
}

fn is_same(stored: &Stored, document: &Document, fields: &[String]) -> bool {
    fingerprint(&stored.body, fields) == fingerprint(&document.body, fields)
}

fn fate(id: &str, there: &HashSet<String>, refused: &HashMap<String, String>) -> Fate {
    match refused.get(id) {
        Some(reason) => Err(reason.clone()),
        None if there.contains(id) => Ok(ReplayOutcome::Unchanged),
        None => Ok(ReplayOutcome::Written),
    }
}
