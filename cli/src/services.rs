//! The API and workers of this process.

use std::net::SocketAddr;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vitrina_api::{App, Server};
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, LogConfig, OptionalDatabaseConfig, SourceConfig, WorkerConfig},
    process::Failure,
};
use vitrina_worker::Worker;

/// The settings of the API and workers on one database.
pub type Settings = (LogConfig, OptionalDatabaseConfig, ApiConfig, WorkerConfig, SourceConfig);

pub struct Services {
    pub addr: SocketAddr,
    running: JoinSet<Result<(), Failure>>,
    stop: CancellationToken,
}

impl Services {
    /// Starts the API and `workers` workers. They end when `stop` is cancelled.
    pub async fn start(
        api: ApiConfig,
        worker: &WorkerConfig,
        source: &SourceConfig,
        database: &DatabaseConfig,
        workers: u16,
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let server = Server::bind(App::new(api, database, source, stop.clone())).await?;
        let addr = server.addr();
        let mut running = JoinSet::new();
        running.spawn(async { server.run().await.map_err(Failure::from) });
        for _ in 0..workers {
            let worker = Worker::new(worker.clone(), database, source, stop.clone());
            running.spawn(async {
                worker.run().await;
                Ok(())
            });
        }
        Ok(Self { addr, running, stop })
    }

    /// Waits until all have ended; when one ends, the others are stopped.
    pub async fn wait(mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        while let Some(ended) = self.running.join_next().await {
            self.stop.cancel();
            outcome = outcome.and(ended.map_err(Failure::from).and_then(|result| result));
        }
        outcome
    }
}
