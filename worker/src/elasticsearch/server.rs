//! Is the server one that we can work with, and may we?

use elasticsearch::http::Method;
use serde_json::{Value, json};

use super::{client::Client, error::SinkError};

/// The oldest versions whose requests can insist on an alias: those that write, and those that change aliases.
const OLDEST: (u64, u64) = (7, 11);
const OLDEST_OPENSEARCH: (u64, u64) = (2, 12);
/// What the server says for its cluster before it has one.
const NO_CLUSTER: &str = "_na_";
/// What writing, rebuilding and cleaning up an index needs.
const PRIVILEGES: [&str; 5] = ["create_index", "index", "read", "manage", "view_index_metadata"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// `elasticsearch`, or the name of a server that speaks the same language.
    pub distribution: String,
    pub version: String,
    pub cluster: String,
}

impl Client {
    /// Asks who is there and refuses what is too old.
    pub async fn server(&self) -> Result<Server, SinkError> {
        let answer = self.ask(Method::Get, "/", None).await?;
        let version = answer["version"]["number"].as_str().unwrap_or_default().to_owned();
        let distribution = answer["version"]["distribution"].as_str().unwrap_or("elasticsearch").to_owned();
        let mut numbers = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let (known, oldest) = match distribution.as_str() {
            "elasticsearch" => ("Elasticsearch", OLDEST),
            "opensearch" => ("OpenSearch", OLDEST_OPENSEARCH),
            _ => ("", (0, 0)),
        };
        if found < oldest {
            let what = if version.is_empty() { "something else".to_owned() } else { format!("version {version}") };
            let (major, minor) = oldest;
            return Err(SinkError::fatal(format!(
                "ELASTICSEARCH_URL leads to {what}: {known} {major}.{minor} or newer is needed"
            )));
        }
        let cluster = answer["cluster_uuid"].as_str().unwrap_or_default().to_owned();
        if cluster == NO_CLUSTER {
            return Err(SinkError::transient("the nodes of Elasticsearch have not found each other yet"));
        }
        Ok(Server { distribution, version, cluster })
    }

    /// Asks whether we may do with an index what a pipeline needs. A server without security has nothing to say.
    pub async fn check_rights(&self, index: &str) -> Result<(), SinkError> {
        let names = [index.to_owned(), format!("{index}-vitrina-*")];
        let wanted = json!({"index": [{"names": names, "privileges": PRIVILEGES}]});
        let answer = self.send(Method::Post, "/_security/user/_has_privileges", Some(&wanted)).await?;
        if [400, 404, 405].contains(&answer.status) {
            return Ok(());
        }
        let answer = answer.success()?;
        if answer["has_all_requested"] == true {
            return Ok(());
        }
        Err(SinkError::fatal(format!(
            "our account lacks rights on `{index}` or `{index}-vitrina-*`: {}",
            lacking(&answer).join(", ")
        )))
    }
}

fn lacking(answer: &Value) -> Vec<&'static str> {
    let lacks = |privilege: &&str| {
        answer["index"].as_object().is_some_and(|names| names.values().any(|rights| rights[*privilege] == false))
    };
    PRIVILEGES.into_iter().filter(lacks).collect()
}
