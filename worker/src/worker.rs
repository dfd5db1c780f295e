//! One worker: the queue, its wake-ups, its heartbeat and the maintenance, until it is told to stop.

use std::{sync::Arc, time::Duration};

use rand::RngExt;
use sqlx::PgPool;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, SourceConfig, WorkerConfig},
    database::{self, BY_KEY},
    guard::{Describing, SourceSchemas},
    metrics, migrate, notify, rights, store,
    store::{backends::Reason, queue::JOBS_CHANNEL},
};

use crate::{
    elasticsearch::Client,
    environment::{Connections, Environment},
    maintenance::{self, statements},
    queue::{self, QueueOptions},
};

/// How long a page may run, and wait for a lock. Past that it is cut off and tried again. A server that notices soon that
/// its client is gone ends the statement, which whoever takes the batch over would wait for.
const BATCH_LIMITS: [(&str, &str); 3] =
    [("statement_timeout", "10min"), ("lock_timeout", "10s"), ("client_connection_check_interval", "2s")];

/// How long cancelled statements may take to end when the worker stops, and connections to be closed.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// A page that passes through the worker is gathered by the server before it is sent; in a file, that costs a tenth more.
const ROOM_FOR_PAGES: (&str, &str) = ("work_mem", "32MB");

/// Who holds which job need not survive a crash of the server: then nobody holds any.
const FORGETFUL: (&str, &str) = ("synchronous_commit", "off");

/// A worker, ready to run.
pub struct Worker {
    config: WorkerConfig,
    connections: Connections,
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
            connections: Connections {
                batches: database::pool_for_queries(
                    &sized(config.concurrency + 2),
                    "vitrina-worker",
                    &[&BATCH_LIMITS, &BY_KEY],
                ),
                reading: database::pool_for_queries(
                    &sized(config.concurrency),
                    "vitrina-worker-reading",
                    &[&BATCH_LIMITS, &[ROOM_FOR_PAGES]],
                ),
                describing: Describing::new(database::pool_for_queries(
                    &sized(2),
                    "vitrina-worker-describing",
                    &[&BATCH_LIMITS],
                )),
                reports: database::pool_for_queries(&sized(4), "vitrina-worker-reports", &[&BATCH_LIMITS]),
                elasticsearch: Client::new(&config.elasticsearch),
            },
            control: database::pool_with(&sized(4), "vitrina-worker-control", &[&[FORGETFUL], &BY_KEY]),
            schemas: SourceSchemas::new(source.schemas.iter().cloned()),
            database: database.clone(),
            config,
            stop,
        }
    }

    /// Runs until the stop token is cancelled. An error is logged, and the worker starts anew under a new name.
    pub async fn run(self) {
        self.announce_series();
        rights::warn_when_connected(self.control.clone(), self.stop.clone());
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
                        () = sleep(pause) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
            }
        }
        let closed = async {
            self.connections.close().await;
            self.control.close().await;
        };
        if timeout(LAST_MOMENT, closed).await.is_err() {
            tracing::warn!("some connections were not closed in time; the server ends them");
        }
        tracing::info!("worker stopped");
    }

    /// Shows counters from 0 on: what Prometheus has not seen before does not count as an increase.
    fn announce_series(&self) {
        metrics::recorder();
        ::metrics::counter!(metrics::FENCED).increment(0);
        ::metrics::counter!(metrics::RECOVERED).increment(0);
        ::metrics::counter!(metrics::CLOCK_STEPS).increment(0);
        for reason in Reason::ALL {
            ::metrics::counter!(metrics::CANCELLED_STATEMENTS, "reason" => reason.as_str()).increment(0);
        }
        ::metrics::gauge!(metrics::JOBS_IN_FLIGHT).increment(0.0);
        ::metrics::gauge!(metrics::JOB_SLOTS).increment(self.config.concurrency as f64);
    }

    /// One life of the worker, under one name.
    async fn run_as(&self, name: &str) -> Result<(), String> {
        self.find_migrated().await?;
        let life = CancellationToken::new();
        let _ends = life.clone().drop_guard();
        let (wake, wakeups) = watch::channel(0);
        let session = database::session(self.database.url.connect_options(), "vitrina-worker-wakeups");
        forward(notify::listen(session, JOBS_CHANNEL, life.clone()), wake.clone(), life.clone());
        let env = Arc::new(Environment::new(
            self.connections.clone(),
            self.config.max_row_bytes,
            name.to_owned(),
            self.schemas.clone(),
            wake,
            self.stop.clone(),
            life.clone(),
        ));
        let options = QueueOptions {
            concurrency: self.config.concurrency,
            poll: self.config.poll,
            heartbeat: self.config.heartbeat,
        };
        tokio::spawn(maintenance::run(
            self.control.clone(),
            env.clone(),
            self.config.heartbeat,
            self.config.pause,
            life,
        ));
        tracing::info!(worker = name, concurrency = options.concurrency, "worker started");
        let outcome = tokio::select! {
            ended = queue::run(&self.control, env.clone(), wakeups, &options) => ended.map_err(|error| error.to_string()),
            () = self.drained(&env) => Ok(()),
        };
        if self.stop.is_cancelled() {
            self.hand_over(name).await;
        }
        outcome
    }

    /// Refuses a database that lacks migrations: our statements would fail on it, and users' runs with them.
    async fn find_migrated(&self) -> Result<(), String> {
        let asked = async { migrate::pending(&mut *self.control.acquire().await?).await };
        match asked.await {
            Ok(0) => Ok(()),
            Ok(lacking) => Err(format!("the database lacks {lacking} migration(s): run `vitrina migrate`")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for the stop token, then for the batches in hand. apalis waits for them too, but for ever if they are many.
    async fn drained(&self, env: &Environment) {
        self.stop.cancelled().await;
        if nothing_in_hand(env, self.config.drain).await {
            return;
        }
        for id in env.in_hand.ids() {
            statements::cancel(&self.control, id, Reason::Shutdown).await;
        }
        if !nothing_in_hand(env, LAST_MOMENT).await {
            env.in_hand.give_all_up();
        }
        tracing::warn!(worker = env.name, "batches did not end in time and were cancelled; others will take them over");
    }

    /// Gives jobs that were fetched and not begun back to the queue.
    async fn hand_over(&self, name: &str) {
        let handed = async {
            let mut connection = self.control.acquire().await?;
            if store::queue::release_forgotten(&mut connection, name, &[], Duration::ZERO).await? > 0 {
                store::queue::announce(&mut connection).await?;
            }
            store::queue::sign_off(&mut connection, name).await?;
            Ok::<_, sqlx::Error>(())
        };
        if let Err(error) = handed.await {
            tracing::warn!(worker = name, error = %error, "jobs could not be given back; others will take them over");
        }
    }
}

/// Waits until no job is being worked on. Whether that came within the limit.
async fn nothing_in_hand(env: &Environment, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        sleep(Duration::from_millis(50)).await;
        if env.working().is_empty() {
            return true;
        }
    }
    false
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
