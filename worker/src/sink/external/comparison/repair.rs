//! Writes and removes just the documents that differ.

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        error_class::without_values,
        report::{DifferenceKind, Repaired},
    },
    store::{comparison, write_numbers},
};

use super::{
    ExternalComparison,
    recheck::{Rechecked, next_block},
};
use crate::{
    error::BatchError,
    sink::{
        Differing, RemovalLimit,
        external::{Mending, Record, refuse_emptied},
    },
    step::ProcessedRow,
};

/// Rows that are sought with one query of the source, which may have to look at all of its rows.
const PORTION: i64 = 50_000;
/// Documents that may be refused before the repair ends.
const MOST_REFUSED: u64 = 1000;

#[async_trait]
impl Differing for ExternalComparison<'_> {
    async fn repair(
        &self,
        tx: &mut PgConnection,
        remove_extra: bool,
        target_rows: u64,
    ) -> Result<Repaired, BatchError> {
        refuse_emptied(tx, self.sink).await?;
        let repaired = self.write(tx, remove_extra, target_rows).await?;
        // What was written can be found from now on.
        self.sink.is_there().await?;
        Ok(repaired)
    }
}

impl ExternalComparison<'_> {
    /// Of the `documents` of the sink no more are removed than may be, though rows have gone since they were compared.
    async fn write(&self, tx: &mut PgConnection, remove_extra: bool, documents: u64) -> Result<Repaired, BatchError> {
        let limit = RemovalLimit::of(self.of.subject.draft());
        // Taken before the rows are read: whatever was read before them is older.
        let number = write_numbers::take(&mut *self.of.sessions.acquire().await?).await?;
        let mut writer = self.sink.mend(number, Mending::Write(MOST_REFUSED));
        let mut remover = self.sink.mend(number, Mending::Remove);
        let scope = self.of.scope(tx).await?;
        let (mut extra, mut last) = (0, None);
        loop {
            let sought = comparison::differing(tx, last.as_deref(), PORTION).await?;
            let Some(of_portion) = sought.last() else { break };
            last = Some(of_portion.id.clone());
            let mut candidates = self.candidates(tx, &scope, sought);
            while let Some(block) = next_block(&mut candidates).await? {
                let rechecked = self.recheck(block).await?.into_iter();
                let (gone, changed): (Vec<_>, Vec<_>) = rechecked.partition(|row| row.kind == DifferenceKind::Extra);
                if remove_extra {
                    extra += gone.len() as u64;
                    limit.refuse(extra, documents)?;
                    let gone = gone.into_iter().map(|row| Ok(Record { id: row.candidate.id, doc: String::new() }));
                    remover.take(stream::iter(gone).boxed()).await?;
                }
                let changed = changed.into_iter().filter_map(|row| self.record(row)).map(Ok);
                writer.take(stream::iter(changed).boxed()).await?;
            }
        }
        let (written, removed) = (writer.finish(Vec::new()).await?, remover.finish(Vec::new()).await?);
        if let Some(overtaken) = written.overtaken.max(removed.overtaken) {
            return Err(overtaken.explain(tx, self.sink.target()).await?);
        }
        if let Some(first) = written.rejected.first() {
            let (rows_rejected, error) = (written.rejected.len(), without_values(&first.error));
            tracing::warn!(rows_rejected, %error, "some documents were refused and still differ");
        }
        Ok(Repaired { written: written.changes.cast_signed(), removed: removed.changes.cast_signed() })
    }

    /// The document to be written; none where a step refuses the row. It is the source's row of now, so it takes the
    /// place of what is there.
    fn record(&self, rechecked: Rechecked) -> Option<Record> {
        match rechecked.fate {
            Some(ProcessedRow::Passed(doc)) => return Some(Record { id: rechecked.candidate.id, doc }),
            Some(ProcessedRow::Rejected { reason, .. }) => {
                tracing::warn!(error = %without_values(&reason), "a step refuses a row, which still differs");
            }
            Some(ProcessedRow::Dropped) => {}
            None => {
                let max_row_bytes = self.of.subject.walk().max_row_bytes;
                tracing::warn!(max_row_bytes, "a row is too long to pass through a worker, and still differs");
            }
        }
        None
    }
}
