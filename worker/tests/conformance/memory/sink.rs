//! Keeps documents in the memory of the test: the least that a sink outside of the database is.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::PgConnection;
use tokio::sync::oneshot;
use vitrina_shared::{
    domain::{ErrorClass, Mode, RunId},
    store::runs::OpenRun,
};
use vitrina_worker::sink::{
    BatchError, Completed, External, ExternalSink, Opening, Prepared, Rejected, Sink, SinkKind, SinkRows,
    external::{Contents, Mending, Overtaken, PageStart, PageWriter, PageWritten, Record, TakeDocument},
};

/// Documents by id, each with the number that it was written with.
type Documents = BTreeMap<String, (i64, String)>;

/// The server: what serves, what runs are building, and whether its connections are cut.
#[derive(Debug, Default)]
struct Server {
    serving: Documents,
    building: HashMap<RunId, Documents>,
    is_cut: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Server>>);

/// The target of one pipeline.
#[derive(Debug)]
struct Target {
    memory: Memory,
    name: String,
    /// The run that builds all of it anew.
    builds: Option<RunId>,
}

struct Page {
    memory: Memory,
    builds: Option<RunId>,
    number: i64,
    allowed: u64,
    removes: bool,
    turn: Option<oneshot::Receiver<()>>,
    taken: Vec<Record>,
}

impl Memory {
    fn server(&self) -> MutexGuard<'_, Server> {
        self.0.lock().unwrap()
    }

    pub fn documents(&self) -> BTreeMap<String, String> {
        self.server().serving.iter().map(|(id, (_, doc))| (id.clone(), doc.clone())).collect()
    }

    /// Exchanges a document behind the worker's back.
    pub fn plant(&self, id: &str, exchange: impl FnOnce(String) -> Option<String>) {
        let mut server = self.server();
        let (number, doc) = server.serving.remove(id).unwrap_or_default();
        if let Some(doc) = exchange(doc) {
            server.serving.insert(id.to_owned(), (number, doc));
        }
    }

    pub fn cut(&self, is_cut: bool) {
        self.server().is_cut = is_cut;
    }
}

impl SinkKind for Memory {
    fn scheme(&self) -> &'static str {
        "memory"
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError> {
        let builds = opening.run.map(|run| run.id).filter(|_| opening.mode == Mode::Full);
        let name = opening.target.entry.target.clone();
        Ok(Arc::new(External(Arc::new(Target { memory: self.clone(), name, builds }))))
    }
}

#[async_trait]
impl ExternalSink for Target {
    fn target(&self) -> &str {
        &self.name
    }

    async fn prepare(&self, _: &mut PgConnection, _: &OpenRun) -> Result<Prepared, BatchError> {
        Ok(Prepared { target_id: Some("memory".to_owned()), anew: false })
    }

    fn begin_page(&self, page: PageStart) -> Result<Box<dyn PageWriter>, BatchError> {
        Ok(Box::new(Page {
            memory: self.memory.clone(),
            builds: self.builds,
            number: page.number,
            allowed: page.rejects_allowed.unwrap_or(0),
            removes: false,
            turn: Some(page.turn),
            taken: Vec::new(),
        }))
    }

    async fn finish(&self, run: RunId, _: u64) -> Result<Completed, BatchError> {
        let mut server = self.memory.server();
        let Some(built) = server.building.remove(&run) else { return Ok(Completed::default()) };
        let removed = server.serving.len().saturating_sub(built.len()) as i64;
        server.serving = built;
        Ok(Completed { written: 0, removed, replaced: true })
    }

    async fn is_there(&self) -> Result<bool, BatchError> {
        Ok(true)
    }

    async fn count(&self) -> Result<u64, BatchError> {
        Ok(self.memory.server().serving.len() as u64)
    }

    async fn contents(&self, _: bool) -> Result<Box<dyn Contents + '_>, BatchError> {
        Ok(Box::new(All(self.memory.documents())))
    }

    async fn fetch(&self, ids: &[&str], _: bool) -> Result<HashMap<String, String>, BatchError> {
        let wanted = |(id, _): &(String, String)| ids.contains(&id.as_str());
        Ok(self.memory.documents().into_iter().filter(wanted).collect())
    }

    fn mend(&self, number: i64, mending: Mending) -> Box<dyn PageWriter> {
        let (removes, allowed) = match mending {
            Mending::Write(allowed) => (false, allowed),
            Mending::Remove => (true, 0),
        };
        let memory = self.memory.clone();
        Box::new(Page { memory, builds: None, number, allowed, removes, turn: None, taken: Vec::new() })
    }
}

/// Everything in one page.
struct All(BTreeMap<String, String>);

#[async_trait]
impl Contents for All {
    async fn next(&mut self, each: &mut TakeDocument<'_>) -> Result<bool, BatchError> {
        self.0.iter().for_each(|(id, doc)| each(id, doc));
        Ok(false)
    }
}

#[async_trait]
impl PageWriter for Page {
    async fn take(&mut self, records: SinkRows<'_, Record>) -> Result<(), BatchError> {
        self.taken.extend(records.try_collect::<Vec<_>>().await?);
        Ok(())
    }

    async fn finish(mut self: Box<Self>, mut rejected: Vec<Rejected>) -> Result<PageWritten, BatchError> {
        if let Some(turn) = self.turn.take() {
            turn.await.map_err(|_| transient("the page is not wanted any more"))?;
        }
        let mut server = self.memory.server();
        if server.is_cut {
            return Err(transient("the connection was cut"));
        }
        let documents = match self.builds {
            Some(run) => server.building.entry(run).or_default(),
            None => &mut server.serving,
        };
        let (mut changes, mut overtaken) = (0, None);
        for Record { id, doc } in self.taken {
            if doc.contains("infinity") {
                rejected.push(Rejected { id, doc, error: "no finite date".to_owned() });
                continue;
            }
            match documents.get(&id) {
                Some((number, _)) if *number > self.number => {
                    overtaken = overtaken.max(Some(Overtaken { version: *number, number_above: *number + 1 }));
                }
                _ if self.removes => changes += u64::from(documents.remove(&id).is_some()),
                _ => changes += u64::from(documents.insert(id, (self.number, doc)).is_none_or(|_| true)),
            }
        }
        if rejected.len() as u64 > self.allowed {
            let message = format!("memory refuses `{}`", rejected[0].id);
            return Err(BatchError::Failed { class: ErrorClass::Row, message });
        }
        Ok(PageWritten { changes, rejected, overtaken })
    }
}

fn transient(message: &str) -> BatchError {
    BatchError::Failed { class: ErrorClass::Transient, message: message.to_owned() }
}
