//! The state that handlers share: database, listeners, limits.

use std::{future::Future, sync::Arc, time::Duration};

use salvo::Depot;
use sqlx::PgPool;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, SourceConfig},
    database::{self, BY_KEY, LastingPool},
    domain::{PipelineDraft, PipelineId, PipelineRef, Task, TaskKind, transform::Registry},
    guard::{Describing, SourceSchemas},
    jobs::BATCH_QUEUE,
    notify::{self, EVENTS_CHANNEL, Noticed, Wakeups},
    progress::{PROGRESS_CHANNEL, Progress},
    store::{reports::REPORTS_CHANNEL, worker_steps},
};

use crate::{
    deployment::Deployment,
    problem::{ApiError, ApiResult},
    streams::Streams,
    turns::{self, Turns},
};

/// Queries described at once.
const DESCRIBING_CONNECTIONS: u32 = 4;
/// How long a request waits for an earlier query of the same author to be described.
const DESCRIBING_PATIENCE: Duration = Duration::from_secs(10);
const CHANNELS: &[&str] = &[EVENTS_CHANNEL, PROGRESS_CHANNEL, REPORTS_CHANNEL];
/// Progress that waits for a slow client; what is older is dropped.
const PROGRESS_BUFFER: usize = 64;
/// Ends of reports that wait for a busy request; one that missed some looks at its own report.
const REPORT_BUFFER: usize = 64;

pub struct App {
    pub(crate) db: LastingPool,
    /// The same database, for describing queries.
    pub describing: Describing,
    /// Authors whose query is being described.
    pub turns: Turns<Arc<str>>,
    pub changes: Turns<PipelineId>,
    /// Pipelines with a command in progress, as requests name them: an id and a name have separate turns.
    commands: Turns<PipelineRef>,
    pub config: ApiConfig,
    pub schemas: SourceSchemas,
    /// Changes whenever the transition log may have grown.
    pub wakeups: Wakeups,
    pub progress: broadcast::Sender<Arc<Progress>>,
    /// Reports that ended; `None` if some may have been missed.
    pub report_ends: broadcast::Sender<Option<Uuid>>,
    pub streams: Streams,
    /// Metrics of the whole deployment, read from the database.
    pub deployment: Deployment,
    /// Cancelled when the process stops, which ends long answers.
    pub stop: CancellationToken,
}

impl App {
    /// Connects lazily: the API starts, and answers 503, while its database is away.
    pub fn new(config: ApiConfig, database: &DatabaseConfig, source: &SourceConfig, stop: CancellationToken) -> Self {
        let session = database::session(database.url.connect_options(), "vitrina-api-events");
        // A statement must not run much longer than its request may wait.
        let timeout = format!("{}ms", (config.request_timeout + Duration::from_secs(1)).as_millis());
        let limit = ("statement_timeout", timeout.as_str());
        let few = DatabaseConfig { url: database.url.clone(), max_connections: DESCRIBING_CONNECTIONS };
        let (wake, wakeups) = watch::channel(0);
        let (progress, _) = broadcast::channel(PROGRESS_BUFFER);
        let (report_ends, _) = broadcast::channel(REPORT_BUFFER);
        let receivers = Receivers { wake, progress: progress.clone(), report_ends: report_ends.clone() };
        notify::follow(session, CHANNELS.to_vec(), stop.clone(), move |noticed| receivers.pass_on(&noticed));
        Self {
            db: LastingPool::new({
                let (database, timeout) = (database.clone(), timeout.clone());
                move || database::pool_with(&database, "vitrina-api", &[&[("statement_timeout", &timeout)], &BY_KEY])
            }),
            describing: Describing::new(database::pool_for_queries(
                &few,
                "vitrina-api-describing",
                &[&[limit], &BY_KEY],
            )),
            turns: Turns::new(
                DESCRIBING_PATIENCE,
                "the server is still busy with an earlier query of this token, one is read at a time",
            ),
            changes: Turns::new(config.request_timeout, "others change this pipeline, one change is made at a time"),
            commands: Turns::new(
                config.request_timeout,
                "other commands wait for this pipeline, one is done at a time",
            ),
            schemas: SourceSchemas::new(source.schemas.iter().cloned()),
            wakeups,
            progress,
            report_ends,
            streams: Streams::new(config.max_event_streams, !config.tokens.is_empty()),
            deployment: Deployment::default(),
            config,
            stop,
        }
    }

    pub fn db(&self) -> PgPool {
        self.db.current()
    }

    /// The transforms that the plan of a draft may name. Those of workers are read where a step is not built in.
    pub async fn transforms(&self, draft: &PipelineDraft) -> ApiResult<Registry> {
        let built_in = Registry::default();
        let is_built_in = |task: &Task| task.task_type == TaskKind::Sql || built_in.configure(task).is_some();
        if draft.tasks.iter().all(is_built_in) {
            return Ok(built_in);
        }
        let live = worker_steps::live(&mut *self.db().acquire().await?, BATCH_QUEUE).await?;
        Ok(built_in.with_published(live.into_iter().map(|step| step.declaration)))
    }

    /// Executes a command when it is its turn among those that name the pipeline in the same way. So only one of many
    /// requests holds a connection while the pipeline's row is locked.
    pub async fn command<T: Send + 'static, F: Future<Output = ApiResult<T>> + Send + 'static>(
        &self,
        pipeline: PipelineRef,
        work: impl FnOnce(PgPool, PipelineRef) -> F,
    ) -> ApiResult<T> {
        let turn = self.commands.take(&pipeline).await?;
        turns::finish(turn, work(self.db(), pipeline)).await
    }

    /// The state of the request's server.
    pub fn of(depot: &Depot) -> Result<Arc<Self>, ApiError> {
        depot.get_typed::<Arc<Self>>().cloned().map_err(|_| ApiError::internal("the application's state is missing"))
    }
}

/// The receivers of notifications. A send without a receiver is no error.
struct Receivers {
    wake: watch::Sender<u64>,
    progress: broadcast::Sender<Arc<Progress>>,
    report_ends: broadcast::Sender<Option<Uuid>>,
}

impl Receivers {
    /// Wakes readers of the log and requests that wait for a report, and passes progress on to event streams.
    fn pass_on(&self, noticed: &Noticed<'_>) {
        match noticed {
            Noticed::Notification { channel: PROGRESS_CHANNEL, payload } => {
                if let Ok(progress) = serde_json::from_str(payload) {
                    let _ = self.progress.send(Arc::new(progress));
                }
            }
            Noticed::Notification { channel: REPORTS_CHANNEL, payload } => {
                let _ = self.report_ends.send(Uuid::try_parse(payload).ok());
            }
            Noticed::Notification { .. } => self.wake.send_modify(|count| *count += 1),
            Noticed::Connected | Noticed::Silence => {
                self.wake.send_modify(|count| *count += 1);
                let _ = self.report_ends.send(None);
            }
        }
    }
}
