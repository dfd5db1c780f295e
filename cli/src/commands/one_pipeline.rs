//! Options of commands about one pipeline.

use clap::Args;

use crate::{
    client::{Client, ClientError, Connection},
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
}
