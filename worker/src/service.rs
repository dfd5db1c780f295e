//! A worker as a service of its own, configured by its environment.

use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, Env, LogConfig, SourceConfig, WorkerConfig},
    process::{self, Failure},
    telemetry,
};

use crate::{Worker, metrics_server};

/// Runs until SIGTERM or Ctrl-C.
pub async fn run() -> Result<(), Failure> {
    let (log, database, config, source): (LogConfig, DatabaseConfig, WorkerConfig, SourceConfig) =
        Env::from_process().read()?;
    let _telemetry = telemetry::init(&log, "vitrina-worker")?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let metrics = metrics_server::serve(config.metrics_addr, config.metrics_token.clone(), stop.clone()).await?;
    Worker::new(config, &database, &source, stop).run().await;
    metrics.await?;
    Ok(())
}
