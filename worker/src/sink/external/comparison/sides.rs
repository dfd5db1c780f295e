//! Both sides, put down by id: what the source has, and what the index has.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Mode, report::Depth},
    store::compared::{self, Entry, PuttingDown, Side, Totals},
};

use super::{Comparison, SNAPSHOT, Scope, counts::parameters};
use crate::{
    elasticsearch::{self, fingerprint},
    error::BatchError,
    source::home::{bounded_row, fill_block},
    step::ProcessedRow,
};

/// A row of the source: its key, whether it should be in the index by now, and the row unless it is too long: then it
/// cannot be the same as any document.
type SourceRow = (Vec<Option<String>>, bool, Option<String>);

const ALL_ROWS: &str = "select * from etl_page.read($1, $2, 'infinity', 9223372036854775807, true)
    as source (key text[], settled boolean, doc text)";

impl Comparison<'_> {
    /// Reads both sides and has the server tell them apart.
    pub async fn tell_apart(&self, tx: &mut PgConnection) -> Result<Totals, BatchError> {
        compared::prepare(tx).await?;
        self.put_down_source(tx, false).await?;
        if compared::repeats(tx).await? {
            // A source may have several versions of a row: the newest is the one that is written.
            if self.of.subject.draft().mode == Mode::Full || self.of.subject.pages_itself() {
                return Err(BatchError::fatal(
                    "the query returns several rows for one key of the target: make the key unique in the query",
                ));
            }
            compared::forget_source(tx).await?;
            self.put_down_source(tx, true).await?;
        }
        if self.is_there {
            self.put_down_target(tx).await?;
        }
        Ok(compared::tell_apart(tx).await?)
    }

    async fn put_down_source(&self, tx: &mut PgConnection, newest_only: bool) -> Result<(), BatchError> {
        let mut session = self.of.sessions.acquire().await?;
        let mut snapshot = session.begin_named(SNAPSHOT).await?;
        let scope = self.of.scope(&mut snapshot).await?;
        let mut down = PuttingDown::begin(tx, Side::Source).await?;
        let mut rows = sqlx::query_as::<_, SourceRow>(ALL_ROWS)
            .bind(self.all_rows(&scope, newest_only))
            .bind(parameters(&scope))
            .fetch(&mut *snapshot);
        loop {
            let bytes = |(_, _, doc): &SourceRow| size_of::<SourceRow>() + doc.as_ref().map_or(0, String::len);
            let (mut block, more) = fill_block(&mut rows, bytes).await?;
            let fates = self.fates(block.iter_mut().map(|(_, _, doc)| doc.take()).collect()).await?;
            for ((key, settled, _), fate) in block.into_iter().zip(fates) {
                let id = elasticsearch::id_of_row(&key);
                let hash = document(fate.as_ref()).map_or(0, |document| self.hash(document));
                down.add(&Entry { key: self.told_key(&id, &key), id: &id, hash, settled });
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

    /// Every row of the source; of several versions of one the newest, where that is asked for.
    fn all_rows(&self, scope: &Scope, newest_only: bool) -> String {
        let subject = self.of.subject;
        let (only, order) = subject.newest_only(newest_only);
        format!(
            "select {only} {key}, {settled}, {doc} from ({query}\n) as source {order}",
            key = subject.key_texts(),
            settled = scope.settled(subject),
            doc = match self.of.depth {
                Depth::Rows => bounded_row("source", self.of.max_row_bytes),
                Depth::Counts | Depth::Keys => "null::text".to_owned(),
            },
            query = subject.query(),
        )
    }

    async fn put_down_target(&self, tx: &mut PgConnection) -> Result<(), BatchError> {
        let columns = self.of.subject.key.len();
        let mut contents = self.sink.contents(self.of.depth == Depth::Rows).await?;
        let mut down = PuttingDown::begin(tx, Side::Target).await?;
        let mut bare = false;
        loop {
            let mut put = |id: &str, body: &str| {
                bare |= body.is_empty();
                let hash = if body.is_empty() { 0 } else { self.hash(body) };
                let key = elasticsearch::key(id, columns).filter(|key| key.len() > 1);
                let key = key.and_then(|key| serde_json::to_string(&key).ok());
                down.add(&Entry { id, key, hash, settled: true });
            };
            let more = contents.next(&mut put).await?;
            down.send().await?;
            if !more {
                break;
            }
        }
        if bare && self.of.depth == Depth::Rows {
            return Err(BatchError::fatal(
                "the index keeps no `_source` of its documents: only their keys can be compared",
            ));
        }
        down.finish().await?;
        Ok(())
    }

    /// The key in JSON, unless the id says it all.
    fn told_key(&self, id: &str, key: &[Option<String>]) -> Option<String> {
        let [Some(only)] = key else { return serde_json::to_string(key).ok() };
        if only == id { None } else { serde_json::to_string(key).ok() }
    }

    /// What the plan's steps make of rows; nothing of those that are not there or too long. They are not executed where nobody
    /// wants to know.
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
