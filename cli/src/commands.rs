//! A file per command.

mod cinema;
mod demo;
mod migrate;
mod probe;
mod up;

use vitrina_shared::{config, process::Failure};

use crate::arguments::{Arguments, Command};

/// Does what was typed.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    config::load_dotenv()?;
    match arguments.command {
        Command::Demo(options) => demo::run(options).await,
        Command::Up(options) => up::run(options).await,
        Command::Api => vitrina_api::run_service().await,
        Command::Worker => vitrina_worker::run_service().await,
        Command::Migrate => migrate::run().await,
        Command::Cinema(options) => cinema::run(options).await,
        Command::Probe(options) => probe::run(options).await,
    }
}
