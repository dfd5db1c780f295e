//! `vitrina up`: everything in one process.
//!
//! The database comes first and leaves last: API and workers have stopped before their server does.

use sqlx::{AssertSqlSafe, PgPool};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use vitrina_api::{App, Server};
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, Env, LogConfig, OptionalDatabaseConfig, SourceConfig, WorkerConfig},
    database, migrate,
    process::{self, Failure},
    telemetry,
};
use vitrina_worker::Worker;

use crate::{arguments::UpArguments, embedded_postgres::EmbeddedPostgres};

struct Settings {
    api: ApiConfig,
    worker: WorkerConfig,
    source: SourceConfig,
}

pub(super) async fn run(options: UpArguments) -> Result<(), Failure> {
    let env = Env::from_process().with("VITRINA_ADDR", options.addr.as_ref());
    let (log, database, api, worker, source): (LogConfig, OptionalDatabaseConfig, _, _, _) = env.read()?;
    let _telemetry = telemetry::init(&log)?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let settings = Settings { api, worker, source };
    match &database.url {
        Some(url) => {
            let config = database.at(url.clone());
            migrated(&config, &settings.source).await?.close().await;
            serve(settings, config, options.workers, stop).await
        }
        None => with_embedded_postgres(&options, &database, settings, stop).await,
    }
}

async fn with_embedded_postgres(
    options: &UpArguments,
    database: &OptionalDatabaseConfig,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let postgres = tokio::select! {
        postgres = EmbeddedPostgres::start(&options.data_dir) => postgres?,
        () = stop.cancelled() => return Ok(()),
    };
    let outcome = async {
        let owner = migrated(&database.at(postgres.admin_url().parse()?), &settings.source).await?;
        set_app_password(&owner, postgres.app_password()).await?;
        owner.close().await;
        tracing::info!(directory = %options.data_dir.display(), "the embedded database is ready");
        serve(settings, database.at(postgres.app_url().parse()?), options.workers, stop).await
    }
    .await;
    let stopped = postgres.stop().await;
    outcome?;
    stopped?;
    Ok(())
}

async fn migrated(config: &DatabaseConfig, source: &SourceConfig) -> Result<PgPool, Failure> {
    let pool = database::pool(config, "vitrina-migrate");
    migrate::migrate(&pool, &source.schemas).await?;
    Ok(pool)
}

/// The services' account has no password until somebody gives it one. This one is ours, made of hexadecimal digits.
async fn set_app_password(owner: &PgPool, password: &str) -> Result<(), sqlx::Error> {
    let statement = format!("alter role vitrina_app password '{}'", password.replace('\'', "''"));
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(owner).await?;
    Ok(())
}

/// Runs the API and the workers until `stop`, or until one of them cannot go on.
async fn serve(
    settings: Settings,
    database: DatabaseConfig,
    workers: u16,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let server = Server::bind(App::new(settings.api, &database, &settings.source, stop.clone())).await?;
    tracing::info!("open http://{}/docs", server.addr());
    let mut running = JoinSet::new();
    running.spawn(async { server.run().await.map_err(Failure::from) });
    for _ in 0..workers {
        let worker = Worker::new(settings.worker.clone(), &database, &settings.source, stop.clone());
        running.spawn(async {
            worker.run().await;
            Ok(())
        });
    }
    let mut outcome = Ok(());
    while let Some(ended) = running.join_next().await {
        stop.cancel();
        let result = ended.map_err(Failure::from).and_then(|result| result);
        outcome = outcome.and(result);
    }
    outcome
}
