//! A page on its way into an index.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use vitrina_shared::domain::error_class::without_values;

use crate::{
    elasticsearch::{Action, BulkEndpoint, BulkWriter, Document, Index, Written, number_above, version},
    sink::{
        BatchError, Rejected, SinkRows,
        external::{Overtaken, PageWriter, PageWritten, Record},
    },
};

/// Documents of refused rows that are fetched together.
const KEPT_TOGETHER: usize = 100;

#[derive(Debug)]
pub struct PageWriting {
    pub writer: BulkWriter,
    /// Tells which of two pages with one document is the newer.
    pub number: i64,
    /// Whether all of its rows come at once: then the last request goes out after them.
    pub is_page: bool,
    /// The index that serves while another one is built, and the way to that one.
    pub keeps: Option<(Index, Arc<BulkEndpoint>, Action)>,
}

#[async_trait]
impl PageWriter for PageWriting {
    async fn take(&mut self, mut records: SinkRows<'_, Record>) -> Result<(), BatchError> {
        let version = Some(version(self.number));
        while let Some(Record { id, doc }) = records.try_next().await? {
            self.writer.push(Document { id, version, body: doc }).await?;
        }
        if self.is_page {
            self.writer.flush().await?;
        }
        Ok(())
    }

    async fn finish(self: Box<Self>, mut rejected: Vec<Rejected>) -> Result<PageWritten, BatchError> {
        let written = self.writer.finish().await?;
        let (changes, overtaken) = (written.changes(), overtaken(&written));
        rejected.extend(written.rejected);
        if let Some((index, endpoint, action)) = self.keeps {
            keep_refused(&index, endpoint, action, &rejected).await?;
        }
        Ok(PageWritten { changes, rejected, overtaken })
    }
}

fn overtaken(written: &Written) -> Option<Overtaken> {
    let version = written.newest.unwrap_or_default();
    (written.superseded > 0).then(|| Overtaken { version, number_above: number_above(version) })
}

/// Takes the documents of rows that were refused into the index that is being built, as they are in the one that serves:
/// a row that is put aside stays as it was. They have the least version, so that they take the place of nothing.
async fn keep_refused(
    index: &Index,
    endpoint: Arc<BulkEndpoint>,
    action: Action,
    rejected: &[Rejected],
) -> Result<(), BatchError> {
    if rejected.is_empty() || !index.is_there().await? {
        return Ok(());
    }
    let mut writer = BulkWriter::new(endpoint, action, rejected.len() as u64);
    let ids: Vec<&str> = rejected.iter().map(|row| row.id.as_str()).filter(|id| !id.is_empty()).collect();
    for together in ids.chunks(KEPT_TOGETHER) {
        for (id, body) in index.fetch(together, true).await? {
            writer.push(Document { id, version: Some(0), body }).await?;
        }
    }
    let written = writer.finish().await?;
    if let Some(first) = written.rejected.first() {
        let (documents, error) = (written.rejected.len(), without_values(&first.error));
        tracing::warn!(documents, %error, "documents of refused rows do not fit the new index and are left out of it");
    }
    Ok(())
}
