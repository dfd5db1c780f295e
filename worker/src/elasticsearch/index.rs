//! The indexes behind a target's name.
//!
//! `es:film_dim` is an alias. Behind it stands a physical index `film_dim-vitrina-<run>`, named after the run that created
//! it, so that a full run can build another one and swap. While it is being built it has only the alias
//! `film_dim-vitrina-<run>-building`; documents are always written through an alias, so that a late request to an index
//! that was removed meanwhile cannot bring it back.

use std::sync::Arc;

use elasticsearch::http::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;
use vitrina_shared::domain::{IndexOptions, RunId, SourceColumn};

use super::{
    bulk::BulkEndpoint,
    client::Client,
    error::{SinkError, SinkErrorKind},
    mapping,
    physical::{Physical, noting},
    server::Server,
};

/// Stands between a target's name and the run in the name of a physical index.
const MARK: &str = "-vitrina-";
/// How long a deleted document's version is remembered: longer than any late request is under way.
const GC_DELETES: &str = "10m";

#[derive(Debug, Clone)]
pub struct Index {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) options: IndexOptions,
    pub(super) owner: String,
}

#[derive(Debug)]
pub struct Ready {
    /// What the server calls this very index.
    pub uuid: String,
    pub endpoint: Arc<BulkEndpoint>,
}

impl Index {
    /// The index of this name, as this installation writes it. Nothing is asked or sent.
    pub fn new(client: Client, name: impl Into<String>, options: IndexOptions, installation: Uuid) -> Self {
        Self { client, name: name.into(), options, owner: installation.to_string() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn options(&self) -> &IndexOptions {
        &self.options
    }

    /// Makes sure that the server is one that we can work with, and that we may.
    pub async fn check_access(&self) -> Result<Server, SinkError> {
        let server = self.client.server().await?;
        self.client.check_rights(&self.name).await?;
        Ok(server)
    }

    /// Makes sure that rows with these columns can be written, creating what was missing when the run began.
    pub async fn prepare(&self, run: RunId, columns: &[SourceColumn], begun: bool) -> Result<Ready, SinkError> {
        let found = match self.serving().await? {
            Some(found) => found,
            None if begun => return Err(self.is_gone()),
            None => {
                self.create(&self.physical(run), &self.name, columns, &self.settings()).await?;
                self.serving().await?.ok_or_else(|| self.is_gone())?
            }
        };
        self.check_fields(&found, columns)?;
        if !begun {
            self.warn_of_lost_fields(&found, columns);
        }
        Ok(Ready { uuid: found.uuid, endpoint: self.endpoint() })
    }

    /// The way to the documents that are there.
    pub fn endpoint(&self) -> Arc<BulkEndpoint> {
        Arc::new(BulkEndpoint::new(self.client.clone(), &self.name, &self.options))
    }

    /// How many documents can be searched.
    pub async fn count(&self, name: &str) -> Result<u64, SinkError> {
        let answer = self.client.ask(Method::Get, &format!("/{name}/_count"), None).await?;
        if answer["_shards"]["failed"].as_u64() != Some(0) {
            return Err(SinkError::transient(format!(
                "Elasticsearch cannot count all shards of `{name}` at the moment"
            )));
        }
        answer["count"].as_u64().ok_or_else(|| SinkError::transient("Elasticsearch counted nothing"))
    }

    /// Whether it has no document. What was written is made searchable before that is said.
    pub async fn is_empty(&self) -> Result<bool, SinkError> {
        if self.count(&self.name).await? > 0 {
            return Ok(false);
        }
        self.refresh(&self.name).await?;
        Ok(self.count(&self.name).await? == 0)
    }

    /// Makes everything that was written so far searchable.
    pub async fn refresh(&self, name: &str) -> Result<(), SinkError> {
        self.client.ask(Method::Post, &format!("/{name}/_refresh"), None).await.map(|_| ())
    }

    pub(super) fn physical(&self, run: RunId) -> String {
        format!("{}{MARK}{run}", self.name)
    }

    /// The run that created a physical index of this name; nothing for an index that is not Vitrina's.
    pub(super) fn run_of(&self, physical: &str) -> Option<RunId> {
        physical.strip_prefix(&self.name)?.strip_prefix(MARK)?.parse().ok().map(RunId)
    }

    /// Whether this installation made it, for this target.
    pub(super) fn is_ours(&self, physical: &Physical) -> bool {
        physical.owner() == Some(&self.owner) && self.run_of(&physical.name).is_some()
    }

    pub(super) fn settings(&self) -> Value {
        let mut settings = self.options.settings.clone();
        settings.insert("number_of_shards".to_owned(), json!(self.options.shards));
        settings.insert("number_of_replicas".to_owned(), json!(self.options.replicas));
        settings.insert("refresh_interval".to_owned(), json!(self.options.refresh_interval));
        if !["gc_deletes", "index.gc_deletes"].iter().any(|name| settings.contains_key(*name)) {
            settings.insert("gc_deletes".to_owned(), json!(GC_DELETES));
        }
        Value::Object(settings)
    }

    pub(super) async fn serving(&self) -> Result<Option<Physical>, SinkError> {
        let mut behind = self.behind().await?;
        let Some(found) = behind.pop() else { return Ok(None) };
        if let Some(other) = behind.pop() {
            return Err(self.refusal(format!(
                "leads to several indexes, `{}` and `{}` among them, and one document may be in both: let it lead to one",
                other.name, found.name
            )));
        }
        if found.closed {
            return Err(
                self.refusal(format!("leads to `{0}`, which is closed: open it with POST /{0}/_open", found.name))
            );
        }
        Ok(Some(found))
    }

    /// The physical indexes that the alias leads to. An index of that name, and one without the mark of this
    /// installation, are not ours.
    pub(super) async fn behind(&self) -> Result<Vec<Physical>, SinkError> {
        let name = &self.name;
        let found = self.list_physical(name).await?;
        if found.iter().any(|index| index.name == *name) {
            let mappings = json!({"mappings": {"_meta": noting(Map::new(), Some(&self.owner), None)}});
            return Err(self.refusal(format!(
                "is an index of its own, and Vitrina writes only behind an alias. Choose another target, or keep its \
                 documents under another name and make `{name}` an alias: PUT /{name}-old {mappings}, then POST /_reindex \
                 {{\"source\":{{\"index\":\"{name}\"}},\"dest\":{{\"index\":\"{name}-old\"}}}}, then POST /_aliases \
                 {{\"actions\":[{{\"remove_index\":{{\"index\":\"{name}\"}}}},\
                 {{\"add\":{{\"index\":\"{name}-old\",\"alias\":\"{name}\"}}}}]}}, and run the pipeline with --full"
            )));
        }
        if found.iter().any(|index| !index.has(name)) {
            return Err(
                self.refusal("is a data stream, and Vitrina writes only behind an alias: choose another target")
            );
        }
        if let Some(index) = found.iter().find(|index| index.owner().is_some_and(|owner| owner != self.owner)) {
            return Err(self.refusal(format!(
                "leads to `{0}`, which another installation of Vitrina writes: choose another target, or, if that installation \
                 is no more, take the alias away with POST /_aliases \
                 {{\"actions\":[{{\"remove\":{{\"index\":\"{0}\",\"alias\":\"{name}\"}}}}]}} and run the pipeline",
                index.name
            )));
        }
        if let Some(index) = found.iter().find(|index| index.owner().is_none()) {
            let meta = json!({"_meta": noting(index.meta.clone(), Some(&self.owner), None)});
            return Err(self.refusal(format!(
                "leads to `{0}`, which Vitrina did not make and does not change: choose another target, or take the alias away \
                 with POST /_aliases {{\"actions\":[{{\"remove\":{{\"index\":\"{0}\",\"alias\":\"{name}\"}}}}]}}. To give the \
                 index to Vitrina, which then writes over its documents and may put another one in its place: PUT /{0}/_mapping \
                 {meta}",
                index.name
            )));
        }
        Ok(found)
    }

    /// All physical indexes that this installation made for this target, in use or not.
    pub async fn ours(&self) -> Result<Vec<Physical>, SinkError> {
        let found = self.list_physical(&format!("{}{MARK}*", self.name)).await?;
        Ok(found.into_iter().filter(|physical| self.is_ours(physical)).collect())
    }

    pub(super) async fn find_physical(&self, physical: &str) -> Result<Option<Physical>, SinkError> {
        Ok(self.list_physical(physical).await?.pop())
    }

    async fn list_physical(&self, names: &str) -> Result<Vec<Physical>, SinkError> {
        let answer = self.client.send(Method::Get, &format!("/{names}"), None).await?;
        if answer.is_no_index() { Ok(Vec::new()) } else { Physical::all(answer.success()?) }
    }

    pub(super) fn refusal(&self, message: impl std::fmt::Display) -> SinkError {
        SinkError::fatal(format!("`{}` {message}", self.name))
    }

    /// A run cannot go on without the index that it began with.
    pub fn is_gone(&self) -> SinkError {
        self.refusal("does not lead to the index any more that the run began to write: run the pipeline again, from the first row")
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
            "mappings": self.mappings(columns),
            "aliases": {alias: {"is_write_index": true}},
        });
        let answer = self.client.send(Method::Put, &format!("/{physical}"), Some(&body)).await?;
        let status = answer.status;
        match answer.success() {
            Ok(_) => {
                tracing::info!(index = physical, alias, "index created");
                Ok(())
            }
            Err(error) if error.kind == SinkErrorKind::AlreadyExists => Ok(()),
            // Another pipeline was faster: the alias has its index.
            Err(_) if alias == self.name && !self.behind().await?.is_empty() => Ok(()),
            Err(error) if status == 400 => Err(SinkError::fatal(format!(
                "the index of `es:{}` cannot be created, look at the target's options and at the cluster's index templates: \
                 {error}",
                self.name
            ))),
            Err(error) => Err(error),
        }
    }

    /// The mapping, with a note of who made the index.
    fn mappings(&self, columns: &[SourceColumn]) -> Value {
        let mut mappings = mapping::mappings(columns, &self.options);
        let meta: Map<String, Value> = mappings["_meta"].as_object().cloned().unwrap_or_default();
        mappings["_meta"] = noting(meta, Some(&self.owner), None);
        mappings
    }

    /// A document is written whole: fields that only others write go from it, unless they asked for `update`.
    fn warn_of_lost_fields(&self, index: &Physical, columns: &[SourceColumn]) {
        if self.options.write.is_some() {
            return;
        }
        let given = self.options.mappings.get("properties");
        let lost = |field: &&String| {
            !columns.iter().any(|column| column.name == **field)
                && given.is_none_or(|given| given.get(field.as_str()).is_none())
        };
        let fields: Vec<&String> = index.fields.keys().filter(lost).collect();
        if !fields.is_empty() {
            tracing::warn!(
                index = self.name,
                ?fields,
                "the query does not return these fields of the index: documents that are written lose them. The target's \
                 option write says what is meant: `update` keeps them, `index` does not"
            );
        }
    }

    /// Every column needs its field, because the mapping is strict, and one of its type: a number with a fraction would be
    /// searched without it in a field of whole ones.
    pub(super) fn check_fields(&self, index: &Physical, columns: &[SourceColumn]) -> Result<(), SinkError> {
        let lacking = |column: &&SourceColumn| !index.fields.contains_key(&column.name);
        let Some(column) = columns.iter().find(lacking) else { return self.check_types(index, columns) };
        let derived = mapping::mappings(std::slice::from_ref(column), &self.options);
        let field = json!({"properties": {&column.name: derived["properties"][&column.name]}});
        Err(SinkError::fatal(format!(
            "the index `{0}` has no field `{1}`: run the pipeline with --full, which builds the index anew, or add the field with PUT /{0}/_mapping {field}",
            self.name, column.name
        )))
    }

    /// What the target's options say of a field is not questioned.
    fn check_types(&self, index: &Physical, columns: &[SourceColumn]) -> Result<(), SinkError> {
        let derived = mapping::mappings(columns, &self.options);
        let given = self.options.mappings.get("properties");
        for column in columns.iter().filter(|column| given.is_none_or(|given| given.get(&column.name).is_none())) {
            let (wanted, found) = (type_of(&derived["properties"][&column.name]), type_of(&index.fields[&column.name]));
            if !mapping::holds(found, wanted) {
                return Err(SinkError::fatal(format!(
                    "the field `{1}` of the index `{0}` is of type `{found}`, and the column is {2}, which needs `{wanted}`: run \
                     the pipeline with --full, which builds the index anew, or, if the field is meant to be so, say it in the \
                     target's option mappings: {{\"properties\":{{\"{1}\":{{\"type\":\"{found}\"}}}}}}",
                    self.name,
                    column.name,
                    column.plain_type()
                )));
            }
        }
        Ok(())
    }
}

/// The type of a field; the server leaves that of objects out.
fn type_of(field: &Value) -> &str {
    field["type"].as_str().unwrap_or("object")
}
