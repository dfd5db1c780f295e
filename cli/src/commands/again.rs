//! `vitrina again`.

use clap::Args;
use vitrina_shared::process::Failure;

use super::run::{self, Waiting};
use crate::client::{Connection, Run};

#[derive(Debug, Args)]
pub struct Options {
    /// Id of a run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    let earlier: Run = client.run(&options.run).await?;
    let events = options.waiting.events(&client, &earlier.pipeline).await?;
    let requested = client.again(&options.run).await?;
    run::attend(&client, &earlier.pipeline, &requested, events, &options.waiting).await
}
