//! The indexes behind a target's name.
//!
//! `es:film_dim` is an alias. Behind it stands a physical index `film_dim-vitrina-<run>`, named after the run that created
//! it, so that a full run can build another one and swap. While it is being built it has only the alias
//! `film_dim-vitrina-<run>-building`; documents are always written through an alias, so that a late request to an index
//! that was removed meanwhile cannot bring it back.

use std::{collections::BTreeMap, sync::Arc};

use elasticsearch::http::Method;
use serde_json::{Value, json};
use vitrina_shared::domain::{IndexOptions, RunId, SourceColumn};

use super::{bulk::Route, client::Client, error::SinkError, mapping};

/// Stands between a target's name and the run in the name of a physical index.
const MARK: &str = "-vitrina-";
/// Ends the name of the alias of an index that is being built.
const BUILDING: &str = "-building";

/// An index as a pipeline sees it.
#[derive(Debug, Clone)]
pub struct Index {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) options: IndexOptions,
}

/// A physical index and what leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Physical {
    /// Its name.
    pub name: String,
    /// Its aliases.
    pub aliases: Vec<String>,
}

impl Index {
    /// The index of this name. Nothing is asked or sent.
    pub fn new(client: Client, name: impl Into<String>, options: IndexOptions) -> Self {
        Self { client, name: name.into(), options }
    }

    /// What was decided about it.
    pub fn options(&self) -> &IndexOptions {
        &self.options
    }

    /// Makes sure that the server is one that we can work with, and that we may.
    pub async fn check_access(&self) -> Result<(), SinkError> {
        self.client.server().await?;
        self.client.check_rights(&self.name).await
    }

    /// Makes sure that rows with these columns can be written, creating what is missing, and says by which route.
    pub async fn prepare(&self, run: RunId, columns: &[SourceColumn]) -> Result<Arc<Route>, SinkError> {
        if self.behind().await?.is_empty() {
            self.refuse_concrete().await?;
            self.create(&self.physical(run), &self.name, columns, &self.settings()).await?;
        }
        self.check_fields(columns).await?;
        Ok(self.route())
    }

    /// The way to the documents that are there.
    pub fn route(&self) -> Arc<Route> {
        Arc::new(Route::new(self.client.clone(), &self.name, &self.options))
    }

    /// How many documents can be searched.
    pub async fn count(&self, name: &str) -> Result<u64, SinkError> {
        let answer = self.client.ask(Method::Get, &format!("/{name}/_count"), None).await?;
        answer["count"].as_u64().ok_or_else(|| SinkError::transient("Elasticsearch counted nothing"))
    }

    /// Makes everything that was written so far searchable.
    pub async fn refresh(&self, name: &str) -> Result<(), SinkError> {
        self.client.ask(Method::Post, &format!("/{name}/_refresh"), None).await.map(|_| ())
    }

    /// The physical index that this run creates.
    pub(super) fn physical(&self, run: RunId) -> String {
        format!("{}{MARK}{run}", self.name)
    }

    /// The alias of an index while it is built.
    pub(super) fn building(physical: &str) -> String {
        format!("{physical}{BUILDING}")
    }

    /// The run that created a physical index of ours; nothing for an index of somebody else.
    pub(super) fn run_of(&self, physical: &str) -> Option<RunId> {
        physical.strip_prefix(&self.name)?.strip_prefix(MARK)?.parse().ok().map(RunId)
    }

    /// The settings of an index in use.
    pub(super) fn settings(&self) -> Value {
        let mut settings = self.options.settings.clone();
        settings.insert("number_of_shards".to_owned(), json!(self.options.shards));
        settings.insert("number_of_replicas".to_owned(), json!(self.options.replicas));
        settings.insert("refresh_interval".to_owned(), json!(self.options.refresh_interval));
        Value::Object(settings)
    }

    /// The physical indexes that the alias leads to.
    pub(super) async fn behind(&self) -> Result<Vec<Physical>, SinkError> {
        self.aliases(&format!("/_alias/{}", self.name)).await
    }

    /// All physical indexes of ours, in use or not.
    pub async fn ours(&self) -> Result<Vec<Physical>, SinkError> {
        let found = self.aliases(&format!("/{}{MARK}*/_alias", self.name)).await?;
        Ok(found.into_iter().filter(|physical| self.run_of(&physical.name).is_some()).collect())
    }

    async fn aliases(&self, path: &str) -> Result<Vec<Physical>, SinkError> {
        let answer = self.client.send(Method::Get, path, None).await?;
        if answer.status == 404 {
            return Ok(Vec::new());
        }
        let found: BTreeMap<String, Value> =
            serde_json::from_value(answer.success()?).map_err(|error| SinkError::lost(&error))?;
        let names = |aliases: &Value| aliases.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
        Ok(found.into_iter().map(|(name, value)| Physical { name, aliases: names(&value["aliases"]) }).collect())
    }

    /// An index that somebody made under the target's own name is theirs.
    pub(super) async fn refuse_concrete(&self) -> Result<(), SinkError> {
        let name = &self.name;
        match self.client.send(Method::Head, &format!("/{name}"), None).await?.status {
            404 => Ok(()),
            200..=299 => Err(SinkError::fatal(format!(
                "`{name}` is an index of its own, and Vitrina writes only behind an alias. Choose another target, or keep its \
                 documents under another name and make `{name}` an alias: POST /_reindex \
                 {{\"source\":{{\"index\":\"{name}\"}},\"dest\":{{\"index\":\"{name}-old\"}}}}, then POST /_aliases \
                 {{\"actions\":[{{\"remove_index\":{{\"index\":\"{name}\"}}}},\
                 {{\"add\":{{\"index\":\"{name}-old\",\"alias\":\"{name}\"}}}}]}}"
            ))),
            status => Err(SinkError::refused(status, b"")),
        }
    }

    /// Creates a physical index with its first alias. One that is there already is left as it is.
    pub(super) async fn create(
        &self,
        physical: &str,
        alias: &str,
        columns: &[SourceColumn],
        settings: &Value,
    ) -> Result<(), SinkError> {
        let body = json!({
            "settings": settings,
            "mappings": mapping::mappings(columns, &self.options),
            "aliases": {alias: {"is_write_index": true}},
        });
        let answer = self.client.send(Method::Put, &format!("/{physical}"), Some(&body)).await?;
        let status = answer.status;
        match answer.success() {
            Ok(_) => {
                tracing::info!(index = physical, alias, "index created");
                Ok(())
            }
            Err(error) if error.message.contains("resource_already_exists_exception") => Ok(()),
            // Another pipeline was faster: the alias has its index.
            Err(_) if alias == self.name && !self.behind().await?.is_empty() => Ok(()),
            Err(error) if status == 400 => Err(SinkError::fatal(format!(
                "the index of `es:{}` cannot be created, look at the target's options: {error}",
                self.name
            ))),
            Err(error) => Err(error),
        }
    }

    /// Every column needs its field: the mapping is strict.
    async fn check_fields(&self, columns: &[SourceColumn]) -> Result<(), SinkError> {
        let name = &self.name;
        let found = self.client.ask(Method::Get, &format!("/{name}/_mapping"), None).await?;
        let indexes = found.as_object().map(|map| map.values().collect::<Vec<_>>()).unwrap_or_default();
        let lacking = |column: &&SourceColumn| {
            indexes.iter().any(|index| index["mappings"]["properties"].get(&column.name).is_none())
        };
        let Some(column) = columns.iter().find(lacking) else { return Ok(()) };
        let derived = mapping::mappings(std::slice::from_ref(column), &self.options);
        let field = json!({"properties": {&column.name: derived["properties"][&column.name]}});
        Err(SinkError::fatal(format!(
            "the index `{name}` has no field `{}`: run the pipeline with --full, which builds the index anew, or add the field with PUT /{name}/_mapping {field}",
            column.name
        )))
    }
}
