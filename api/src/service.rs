//! The API as a service of its own, configured by its environment.

use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, Env, LogConfig, SourceConfig},
    process::{self, Failure},
    telemetry,
};

use crate::{App, Server};

/// Runs until SIGTERM or Ctrl-C.
pub async fn run() -> Result<(), Failure> {
    let (log, database, config, source): (LogConfig, DatabaseConfig, ApiConfig, SourceConfig) =
        Env::from_process().read()?;
    let _telemetry = telemetry::init(&log, "vitrina-api")?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    Server::bind(App::new(config, &database, &source, stop)).await?.run().await?;
    Ok(())
}
