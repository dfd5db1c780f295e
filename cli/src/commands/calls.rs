//! `vitrina calls`.

use clap::{Args, Subcommand};
use vitrina_shared::{process::Failure, store::calls::CallState};

use super::objects;
use crate::{
    client::{Call, Connection},
    output::{self, Format, counted, printable, time},
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List calls, newest first
    #[command(after_help = "Examples:\n  vitrina calls ls\n  vitrina calls ls --pipeline film_names --state REFUSED")]
    Ls(Options),
    /// Forget calls of a pipeline, so that they are made, and paid for, again
    ///
    /// Calls that are under way stay.
    #[command(after_help = "Examples:
  vitrina calls forget film_names --state REFUSED
  vitrina calls forget film_names")]
    Forget(ForgetOptions),
}

#[derive(Debug, Args)]
pub struct Options {
    /// Only those of this pipeline
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    /// Only those in this state: SENDING, SUBMITTED, WAITING, DONE, REFUSED or FAILED
    #[arg(long, value_name = "STATE")]
    state: Option<CallState>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

#[derive(Debug, Args)]
pub struct ForgetOptions {
    /// Name or id of the pipeline
    #[arg(value_name = "PIPELINE")]
    pipeline: String,
    /// Only those in this state: WAITING, DONE, REFUSED or FAILED
    #[arg(long, value_name = "STATE")]
    state: Option<CallState>,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Ls(options) => list(options).await,
        Command::Forget(ForgetOptions { pipeline, state, server }) => {
            let forgotten = server.client()?.forget_calls(&pipeline, state.map(CallState::as_str)).await?;
            output::line(format!("{} of {} forgotten", counted(forgotten, "call"), printable(&pipeline)));
            Ok(())
        }
    }
}

async fn list(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    let state = options.state.map(CallState::as_str);
    let found = client.calls(options.pipeline.as_deref(), state, options.limit).await?;
    let columns = ["pipeline", "state", "sent (UTC)", "answered (UTC)", ">attempts", ">status", "error"];
    objects::print_list(options.format, found, "no call is remembered", columns, |call: &Call| {
        [
            (&call.pipeline).into(),
            (&call.state).into(),
            call.sent_at.map(time).unwrap_or_default().into(),
            call.answered_at.map(time).unwrap_or_default().into(),
            call.attempts.to_string().into(),
            call.status.map(|status| status.to_string()).unwrap_or_default().into(),
            call.error.clone().unwrap_or_default().into(),
        ]
    })
}
