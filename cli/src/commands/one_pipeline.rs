//! Options of commands about one pipeline.

use clap::Args;

use crate::{
    client::{Client, ClientError, Connection, List, Target},
    output::Format,
};

#[derive(Debug, Args)]
pub struct OnePipeline {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) format: Format,
    #[command(flatten)]
    server: Connection,
}

impl OnePipeline {
    pub(super) fn client(&self) -> Result<Client, ClientError> {
        self.server.client()
    }

    /// The columns of its target's key in their order, which JSON objects do not keep; empty if they are not known.
    pub(super) async fn key_order(&self, client: &Client) -> Vec<String> {
        let (Ok(pipeline), Ok(targets)) = (client.pipeline(&self.name).await, client.targets().await) else {
            return Vec::new();
        };
        let last = pipeline["tasks"].as_array().and_then(|tasks| tasks.last()?["target_table"].as_str());
        let target = last.or(pipeline["target_table"].as_str()).unwrap_or_default();
        let targets = serde_json::from_value(targets).map(|list: List<Target>| list.items).unwrap_or_default();
        targets.into_iter().find(|one| one.target == target).map(|one| one.key).unwrap_or_default()
    }
}
