//! A file per command.

pub(crate) mod again;
pub(crate) mod apply;
pub(crate) mod cinema;
pub(crate) mod command;
mod completions;
pub(crate) mod dead_letters;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod ls;
mod migrate;
mod objects;
pub(crate) mod preview;
pub(crate) mod probe;
pub(crate) mod reconcile;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod targets;
pub(crate) mod up;
pub(crate) mod validate;
pub(crate) mod workers;

use vitrina_shared::process::Failure;

use crate::arguments::{Arguments, Command};

/// Executes the command.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Demo(options) => demo::run(options).await,
        Command::Up(options) => up::run(options).await,
        Command::Api => vitrina_api::run_service().await,
        Command::Worker => vitrina_worker::run_service().await,
        Command::Migrate => migrate::run().await,
        Command::Cinema(options) => cinema::run(options).await,
        Command::Probe(options) => probe::run(options).await,
        Command::Apply(options) => apply::run(options).await,
        Command::Validate(options) => validate::run(options).await,
        Command::Ls(options) => ls::run(options).await,
        Command::Show(options) => show::run(options).await,
        Command::Runs(options) => runs::run(options).await,
        Command::State(options) => state::run(options).await,
        Command::Workers(options) => workers::run(options).await,
        Command::Targets(options) => targets::run(options).await,
        Command::Run(options) => run::run(options).await,
        Command::Pause(options) => command::run(options, "pause").await,
        Command::Cancel(options) => command::run(options, "cancel").await,
        Command::Reset(options) => command::run(options, "reset").await,
        Command::Again(options) => again::run(options).await,
        Command::Preview(options) => preview::run(options).await,
        Command::Reconcile(options) => reconcile::run(options).await,
        Command::DeadLetters(options) => dead_letters::run(options).await,
        Command::Replay(options) => replay::run(options).await,
        Command::Events(options) => events::run(options).await,
        Command::Doctor(options) => doctor::run(options).await,
        Command::Completions { shell } => completions::run(shell),
    }
}
