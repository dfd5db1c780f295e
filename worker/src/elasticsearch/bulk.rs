//! Writes a stream of documents with bulk requests.
//!
//! Documents are gathered into chunks of bounded size, and a bounded number of chunks is under way at a time: memory
//! depends on those two bounds and not on how many documents there are. `push` waits while all of them are busy.
//!
//! Chunks overtake each other. So within one writer every id comes once, or with versions that show which is newer.

mod answer;
mod chunk;
mod delivery;
mod limiter;

use std::sync::Arc;

use tokio::{
    sync::oneshot,
    task::{JoinError, JoinSet},
};
use vitrina_shared::domain::IndexOptions;

use crate::rejected::{MOST_REJECTED_BYTES, Rejected, too_much_rejected};

use super::{client::Client, document::Document, error::SinkError};
use chunk::ChunkBuilder;
use limiter::Limiter;

/// Fewer documents are not worth a request of their own.
const MIN_SHARE: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `update` with `doc_as_upsert`: creates it, or changes the fields that differ.
    Upsert,
    /// `index`: puts it in place of what was there, unless that has a higher version.
    Replace,
    /// `delete`: makes sure that it is not there. The body is not looked at.
    Delete,
}

/// Everything was acknowledged by the server, or rejected by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub created: u64,
    pub updated: u64,
    /// Documents that were there already, the same.
    pub unchanged: u64,
    /// Documents of which a newer version is there.
    pub superseded: u64,
    /// The highest of those versions.
    pub newest: Option<i64>,
    pub deleted: u64,
    /// Documents that the server will never take.
    pub rejected: Vec<Rejected>,
}

/// Where documents go and within which bounds. Shared by the writers of one target, so that they learn together how much
/// the server takes.
#[derive(Debug)]
pub struct BulkEndpoint {
    client: Client,
    path: String,
    limiter: Arc<Limiter>,
    max_body_bytes: usize,
    max_docs: usize,
    concurrency: usize,
}

/// Takes documents until it is finished. Dropping it stops what is under way.
#[derive(Debug)]
pub struct BulkWriter {
    endpoint: Arc<BulkEndpoint>,
    action: Action,
    max_rejects: u64,
    max_docs: usize,
    turn: Option<oneshot::Receiver<()>>,
    builder: ChunkBuilder,
    under_way: JoinSet<Result<Written, SinkError>>,
    written: Written,
    rejected_bytes: usize,
}

impl BulkEndpoint {
    /// The endpoint of an alias. Where the alias is gone nothing is written, and no index comes into being by itself.
    pub fn new(client: Client, alias: &str, options: &IndexOptions) -> Self {
        let fields = "errors,items.*.status,items.*.result,items.*.error";
        Self {
            client,
            path: format!("/{alias}/_bulk?require_alias=true&filter_path={fields}"),
            limiter: Arc::new(Limiter::new(options.concurrency)),
            max_body_bytes: options.max_body_bytes,
            max_docs: options.max_docs,
            concurrency: options.concurrency,
        }
    }
}

impl BulkWriter {
    /// A writer that fails once more than `max_rejects` documents were rejected.
    pub fn new(endpoint: Arc<BulkEndpoint>, action: Action, max_rejects: u64) -> Self {
        Self {
            max_docs: endpoint.max_docs,
            endpoint,
            action,
            max_rejects,
            turn: None,
            builder: ChunkBuilder::default(),
            under_way: JoinSet::new(),
            written: Written::default(),
            rejected_bytes: 0,
        }
    }

    /// Shares this many documents out evenly, so that no request is left over at the end while nothing else is under way.
    pub fn expecting(mut self, documents: usize) -> Self {
        self.max_docs = share(documents, self.endpoint.max_docs, self.endpoint.concurrency);
        self
    }

    /// Sends nothing before it is its turn.
    pub fn waiting_for(mut self, turn: oneshot::Receiver<()>) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Takes a document, and waits while too many are under way.
    pub async fn push(&mut self, document: Document) -> Result<(), SinkError> {
        if let Some(reason) = document.problem() {
            let rejected = vec![document.rejected(reason.to_owned())];
            return self.count(Written { rejected, ..Written::default() });
        }
        let bytes = self.builder.bytes() + document.body.len() + document.id.len();
        let full = bytes > self.endpoint.max_body_bytes || self.builder.len() >= self.max_docs;
        if full && !self.builder.is_empty() {
            self.dispatch().await?;
        }
        self.builder.add(self.action, document);
        Ok(())
    }

    pub async fn flush(&mut self) -> Result<(), SinkError> {
        if self.builder.is_empty() { Ok(()) } else { self.dispatch().await }
    }

    /// Waits until everything is acknowledged. `Ok` means durable.
    pub async fn finish(mut self) -> Result<Written, SinkError> {
        self.flush().await?;
        while let Some(done) = self.under_way.join_next().await {
            self.collect(done)?;
        }
        Ok(self.written)
    }

    async fn dispatch(&mut self) -> Result<(), SinkError> {
        if let Some(turn) = self.turn.take() {
            turn.await.map_err(|_| SinkError::transient("the documents are not wanted any more".to_owned()))?;
        }
        while self.under_way.len() >= self.endpoint.concurrency {
            let Some(done) = self.under_way.join_next().await else { break };
            self.collect(done)?;
        }
        // Wait for room before handing the chunk over, so that the writer slows down with the server.
        let permit = self.endpoint.limiter.acquire().await;
        let chunk = std::mem::take(&mut self.builder).seal();
        self.under_way.spawn(delivery::deliver(self.endpoint.clone(), chunk, permit));
        Ok(())
    }

    fn collect(&mut self, done: Result<Result<Written, SinkError>, JoinError>) -> Result<(), SinkError> {
        let written = done.map_err(|error| SinkError::fatal(format!("a bulk request ended by itself: {error}")))??;
        self.count(written)
    }

    fn count(&mut self, more: Written) -> Result<(), SinkError> {
        self.rejected_bytes += more.rejected.iter().map(|rejected| rejected.doc.len()).sum::<usize>();
        self.written.add(more);
        if self.rejected_bytes > MOST_REJECTED_BYTES {
            return Err(SinkError::row(too_much_rejected("Elasticsearch refuses")));
        }
        let rejected = self.written.rejected.len() as u64;
        let Some(last) = self.written.rejected.last().filter(|_| rejected > self.max_rejects) else { return Ok(()) };
        let Rejected { id, error, .. } = last;
        Err(SinkError::row(match self.max_rejects {
            0 => format!("Elasticsearch refuses document `{id}`: {error}"),
            most => format!("Elasticsearch refuses more than {most} documents; the last one, `{id}`: {error}"),
        }))
    }
}

/// How many documents a request takes where so many are expected: as many requests as there may be at a time, or twice as
/// many, and so on.
fn share(expected: usize, max_docs: usize, concurrency: usize) -> usize {
    let parallel = concurrency.max(1);
    let rounds = expected.div_ceil(max_docs.saturating_mul(parallel)).max(1);
    expected.div_ceil(rounds.saturating_mul(parallel)).max(MIN_SHARE).min(max_docs)
}

impl Written {
    /// Documents that changed something in the index.
    pub fn changes(&self) -> u64 {
        self.created + self.updated + self.deleted
    }

    fn add(&mut self, more: Self) {
        self.created += more.created;
        self.updated += more.updated;
        self.unchanged += more.unchanged;
        self.superseded += more.superseded;
        self.newest = self.newest.max(more.newest);
        self.deleted += more.deleted;
        self.rejected.extend(more.rejected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_shared_out_evenly() {
        for (expected, max_docs, concurrency, documents) in [
            (10_000, 2_000, 2, 1_667),
            (8_000, 2_000, 2, 2_000),
            (8_001, 2_000, 2, 1_334),
            (1_000, 2_000, 2, 500),
            (10, 2_000, 2, 500),
            (0, 2_000, 2, 500),
            (10_000, 100, 4, 100),
            (10_000, 2_000, 1, 2_000),
        ] {
            assert_eq!(share(expected, max_docs, concurrency), documents, "{expected}");
        }
    }
}
