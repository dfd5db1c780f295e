//! Indexes: what Elasticsearch keeps behind an alias, written before the batch's transaction.
//!
//! An incremental run writes the index that serves. A full one builds another, which takes over after the last page.

mod binding;
mod page;

use std::{collections::HashMap, sync::Arc};

use futures_util::future::BoxFuture;
use sqlx::{PgConnection, PgPool};
use tokio::sync::OnceCell;
use vitrina_shared::{
    domain::{ELASTICSEARCH, IndexOptions, Mode, RunId, SourceColumn, WriteMode, column_type::Field},
    store::runs::OpenRun,
    validation::TargetPlace,
};

use super::{
    Answer, BatchError, Completed, External, ExternalSink, Opening, Prepared, RemovalLimit, Sink, SinkKind,
    external::{Contents, Mending, PageStart, PageWriter},
};
use crate::elasticsearch::{self, Action, BulkWriter, Client, GRACE, Index, Route, Server, SinkError, indexes, sweep};
use page::PageWriting;

/// The kind of indexes: the client, or why there is none.
#[derive(Debug)]
pub struct Indexes(pub Result<Client, SinkError>);

/// The index that a pipeline writes.
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
    route: OnceCell<Arc<Route>>,
}

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
            route: OnceCell::new(),
        };
        Ok(Arc::new(External(Arc::new(sink))))
    }

    /// A wrong password, or a right that is lacking, is said before the first run meets it.
    fn introduce<'a>(&'a self, db: &'a PgPool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(client) = &self.0 else { return };
            match client.server().await {
                Ok(server) => {
                    tracing::info!(
                        distribution = server.distribution,
                        version = server.version,
                        "elasticsearch answers"
                    )
                }
                Err(error) => return tracing::warn!(error = %error, "elasticsearch cannot be used"),
            }
            let listed = async { indexes(&mut *db.acquire().await?).await };
            for index in listed.await.unwrap_or_default() {
                if let Err(error) = client.check_rights(&index).await {
                    tracing::warn!(index, error = %error, "an index cannot be written");
                }
            }
        })
    }

    fn give_up<'a>(&'a self, db: &'a PgPool) -> Answer<'a, Vec<(String, String)>> {
        Box::pin(async move {
            let Ok(client) = &self.0 else { return Ok(Vec::new()) };
            let failed = sweep(db, client, GRACE).await?.failed;
            Ok(failed.into_iter().map(|(target, error)| (target, error.message)).collect())
        })
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
        // Asked for once more, the same way leads to the same index, and knows how much the server takes.
        self.route.get_or_init(|| async { ready.route }).await;
        Ok(id)
    }
}

impl ExternalSink for IndexSink {
    fn kind(&self) -> &'static str {
        "elasticsearch"
    }

    fn target(&self) -> &str {
        &self.target
    }

    fn prepare<'a>(&'a self, connection: &'a mut PgConnection, run: &'a OpenRun) -> Answer<'a, Prepared> {
        Box::pin(binding::bind(connection, self, run))
    }

    /// An index that is being built gets each key once, and no search sees it: it does not wait for its turn.
    fn begin_page(&self, page: PageStart) -> Result<Box<dyn PageWriter>, BatchError> {
        let expected = usize::try_from(page.size).unwrap_or(usize::MAX);
        let route = self.route.get().ok_or_else(|| BatchError::fatal("the index was not prepared"))?;
        let allowed = page.rejects_allowed.unwrap_or(0);
        let writer = BulkWriter::new(route.clone(), self.action, allowed).expecting(expected);
        let at_once = self.rebuilds && !self.repeats_keys;
        let writer = if at_once { writer } else { writer.waiting_for(page.turn) };
        let keeps = self.rebuilds && page.rejects_allowed.is_some();
        let keeps = keeps.then(|| (self.index.clone(), route.clone(), self.action));
        Ok(Box::new(PageWriting { writer, number: page.number, is_page: true, keeps }))
    }

    fn finish(&self, run: RunId, rows: u64) -> Answer<'_, Completed> {
        Box::pin(async move {
            if !self.rebuilds {
                return Ok(Completed::default());
            }
            let expected = if self.repeats_keys { 0 } else { rows };
            let refuse = |removed, of| self.limit.refusal(removed, of);
            let removed = self.index.finish_rebuild(run, expected, refuse).await?.cast_signed();
            Ok(Completed { written: 0, removed, replaced: true })
        })
    }

    fn is_there(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            self.server.get_or_try_init(|| self.index.check_access()).await?;
            let is_there = self.index.is_there().await?;
            if is_there {
                self.index.refresh(self.index.name()).await?;
            }
            Ok(is_there)
        })
    }

    fn count(&self) -> Answer<'_, u64> {
        Box::pin(async move { Ok(self.index.count(self.index.name()).await?) })
    }

    fn extreme<'a>(&'a self, column: &'a SourceColumn, greatest: bool) -> Answer<'a, Option<String>> {
        let is_time = column.own_type().field() == Field::Timestamp;
        let order = if greatest { "desc" } else { "asc" };
        Box::pin(async move { Ok(self.index.extreme(&column.name, is_time, order).await?) })
    }

    fn contents(&self, bodies: bool) -> Answer<'_, Box<dyn Contents + '_>> {
        Box::pin(async move { Ok(Box::new(self.index.contents(bodies).await?) as Box<dyn Contents>) })
    }

    fn fetch<'a>(&'a self, ids: &'a [&'a str]) -> Answer<'a, HashMap<String, String>> {
        Box::pin(async move {
            if !self.index.is_there().await? {
                return Ok(HashMap::new());
            }
            Ok(self.index.fetch(ids).await?)
        })
    }

    fn mend(&self, number: i64, mending: Mending) -> Box<dyn PageWriter> {
        let writer = match mending {
            Mending::Write(allowed) => BulkWriter::new(self.index.route(), self.action, allowed),
            Mending::Remove => BulkWriter::new(self.index.route(), Action::Delete, 0),
        };
        Box::new(PageWriting { writer, number, is_page: false, keeps: None })
    }
}

impl Contents for elasticsearch::Contents<'_> {
    fn next<'a>(&'a mut self, each: &'a mut (dyn FnMut(&str, &str) + Send)) -> Answer<'a, bool> {
        Box::pin(async move { Ok(self.next(each).await?) })
    }
}
