//! Both sides, put down by id: what the source has, and what the sink has.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Mode, report::Depth},
    store::comparison::{self, Entry, Side, SideCopy, Totals},
};

use super::{ExternalComparison, SNAPSHOT};
use crate::{
    error::{BatchError, SEVERAL_ROWS},
    row_id::{self, id_of_row},
    sink::external::fingerprint::fingerprint,
    source::{RowsQuery, SourceRow, Wanted, fill_block},
    step::ProcessedRow,
};

impl ExternalComparison<'_> {
    /// Reads both sides into temporary tables and has the server compare them.
    pub async fn read_and_compare(&self, tx: &mut PgConnection) -> Result<Totals, BatchError> {
        comparison::prepare(tx).await?;
        self.put_down_source(tx, false).await?;
        if comparison::repeats(tx).await? {
            // A source may have several versions of a row: the newest is the one that is written.
            if self.of.subject.draft().mode == Mode::Full || self.of.subject.reader().pages_itself() {
                return Err(BatchError::fatal(SEVERAL_ROWS));
            }
            comparison::forget_source(tx).await?;
            self.put_down_source(tx, true).await?;
        }
        if self.is_there {
            self.put_down_target(tx).await?;
        }
        Ok(comparison::compare_sides(tx).await?)
    }

    async fn put_down_source(&self, tx: &mut PgConnection, newest_only: bool) -> Result<(), BatchError> {
        let mut session = self.of.sessions.acquire().await?;
        let mut snapshot = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut snapshot).await?;
        let mut down = SideCopy::begin(tx, Side::Source).await?;
        let query = RowsQuery { wanted: Wanted::All { newest_only }, scope, bodies: self.of.depth == Depth::Rows };
        let mut rows = self.of.subject.reading.rows(&mut snapshot, query);
        loop {
            let (mut block, more) = fill_block(&mut rows, SourceRow::size).await?;
            let fates = self.fates(block.iter_mut().map(|row| row.doc.take()).collect()).await?;
            for (SourceRow { key, settled, .. }, fate) in block.into_iter().zip(fates) {
                let id = id_of_row(&key);
                // A row that is too long cannot be the same as any document.
                let hash = document(fate.as_ref()).map_or(0, |document| self.hash(document));
                down.add(&Entry { key: self.key_beside_id(&id, &key), id: &id, hash, settled });
                down.send().await?;
            }
            if !more {
                break;
            }
        }
        drop(rows);
        down.finish().await?;
        snapshot.rollback().await?;
        Ok(())
    }

    async fn put_down_target(&self, tx: &mut PgConnection) -> Result<(), BatchError> {
        let columns = self.of.subject.walk().key.len();
        let mut contents = self.sink.contents(self.of.depth == Depth::Rows).await?;
        let mut down = SideCopy::begin(tx, Side::Target).await?;
        loop {
            let mut put = |id: &str, body: &str| {
                let hash = if body.is_empty() { 0 } else { self.hash(body) };
                let key = row_id::key(id, columns).filter(|key| key.len() > 1);
                let key = key.and_then(|key| serde_json::to_string(&key).ok());
                down.add(&Entry { id, key, hash, settled: true });
            };
            let more = contents.next(&mut put).await?;
            down.send().await?;
            if !more {
                break;
            }
        }
        down.finish().await?;
        Ok(())
    }

    /// The key in JSON, unless the id is the key.
    fn key_beside_id(&self, id: &str, key: &[Option<String>]) -> Option<String> {
        let [Some(only)] = key else { return serde_json::to_string(key).ok() };
        if only == id { None } else { serde_json::to_string(key).ok() }
    }

    /// What the plan's steps make of rows; nothing of absent or too long ones. Comparing keys executes none.
    pub async fn fates(&self, docs: Vec<Option<String>>) -> Result<Vec<Option<ProcessedRow>>, BatchError> {
        let there: Vec<bool> = docs.iter().map(Option::is_some).collect();
        let docs: Vec<String> = docs.into_iter().flatten().collect();
        let mut fates = match self.makes_documents {
            true => self.of.subject.take_through_steps(docs).await?,
            false => docs.into_iter().map(ProcessedRow::Passed).collect(),
        }
        .into_iter();
        Ok(there.into_iter().map(|there| there.then(|| fates.next()).flatten()).collect())
    }

    /// What is the same for documents with the same values.
    pub fn hash(&self, document: &str) -> i64 {
        fingerprint(document, &self.fields)
    }
}

/// The document that a row is compared as: one that a step refuses, as the query returns it.
pub fn document(fate: Option<&ProcessedRow>) -> Option<&str> {
    match fate? {
        ProcessedRow::Passed(doc) | ProcessedRow::Rejected { doc, .. } => Some(doc),
        ProcessedRow::Dropped => None,
    }
}
