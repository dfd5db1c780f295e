//! Writes and removes just the documents that differ.

use futures_util::TryStreamExt;
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Mode,
        error_class::without_values,
        report::{Depth, DifferenceKind, Reconciliation, Repair, Repaired, Verdict},
    },
    store::{pipelines, write_numbers},
};

use super::{
    super::{refuse_removal, refuse_too_many},
    Comparison,
    look::Looked,
};
use crate::{
    elasticsearch::{Action, BulkWriter, Document, version},
    error::BatchError,
    report::{emptied, unfinished},
    sink::elasticsearch::{action, overtaken, overtaken_by},
    step::Fate,
};

/// Rows that are looked at and written together.
const TOGETHER: usize = 100;
/// Documents that may be refused before the repair ends.
const MOST_REFUSED: u64 = 1000;

impl Comparison<'_> {
    /// Repairs what was found, while no run can begin: whoever changes the pipeline's status waits for its row. Each row is
    /// looked at once more, so that nothing is written that has come right by itself.
    pub async fn repair(
        &self,
        tx: &mut PgConnection,
        found: &Reconciliation,
        is_there: bool,
        repair: Repair,
    ) -> Result<Repaired, BatchError> {
        if found.verdict == Verdict::Match || self.depth == Depth::Counts {
            return Ok(Repaired { written: 0, removed: 0 });
        }
        if !is_there {
            let name = &self.name;
            return Err(BatchError::fatal(format!("`es:{name}` has no index: run the pipeline, which makes one")));
        }
        emptied::refuse(tx, &self.index).await?;
        let id = self.report.pipeline_id;
        let target = self.subject.draft().final_target().0;
        let remove_extra = repair == Repair::All || self.subject.draft().mode == Mode::Full;
        if remove_extra {
            // What is removed from an index stays removed, whatever becomes of this transaction.
            let mut session = self.env.sessions(&self.env.db, self.report.id.0).acquire().await?;
            pipelines::note_removal(&mut session, id, target).await?;
        }
        let locked = pipelines::lock_writers(tx, id, target).await?;
        if locked.is_none_or(|pipeline| pipeline.version != self.subject.pipeline.version) {
            return Err(BatchError::NotYet("the pipeline was changed meanwhile"));
        }
        unfinished::refuse(tx, id, self.report.requested_at).await?;
        if remove_extra {
            refuse_removal(tx, &self.subject, found).await?;
        }
        let repaired = self.write(tx, remove_extra, found.target_rows.unsigned_abs()).await?;
        self.index.refresh(&self.name).await?;
        Ok(repaired)
    }

    /// Of the `documents` of the index no more are removed than may be, though rows have gone since they were compared.
    async fn write(&self, tx: &mut PgConnection, remove_extra: bool, documents: u64) -> Result<Repaired, BatchError> {
        let action = action(self.subject.draft().mode, self.index.options());
        // Taken before the rows are read: whatever was read before them is older.
        let number = write_numbers::take(tx).await?;
        let mut writer = BulkWriter::new(self.index.route(), action, MOST_REFUSED);
        let mut remover = BulkWriter::new(self.index.route(), Action::Delete, 0);
        let scope = self.scope(tx).await?;
        let mut extra = 0;
        {
            let mut chunks = std::pin::pin!(self.candidates(tx, &scope, i64::MAX).try_chunks(TOGETHER));
            while let Some(chunk) = chunks.try_next().await.map_err(|error| error.1)? {
                for looked in self.examine(chunk).await? {
                    match looked.kind {
                        DifferenceKind::Extra if remove_extra => {
                            extra += 1;
                            refuse_too_many(&self.subject, extra, documents)?;
                            remover.push(gone(looked, number)).await?;
                        }
                        DifferenceKind::Extra => {}
                        DifferenceKind::Missing | DifferenceKind::Different => {
                            if let Some(document) = self.document(looked, number) {
                                writer.push(document).await?;
                            }
                        }
                    }
                }
            }
        }
        let (written, removed) = (writer.finish().await?, remover.finish().await?);
        if let Some(version) = overtaken_by(&written).max(overtaken_by(&removed)) {
            return Err(overtaken(tx, &self.name, version).await?);
        }
        if let Some(first) = written.rejected.first() {
            let (rows_rejected, error) = (written.rejected.len(), without_values(&first.reason));
            tracing::warn!(rows_rejected, %error, "some documents were refused and still differ");
        }
        Ok(Repaired { written: written.changes().cast_signed(), removed: removed.deleted.cast_signed() })
    }

    /// The document to be written; none where a step refuses the row. It is the source's row of now, so it takes the
    /// place of what is there.
    fn document(&self, looked: Looked, number: i64) -> Option<Document> {
        match looked.fate {
            Some(Fate::Passed(body)) => {
                return Some(Document { id: looked.candidate.id, version: Some(version(number)), body });
            }
            Some(Fate::Rejected { reason, .. }) => {
                tracing::warn!(error = reason, "a step refuses a row, which still differs");
            }
            Some(Fate::Dropped) => {}
            None => {
                let max_row_bytes = self.env.max_row_bytes;
                tracing::warn!(max_row_bytes, "a row is too long to pass through a worker, and still differs");
            }
        }
        None
    }
}

fn gone(looked: Looked, number: i64) -> Document {
    Document { id: looked.candidate.id, version: Some(version(number)), body: String::new() }
}
