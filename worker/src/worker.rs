//! One worker: the queue, its wake-ups, its heartbeat and the maintenance, until it is stopped.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use rand::RngExt;
use sqlx::PgPool;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use vitrina_shared::{
    config::{DatabaseConfig, SourceConfig, WorkerConfig},
    database::{self, BY_KEY, TAKES_NO_WRITES, Watch},
    guard::{Describing, SourceSchemas},
    metrics, migrate,
    notify::{self, Noticed},
    rights, store,
    store::{backends::Reason, queue::JOBS_CHANNEL, worker_steps},
};

use crate::{
    elsewhere::Lacking,
    environment::{Connections, Environment, Memory, OwnSteps},
    in_hand::InHand,
    maintenance::{
        self, MISSED_HEARTBEATS,
        rescue::{self, RecoveryError},
        statements,
    },
    queue::{self, Wake},
    report_slots::ReportSlots,
    sink::{SinkKind, Sinks},
    source::{Source, Sources},
    step::{Interpreter, Outside, Python, StepRegistry},
};

/// How long a page may run (`session::LONGEST_STATEMENT`), and wait for a lock. Past that it is tried again.
const BATCH_LIMITS: [(&str, &str); 2] = [("statement_timeout", "10min"), ("lock_timeout", "10s")];

/// How long a statement that keeps the tables in order may take: one that hangs must not delay the next ones.
const CONTROL_LIMITS: [(&str, &str); 2] = [("statement_timeout", "15s"), ("lock_timeout", "3s")];

/// How long the queue's own statements may take. They take a millisecond.
const QUEUE_LIMITS: [(&str, &str); 2] = [("statement_timeout", "15s"), ("lock_timeout", "15s")];

/// The least time without a heartbeat after which a worker asks whether it is cut off.
const CUT_OFF_AFTER: Duration = Duration::from_secs(6);
/// When a statement of the queue that has not come back will not: the server would have ended it.
const QUEUE_IS_STUCK: Duration = Duration::from_secs(20);

/// How long cancelled statements may take to end when the worker stops, and connections to be closed.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// A page that passes through the worker is gathered by the server before it is sent; in a file, that costs a tenth more.
const ROOM_FOR_PAGES: (&str, &str) = ("work_mem", "32MB");

/// Which worker holds a job need not survive a crash of the server: no worker does then.
const ASYNC_COMMIT: (&str, &str) = ("synchronous_commit", "off");

/// How often a worker that stops checks whether its last job has ended.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// How soon a worker tries again to say which steps it has.
const PUBLISHES_AGAIN: Duration = Duration::from_secs(1);
/// How long a worker may take to give its jobs back.
const RELEASES_JOBS_WITHIN: Duration = Duration::from_secs(5);
/// A worker that has lived that long does not start anew because of what was wrong before.
const STABLE_AFTER: Duration = Duration::from_secs(60);

pub struct Worker {
    config: WorkerConfig,
    schemas: SourceSchemas,
    steps: StepRegistry,
    database: DatabaseConfig,
    sources: Vec<Arc<dyn Source>>,
    sinks: Vec<Arc<dyn SinkKind>>,
    python: Arc<Interpreter>,
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
        let schemas = SourceSchemas::new(source.schemas.iter().cloned());
        let (steps, sources, sinks) = (StepRegistry::default(), Vec::new(), Vec::new());
        let python = Interpreter::new(config.python.clone(), config.concurrency, stop.clone());
        Self { schemas, steps, sources, sinks, python, database: database.clone(), config, stop }
    }

    /// The same with other steps than the builtin ones.
    pub fn with_steps(self, steps: StepRegistry) -> Self {
        Self { steps, ..self }
    }

    /// The same with another source besides the home database.
    pub fn with_source(mut self, source: Arc<dyn Source>) -> Self {
        self.sources.push(source);
        self
    }

    /// The same with another kind of sink besides marts and indexes.
    pub fn with_sink(mut self, kind: Arc<dyn SinkKind>) -> Self {
        self.sinks.push(kind);
        self
    }

    fn environment(
        &self,
        name: &str,
        connections: &Connections,
        (wake, life): (watch::Sender<u64>, CancellationToken),
        steps: StepRegistry,
    ) -> Environment {
        Environment {
            sources: Sources::new(self.sources.clone(), Arc::new(connections.home(self.schemas.clone()))),
            connections: connections.clone(),
            steps: OwnSteps::new(steps),
            max_row_bytes: self.config.max_row_bytes,
            name: name.to_owned(),
            wake,
            stop: self.stop.clone(),
            life,
            report_slots: ReportSlots::default(),
            in_hand: InHand::default(),
            memory: Memory::default(),
            lacking: Lacking::new(self.config.heartbeat),
        }
    }

    /// The steps of one life but for those in Python, and what others are told of them.
    async fn find_steps(&self, name: &str, connections: &Connections) -> sqlx::Result<StepRegistry> {
        let (keys, hosts) = (self.config.keys.clone(), self.config.http_hosts.clone());
        let outside = Outside { db: connections.calls.clone(), keys, hosts };
        let steps = self.steps.clone().with_outside(outside);
        if !steps.keys().is_empty() {
            worker_steps::publish_keys(&mut *connections.control.acquire().await?, name, steps.keys()).await?;
        }
        Ok(steps.looking(self.python.is_wanted()))
    }

    /// Connections of one life. A worker that starts anew opens new ones, because the old ones may be broken.
    fn connections(&self) -> Connections {
        let sized = |connections: usize| DatabaseConfig {
            url: self.database.url.clone(),
            max_connections: u32::try_from(connections).unwrap_or(u32::MAX),
        };
        let queries = |connections: usize, name: &str, settings: &[(&str, &str)]| {
            database::pool_for_queries(&sized(connections), name, &[&BATCH_LIMITS, settings])
        };
        let (concurrency, control) = (self.config.concurrency, [&[ASYNC_COMMIT][..], &CONTROL_LIMITS, &BY_KEY]);
        Connections {
            db: queries(concurrency + 2, "vitrina-worker", &BY_KEY),
            page_pool: queries(concurrency, "vitrina-worker-reading", &[ROOM_FOR_PAGES]),
            // Of a query nothing is planned there: all statements look up catalogs by their keys.
            describing: Describing::new(queries(2, "vitrina-worker-describing", &BY_KEY)),
            reports: queries(4, "vitrina-worker-reports", &[]),
            control: database::pool_with(&sized(3), "vitrina-worker-control", &control),
            calls: database::pool_with(
                &sized(concurrency.clamp(2, 8)),
                "vitrina-worker-calls",
                &[&CONTROL_LIMITS, &BY_KEY],
            ),
            sinks: Sinks::of(&self.config).and(&self.sinks),
            clock: Arc::default(),
        }
    }

    /// Runs until the stop token is cancelled. An error is logged, and the worker starts anew under a new name.
    pub async fn run(self) {
        self.announce_series();
        let mut failures = 0_u32;
        while !self.stop.is_cancelled() {
            let name = unique_name(self.config.name.as_deref());
            let born = Instant::now();
            match self.run_as(&name).await {
                Ok(()) => failures = 0,
                Err(error) => {
                    // A worker that lived long was well: this is not one failure more.
                    failures = if born.elapsed() > STABLE_AFTER { 1 } else { failures + 1 };
                    tracing::warn!(worker = name, error = %error, failures, "the worker starts anew");
                    let pause = Duration::from_millis(100).saturating_mul(1 << failures.min(6));
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
            }
        }
        tracing::info!("worker stopped");
    }

    /// Shows counters from 0 on: what Prometheus has not seen before does not count as an increase.
    fn announce_series(&self) {
        metrics::recorder();
        metrics::limit_histograms(self.config.histogram_pipelines);
        ::metrics::counter!(metrics::FENCED).increment(0);
        ::metrics::counter!(metrics::RECOVERED).increment(0);
        ::metrics::counter!(metrics::CLOCK_STEPS).increment(0);
        for reason in Reason::ALL {
            ::metrics::counter!(metrics::CANCELLED_STATEMENTS, "reason" => reason.as_str()).increment(0);
        }
        ::metrics::gauge!(metrics::JOBS_IN_FLIGHT).increment(0.0);
        ::metrics::gauge!(metrics::JOB_SLOTS).increment(self.config.concurrency as f64);
    }

    /// One life of the worker, under one name, with connections of its own.
    async fn run_as(&self, name: &str) -> Result<(), String> {
        let connections = self.connections();
        let outcome = self.live(name, &connections).await;
        if timeout(LAST_MOMENT, connections.close()).await.is_err() {
            tracing::warn!(worker = name, "some connections were not closed in time; the server ends them");
        }
        outcome
    }

    async fn live(&self, name: &str, connections: &Connections) -> Result<(), String> {
        find_migrated(&connections.control).await?;
        let life = CancellationToken::new();
        let _ends = life.clone().drop_guard();
        rights::warn_when_connected(connections.control.clone(), life.clone());
        let (wake, wakeups) = watch::channel(0);
        let steps = self.find_steps(name, connections).await.map_err(|error| error.to_string())?;
        let env = Arc::new(self.environment(name, connections, (wake, life.clone()), steps));
        let session = database::session(self.database.url.connect_options(), "vitrina-worker-wakeups");
        let woken = env.wake.clone();
        notify::follow(session, vec![JOBS_CHANNEL], life.clone(), move |noticed| match noticed {
            Noticed::Connected | Noticed::Notification { .. } => woken.send_modify(|count| *count += 1),
            Noticed::Silence => {}
        });
        let WorkerConfig { heartbeat, pause, retention, .. } = self.config;
        tokio::spawn(maintenance::run(env.clone(), heartbeat, pause, retention));
        let (warm, schemas) = (connections.clone(), self.schemas.clone());
        tokio::spawn(async move { warm.warm_up(&schemas).await });
        if self.python.is_wanted() {
            tokio::spawn(look_for_python(self.python.clone(), env.clone()));
        }
        tracing::info!(worker = name, concurrency = self.config.concurrency, "worker started");
        let few = DatabaseConfig { url: self.database.url.clone(), max_connections: 2 };
        let (queue_pool, watch) =
            database::watched_pool(&few, "vitrina-worker-queue", &[&[ASYNC_COMMIT], &QUEUE_LIMITS, &BY_KEY]);
        // A task of its own: whatever wakes this one lets apalis look for jobs.
        let wakeups = Wake::new(wakeups, watch.clone());
        let mut stuck = AbortOnDropHandle::new(tokio::spawn(stuck(watch)));
        let outcome = tokio::select! {
            ended = queue::run(&queue_pool, env.clone(), wakeups, &self.config) => ended.map_err(|error| error.to_string()),
            () = self.drained(&env) => Ok(()),
            () = self.cut_off(&env) => Err("the database answers, and not over this worker's connections".to_owned()),
            _ = &mut stuck => Err("a statement of the queue did not come back: its connection fell silent".to_owned()),
        };
        // No heartbeat after the worker has signed off.
        life.cancel();
        // A fetch that is under way may still take a job; after this it cannot, so all jobs are given back below.
        if timeout(LAST_MOMENT, queue_pool.close()).await.is_err() {
            tracing::warn!(worker = name, "the queue's connections were not closed in time");
        }
        if timeout(RELEASES_JOBS_WITHIN, hand_over(&connections.control, name)).await.is_err() {
            tracing::warn!(worker = name, "jobs could not be given back in time; other workers will take them over");
        }
        outcome
    }

    /// Waits until heartbeats do not get through although the database answers a new connection. By then other workers take this
    /// worker's jobs, so it must not take more of them.
    async fn cut_off(&self, env: &Environment) {
        let session = database::session(self.database.url.connect_options(), "vitrina-worker-probe");
        let limit = CUT_OFF_AFTER.max(self.config.heartbeat * MISSED_HEARTBEATS);
        let born = Instant::now();
        loop {
            sleep(self.config.heartbeat).await;
            let silent_for = env.beat_at().map_or_else(|| born.elapsed(), |beat| beat.elapsed());
            if silent_for > limit && database::answers(&session).await {
                return;
            }
        }
    }

    /// Waits for the stop token, then for the batches in hand. apalis waits for them too, but for ever if they are many.
    async fn drained(&self, env: &Environment) {
        self.stop.cancelled().await;
        if nothing_in_hand(env, self.config.drain).await {
            return;
        }
        let ids = env.in_hand.ids();
        let cancelled = join_all(ids.into_iter().map(|id| statements::cancel(&env.control, id, Reason::Shutdown)));
        if timeout(LAST_MOMENT, cancelled).await.is_err() {
            tracing::warn!(worker = env.name, "the database does not answer; statements end with their connections");
        }
        if !nothing_in_hand(env, LAST_MOMENT).await {
            env.in_hand.give_all_up();
        }
        tracing::warn!(
            worker = env.name,
            "batches did not end in time and were cancelled; other workers will take them over"
        );
    }
}

/// Refuses a database that lacks migrations or takes no writes: our statements would fail on it, and users' runs with them.
async fn find_migrated(control: &PgPool) -> Result<(), String> {
    let asked = async {
        let mut connection = control.acquire().await?;
        Ok::<_, sqlx::Error>((migrate::pending(&mut connection).await?, database::takes_writes(&mut connection).await?))
    };
    match timeout(RELEASES_JOBS_WITHIN, asked).await {
        Ok(Ok((0, true))) => Ok(()),
        Ok(Ok((0, false))) => Err(TAKES_NO_WRITES.to_owned()),
        Ok(Ok((lacking, _))) => Err(format!("the database lacks migrations ({lacking}): run `vitrina migrate`")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_silence) => Err("the database does not answer".to_owned()),
    }
}

/// Adds the steps in Python to those of a life, beside its jobs: importing them may take long.
async fn look_for_python(interpreter: Arc<Interpreter>, env: Arc<Environment>) {
    let add = async {
        while let Err(error) = add_python(&interpreter, &env).await {
            tracing::warn!(worker = env.name, error = %error, "the steps in Python could not be published yet");
            sleep(PUBLISHES_AGAIN).await;
        }
    };
    tokio::select! {
        () = add => {}
        () = env.life.cancelled() => {}
    }
}

async fn add_python(interpreter: &Arc<Interpreter>, env: &Environment) -> sqlx::Result<()> {
    let found = Python::find(interpreter, &env.control).await?;
    let steps = StepRegistry::clone(&env.steps.current()).looking(false);
    let Some(python) = found else {
        env.steps.replace(steps);
        return Ok(());
    };
    let steps = steps.with_python(python);
    worker_steps::publish(&mut *env.control.acquire().await?, &env.name, &steps.published()).await?;
    env.steps.replace(steps);
    env.wake.send_modify(|count| *count += 1);
    Ok(())
}

async fn hand_over(control: &PgPool, name: &str) {
    let handed = async {
        rescue::give_back(control, name).await?;
        Ok::<_, RecoveryError>(store::queue::sign_off(&mut *control.acquire().await?, name).await?)
    };
    if let Err(error) = handed.await {
        tracing::warn!(worker = name, error = %error, "jobs could not be given back; other workers will take them over");
    }
}

async fn stuck(watch: Watch) {
    while !watch.is_stuck(QUEUE_IS_STUCK) {
        sleep(Duration::from_secs(1)).await;
    }
}

/// Waits until no job is being worked on. Whether that came within the limit.
async fn nothing_in_hand(env: &Environment, limit: Duration) -> bool {
    let let_go = async {
        sleep(CHECK_EVERY).await;
        while !env.working().is_empty() {
            sleep(CHECK_EVERY).await;
        }
    };
    timeout(limit, let_go).await.is_ok()
}

/// A name that no other worker has had: a restart must not be taken for the worker that died.
fn unique_name(given: Option<&str>) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let base = given.unwrap_or_else(|| host.trim());
    let base = if base.is_empty() { "worker" } else { base };
    format!("{base}-{}-{:06x}", std::process::id(), rand::rng().random_range(0..0x100_0000))
}
