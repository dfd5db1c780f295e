//! Indexes: what Elasticsearch keeps behind an alias, written before the batch's transaction.
//!
//! An incremental run writes the index that serves. A full one builds another, which takes over after the last page.

mod page;

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};
use tokio::sync::OnceCell;
use vitrina_shared::{
    domain::{ELASTICSEARCH, IndexOptions, Mode, RunId, SourceColumn, WriteMode, column_type::Field},
    store::runs::{self, OpenRun},
    validation::TargetPlace,
};

use super::{
    BatchError, Completed, External, ExternalSink, Opening, Prepared, RemovalLimit, Sink, SinkKind,
    external::{Contents, Mending, PageStart, PageWriter, TakeDocument},
};
use crate::elasticsearch::{
    Action, BulkEndpoint, BulkWriter, Client, GRACE, Index, IndexContents, Server, SinkError, indexes, sweep,
};
use page::PageWriting;

/// The kind of indexes: the client, or why there is none.
#[derive(Debug)]
pub struct Indexes(pub Result<Client, SinkError>);

#[derive(Debug)]
struct IndexSink {
    index: Index,
    target: String,
    columns: Vec<SourceColumn>,
    action: Action,
    /// Whether another index is built, which takes over in the end.
    rebuilds: bool,
    /// Whether one key may come in several pages.
    repeats_keys: bool,
    limit: RemovalLimit,
    server: OnceCell<Server>,
    endpoint: OnceCell<Arc<BulkEndpoint>>,
}

#[async_trait]
impl SinkKind for Indexes {
    fn scheme(&self) -> &'static str {
        ELASTICSEARCH
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError> {
        let entry = &opening.target.entry;
        let TargetPlace::External(_, name) = &opening.target.place else {
            return Err(BatchError::fatal(format!("`{}` is no index", entry.target)));
        };
        let options = IndexOptions::parse(&entry.options).map_err(|problems| {
            let list: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.field, p.message)).collect();
            BatchError::fatal(format!("target `{}`: {}", entry.target, list.join("; ")))
        })?;
        let sink = IndexSink {
            action: action(opening.mode, &options),
            index: Index::new(self.0.clone()?, name, options, opening.installation),
            target: entry.target.clone(),
            columns: opening.reader.arriving.clone(),
            rebuilds: opening.mode == Mode::Full,
            repeats_keys: opening.reader.pages_itself(),
            limit: RemovalLimit::of(opening.inputs),
            server: OnceCell::new(),
            endpoint: OnceCell::new(),
        };
        Ok(Arc::new(External(Arc::new(sink))))
    }

    /// A wrong password, or a right that is lacking, is said before the first run meets it.
    async fn introduce(&self, db: &PgPool) {
        let Ok(client) = &self.0 else { return };
        match client.server().await {
            Ok(Server { distribution, version, .. }) => tracing::info!(distribution, version, "elasticsearch answers"),
            Err(error) => return tracing::warn!(error = %error, "elasticsearch cannot be used"),
        }
        let listed = async { indexes(&mut *db.acquire().await?).await };
        for index in listed.await.unwrap_or_default() {
            if let Err(error) = client.check_rights(&index).await {
                tracing::warn!(index, error = %error, "an index cannot be written");
            }
        }
    }

    async fn give_up(&self, db: &PgPool) -> Result<Vec<(String, String)>, BatchError> {
        let Ok(client) = &self.0 else { return Ok(Vec::new()) };
        let failed = sweep(db, client, GRACE).await?.failed;
        Ok(failed.into_iter().map(|(target, error)| (target, error.message)).collect())
    }
}

/// How documents are written: whole and with a version, so that what comes late is refused, unless `update` was asked for.
fn action(mode: Mode, options: &IndexOptions) -> Action {
    match (mode, options.write) {
        (Mode::Incremental, Some(WriteMode::Update)) => Action::Upsert,
        (Mode::Incremental, Some(WriteMode::Index) | None) | (Mode::Full, _) => Action::Replace,
    }
}

impl IndexSink {
    /// Makes sure that the server is there, that we may write to it, and that there is an index to write to: the one that
    /// the run began with, where it was begun before. Returns which it is.
    async fn find(&self, run: RunId, began_with: Option<&str>) -> Result<String, BatchError> {
        let server = self.server.get_or_try_init(|| self.index.check_access()).await?;
        let (index, begun) = (&self.index, began_with.is_some());
        let ready = match self.rebuilds {
            true => index.begin_rebuild(run, &self.columns, begun).await?,
            false => index.prepare(run, &self.columns, begun).await?,
        };
        let id = format!("{}/{}", server.cluster, ready.uuid);
        if began_with.is_some_and(|other| other != id) {
            return Err(index.is_gone().into());
        }
        // The first endpoint is kept: it leads to the same index, and knows how much the server takes.
        self.endpoint.get_or_init(|| async { ready.endpoint }).await;
        Ok(id)
    }
}

#[async_trait]
impl ExternalSink for IndexSink {
    fn target(&self) -> &str {
        &self.target
    }

    /// A checkpoint says how far *one* index was written, by the ids of its cluster and of itself. Where another one stands under the
    /// name by now (removed and made anew, exchanged behind its alias, restored from a snapshot, in another cluster), or it was
    /// emptied, the checkpoint says nothing, and the run begins at the first row.
    async fn prepare(&self, connection: &mut PgConnection, run: &OpenRun) -> Result<Prepared, BatchError> {
        let target_id = self.find(run.id, run.target_id.as_deref()).await?;
        if run.started_at.is_some() || self.rebuilds {
            return Ok(Prepared { target_id: Some(target_id), anew: false });
        }
        // Before the first document: afterwards the other pipelines of the index would not see that it was empty.
        let emptied = self.index.is_empty().await? && runs::part_from_emptied(connection, &target_id).await?;
        let reason = match run.checkpoint_from {
            None => None,
            Some(_) if run.checkpoint_of.as_ref() != Some(&target_id) => Some("the checkpoint is of another index"),
            Some(_) => emptied.then_some("the index was emptied"),
        };
        if let Some(reason) = reason {
            let (target, of) = (target_id.as_str(), run.checkpoint_of.as_deref());
            tracing::warn!(index = target, checkpoint_of = of, reason, "the run begins at the first row");
        }
        Ok(Prepared { target_id: Some(target_id), anew: reason.is_some() })
    }

    /// An index that is being built gets each key once, and no search sees it: it does not wait for its turn.
    fn begin_page(&self, page: PageStart) -> Result<Box<dyn PageWriter>, BatchError> {
        let expected = usize::try_from(page.size).unwrap_or(usize::MAX);
        let endpoint = self.endpoint.get().ok_or_else(|| BatchError::fatal("the index was not prepared"))?;
        let allowed = page.rejects_allowed.unwrap_or(0);
        let writer = BulkWriter::new(endpoint.clone(), self.action, allowed).expecting(expected);
        let sends_immediately = self.rebuilds && !self.repeats_keys;
        let writer = if sends_immediately { writer } else { writer.waiting_for(page.turn) };
        let keeps = self.rebuilds && page.rejects_allowed.is_some();
        let keeps = keeps.then(|| (self.index.clone(), endpoint.clone(), self.action));
        Ok(Box::new(PageWriting { writer, number: page.number, is_page: true, keeps }))
    }

    async fn finish(&self, run: RunId, rows: u64) -> Result<Completed, BatchError> {
        if !self.rebuilds {
            return Ok(Completed::default());
        }
        let expected = if self.repeats_keys { 0 } else { rows };
        let refuse = |removed, of| self.limit.refusal(removed, of);
        let removed = self.index.finish_rebuild(run, expected, refuse).await?.cast_signed();
        Ok(Completed { written: 0, removed, replaced: true })
    }

    async fn is_there(&self) -> Result<bool, BatchError> {
        self.server.get_or_try_init(|| self.index.check_access()).await?;
        let is_there = self.index.is_there().await?;
        if is_there {
            self.index.refresh(self.index.name()).await?;
        }
        Ok(is_there)
    }

    async fn count(&self) -> Result<u64, BatchError> {
        Ok(self.index.count(self.index.name()).await?)
    }

    fn keeps_order(&self, column: &SourceColumn) -> bool {
        column.own_type().is_ordered_in_index()
    }

    async fn extreme(&self, column: &SourceColumn, greatest: bool) -> Result<Option<String>, BatchError> {
        let is_time = column.own_type().field() == Field::Timestamp;
        Ok(self.index.extreme(&column.name, is_time, if greatest { "desc" } else { "asc" }).await?)
    }

    async fn contents(&self, bodies: bool) -> Result<Box<dyn Contents + '_>, BatchError> {
        Ok(Box::new(self.index.contents(bodies).await?))
    }

    async fn fetch(&self, ids: &[&str], bodies: bool) -> Result<HashMap<String, String>, BatchError> {
        Ok(if self.index.is_there().await? { self.index.fetch(ids, bodies).await? } else { HashMap::new() })
    }

    fn mend(&self, number: i64, mending: Mending) -> Box<dyn PageWriter> {
        let writer = match mending {
            Mending::Write(allowed) => BulkWriter::new(self.index.endpoint(), self.action, allowed),
            Mending::Remove => BulkWriter::new(self.index.endpoint(), Action::Delete, 0),
        };
        Box::new(PageWriting { writer, number, is_page: false, keeps: None })
    }
}

#[async_trait]
impl Contents for IndexContents<'_> {
    async fn next(&mut self, each: &mut TakeDocument<'_>) -> Result<bool, BatchError> {
        Ok(self.next(each).await?)
    }
}
