//! `vitrina steps`.

use clap::{Args, Subcommand};
use vitrina_shared::process::Failure;

use super::objects;
use crate::{
    client::{Connection, RegisteredStep},
    output::Format,
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the steps that a plan may name
    #[command(after_help = "Examples:
  vitrina steps ls
  vitrina steps ls --json | jq '.items[] | select(.name == \"cast\").options_schema'")]
    Ls(Options),
}

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    let Command::Ls(options) = command;
    let found = options.server.client()?.transforms().await?;
    objects::print_list(
        options.format,
        found,
        "this deployment has no steps",
        ["step", "options", "does"],
        |step: &RegisteredStep| {
            let options = step.options_schema["properties"].as_object().into_iter().flat_map(|options| options.keys());
            let options = options.map(String::as_str).collect::<Vec<_>>().join(", ");
            [(&step.name).into(), options.into(), (&step.description).into()]
        },
    )
}
