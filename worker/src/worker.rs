//! One worker: the queue, its wake-ups, its heartbeat and the maintenance, until it is told to stop.

use std::{sync::Arc, time::Duration};

use rand::RngExt;
use sqlx::PgPool;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, SourceConfig, WorkerConfig},
    database,
    guard::SourceSchemas,
    metrics, notify,
    store::queue::JOBS_CHANNEL,
};

use crate::{
    environment::Environment,
    maintenance,
    queue::{self, QueueOptions},
};

/// How long batches in hand may take to end when the worker stops.
const DRAIN: Duration = Duration::from_secs(30);

/// A worker, ready to run.
pub struct Worker {
    config: WorkerConfig,
    batches: PgPool,
    control: PgPool,
    schemas: SourceSchemas,
    database: DatabaseConfig,
    stop: CancellationToken,
}

impl Worker {
    /// Connects lazily: a worker starts, and waits, while its database is away.
    pub fn new(
        config: WorkerConfig,
        database: &DatabaseConfig,
        source: &SourceConfig,
        stop: CancellationToken,
    ) -> Self {
        let sized = |connections: usize| DatabaseConfig {
            url: database.url.clone(),
            max_connections: u32::try_from(connections).unwrap_or(u32::MAX),
        };
        Self {
            batches: database::pool(&sized(config.concurrency + 2), "vitrina-worker"),
            control: database::pool(&sized(4), "vitrina-worker-control"),
            schemas: SourceSchemas::new(source.schemas.iter().cloned()),
            database: database.clone(),
            config,
            stop,
        }
    }

    /// Runs until the stop token is cancelled. An error is logged, and the worker starts anew under a new name.
    pub async fn run(self) {
        metrics::recorder();
        let mut failures = 0_u32;
        while !self.stop.is_cancelled() {
            let name = unique_name(self.config.name.as_deref());
            match self.run_as(&name).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    tracing::warn!(worker = name, error = %error, failures, "the worker starts anew");
                    let pause = Duration::from_millis(100).saturating_mul(1 << failures.min(6));
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
            }
        }
        self.batches.close().await;
        self.control.close().await;
        tracing::info!("worker stopped");
    }

    /// One life of the worker, under one name.
    async fn run_as(&self, name: &str) -> Result<(), String> {
        let life = CancellationToken::new();
        let _ends = life.clone().drop_guard();
        let (wake, wakeups) = watch::channel(0);
        let session = database::session(self.database.url.connect_options(), "vitrina-worker-wakeups");
        forward(notify::listen(session, JOBS_CHANNEL, life.clone()), wake.clone(), life.clone());
        let env = Arc::new(Environment::new(
            self.batches.clone(),
            name.to_owned(),
            self.schemas.clone(),
            wake,
            self.stop.clone(),
        ));
        let options = QueueOptions {
            concurrency: self.config.concurrency,
            poll: self.config.poll,
            heartbeat: self.config.heartbeat,
        };
        tokio::spawn(maintenance::run(self.control.clone(), env.clone(), self.config.heartbeat, life));
        tracing::info!(worker = name, concurrency = options.concurrency, "worker started");
        let running = queue::run(&self.control, env, wakeups, &options);
        tokio::pin!(running);
        tokio::select! {
            ended = &mut running => ended.map_err(|error| error.to_string()),
            () = self.stop.cancelled() => match timeout(DRAIN, running).await {
                Ok(ended) => ended.map_err(|error| error.to_string()),
                Err(_) => Err("batches did not end in time; others will take them over".to_owned()),
            },
        }
    }
}

/// Passes wake-ups on, so that timers can wake the queue too.
fn forward(mut notifications: notify::Wakeups, wake: watch::Sender<u64>, life: CancellationToken) {
    tokio::spawn(async move {
        loop {
            tokio::select! {
                changed = notifications.changed() => if changed.is_err() { return },
                () = life.cancelled() => return,
            }
            wake.send_modify(|count| *count += 1);
        }
    });
}

/// A name that no other worker has had: a restart must not be taken for the worker that died.
fn unique_name(given: Option<&str>) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let base = given.unwrap_or_else(|| host.trim());
    let base = if base.is_empty() { "worker" } else { base };
    format!("{base}-{}-{:06x}", std::process::id(), rand::rng().random_range(0..0x100_0000))
}
