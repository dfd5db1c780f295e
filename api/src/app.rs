//! What handlers reach the world through.

use std::sync::Arc;

use salvo::Depot;
use sqlx::PgPool;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, SourceConfig},
    database,
    guard::SourceSchemas,
    notify::{self, Wakeups},
};

use crate::problem::ApiError;

/// The API's state, shared by all requests.
pub struct App {
    /// The database.
    pub db: PgPool,
    /// Settings.
    pub config: ApiConfig,
    /// Schemas that source queries may read.
    pub schemas: SourceSchemas,
    /// Changes whenever the transition log may have grown.
    pub wakeups: Wakeups,
    /// Room for event streams.
    pub streams: Arc<Semaphore>,
    /// Cancelled when the process stops: long answers end.
    pub stop: CancellationToken,
}

impl App {
    /// Connects lazily: the API starts, and answers 503, while its database is away.
    pub fn new(config: ApiConfig, database: &DatabaseConfig, source: &SourceConfig, stop: CancellationToken) -> Self {
        let session = database::session(database.url.connect_options(), "vitrina-api-events");
        Self {
            db: database::pool(database, "vitrina-api"),
            schemas: SourceSchemas::new(source.schemas.iter().cloned()),
            wakeups: notify::listen(session, notify::EVENTS_CHANNEL, stop.clone()),
            streams: Arc::new(Semaphore::new(config.max_event_streams)),
            config,
            stop,
        }
    }

    /// The state of the request's server.
    pub fn of(depot: &Depot) -> Result<Arc<Self>, ApiError> {
        depot.get_typed::<Arc<Self>>().cloned().map_err(|_| ApiError::internal("the application's state is missing"))
    }
}
