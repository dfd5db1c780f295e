//! An index of its own for every test, and the words tests are written in.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::{
    config::{ElasticsearchConfig, Env},
    domain::{IndexOptions, RunId, SourceColumn},
};
use vitrina_worker::elasticsearch::{Action, BulkEndpoint, BulkWriter, Client, Document, Index, SinkError, Written};

pub use crate::world::{World, eventually_within};

/// Whose indexes the tests make that have no database.
pub const INSTALLATION: Uuid = Uuid::from_u128(1);

/// Counts the indexes of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A name on the node of the test run; whatever begins with it is removed in the end.
pub struct Corner {
    pub node: String,
    pub name: String,
}

impl Corner {
    /// A corner of the node; nothing, and a loud word about it, where the test run was asked to do without one.
    pub fn new() -> Option<Self> {
        if let Some(node) = node() {
            return Some(Self::at(node));
        }
        let without = std::env::var_os("VITRINA_TEST_WITHOUT_ELASTICSEARCH").is_some();
        assert!(
            without,
            "no Elasticsearch: run scripts/with-elasticsearch, with --without-elasticsearch to skip this test"
        );
        // Around the harness, which keeps the output of tests that pass to itself.
        let thread = std::thread::current();
        let line = format!("SKIPPED {}: without Elasticsearch\n", thread.name().unwrap_or("a test"));
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        None
    }

    /// A corner of another node.
    pub fn at(node: String) -> Self {
        // Of one length: no name begins with another one, whose indexes are removed by their beginning.
        let name = format!("vitrina-test-{}-{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { node, name }
    }

    /// The index of this name, with these options.
    pub fn index(&self, options: Value) -> Index {
        self.index_at(&self.node, &[], options)
    }

    /// The same through another address and with further settings.
    pub fn index_at(&self, url: &str, settings: &[(&str, &str)], options: Value) -> Index {
        self.index_of(INSTALLATION, url, settings, options)
    }

    /// The same as another installation sees it.
    pub fn index_of(&self, installation: Uuid, url: &str, settings: &[(&str, &str)], options: Value) -> Index {
        Index::new(client(url, settings), &self.name, IndexOptions::parse(&options).unwrap(), installation)
    }

    /// Asks the node itself.
    pub async fn ask(&self, path: &str) -> Value {
        let response = reqwest::get(format!("{}/{path}", self.node)).await.unwrap();
        response.json().await.unwrap()
    }

    /// Sends something to the node itself.
    pub async fn put(&self, method: reqwest::Method, path: &str, body: &Value) -> Value {
        let mut request = reqwest::Client::new().request(method, format!("{}/{path}", self.node));
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        let good = response.status().is_success();
        let body: Value = response.json().await.unwrap();
        assert!(good, "{path}: {body}");
        body
    }

    /// All documents that can be found, by id.
    pub async fn documents(&self) -> std::collections::BTreeMap<String, Value> {
        self.put(reqwest::Method::POST, &format!("{}/_refresh", self.name), &Value::Null).await;
        let mut documents = std::collections::BTreeMap::new();
        let first = format!("{}/_search?scroll=1m&size=5000", self.name);
        let mut page = self.put(reqwest::Method::POST, &first, &Value::Null).await;
        loop {
            let hits = page["hits"]["hits"].as_array().unwrap();
            if hits.is_empty() {
                return documents;
            }
            for hit in hits {
                let twice = documents.insert(hit["_id"].as_str().unwrap().to_owned(), hit["_source"].clone());
                assert!(twice.is_none(), "one id, one document");
            }
            let next = json!({"scroll": "1m", "scroll_id": page["_scroll_id"]});
            page = self.put(reqwest::Method::POST, "_search/scroll", &next).await;
        }
    }

    /// The physical indexes of this corner with their aliases.
    pub async fn physical(&self) -> Vec<(String, Vec<String>)> {
        let found = self.ask(&format!("{}*/_alias", self.name)).await;
        let aliases = |value: &Value| value["aliases"].as_object().unwrap().keys().cloned().collect();
        found.as_object().unwrap().iter().map(|(name, value)| (name.clone(), aliases(value))).collect()
    }
}

impl Drop for Corner {
    fn drop(&mut self) {
        let (node, name) = (self.node.clone(), self.name.clone());
        // Dropping is not async: a thread with a runtime of its own removes the indexes.
        let removed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(remove(&node, &name)).unwrap();
        });
        let removed = removed.join();
        assert!(std::thread::panicking() || removed.is_ok(), "indexes are removed");
    }
}

/// Removes indexes one by one: newer servers take no pattern for that.
async fn remove(node: &str, prefix: &str) -> reqwest::Result<()> {
    let found =
        reqwest::get(format!("{node}/_cat/indices/{prefix}*?h=index")).await?.error_for_status()?.text().await?;
    for index in found.split_whitespace() {
        reqwest::Client::new().delete(format!("{node}/{index}")).send().await?.error_for_status()?;
    }
    Ok(())
}

fn node() -> Option<String> {
    std::env::var("VITRINA_TEST_ELASTICSEARCH_URL").ok()
}

/// A client with settings of the environment.
pub fn client(url: &str, settings: &[(&str, &str)]) -> Client {
    let pairs = [("ELASTICSEARCH_URL", url)].into_iter().chain(settings.iter().copied());
    let config: ElasticsearchConfig = Env::from_pairs(pairs).read().unwrap();
    Client::new(&config).unwrap()
}

/// Columns as the guard describes them.
pub fn columns(pairs: &[(&str, &str)]) -> Vec<SourceColumn> {
    let column = |(name, type_name): &(&str, &str)| SourceColumn {
        name: (*name).to_owned(),
        type_oid: 0,
        type_name: (*type_name).to_owned(),
        ..SourceColumn::default()
    };
    pairs.iter().map(column).collect()
}

/// The columns of items.
pub fn items() -> Vec<SourceColumn> {
    columns(&[("id", "bigint"), ("name", "text"), ("modified", "timestamp with time zone")])
}

/// An item's document.
pub fn item(id: u64, name: &str) -> Document {
    let body = json!({"id": id, "name": name, "modified": "2026-01-01T00:00:01.123456+00:00"});
    Document { id: id.to_string(), version: None, body: body.to_string() }
}

/// Writes documents to an endpoint.
pub async fn write(
    endpoint: &Arc<BulkEndpoint>,
    action: Action,
    documents: impl IntoIterator<Item = Document>,
) -> Result<Written, SinkError> {
    write_with(endpoint, action, 0, documents).await
}

/// The same, tolerating rejects.
pub async fn write_with(
    endpoint: &Arc<BulkEndpoint>,
    action: Action,
    max_rejects: u64,
    documents: impl IntoIterator<Item = Document>,
) -> Result<Written, SinkError> {
    let mut writer = BulkWriter::new(endpoint.clone(), action, max_rejects);
    for document in documents {
        writer.push(document).await?;
    }
    writer.finish().await
}

/// A run's id.
pub fn run() -> RunId {
    RunId::generate()
}
