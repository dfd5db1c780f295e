//! `vitrina migrate`.

use vitrina_shared::{
    config::{DatabaseConfig, Env, LogConfig, SourceConfig},
    database, migrate,
    process::Failure,
    telemetry,
};

pub(crate) async fn run() -> Result<(), Failure> {
    let (log, database, source): (LogConfig, DatabaseConfig, SourceConfig) = Env::from_process().read()?;
    let _telemetry = telemetry::init(&log, "vitrina")?;
    let pool = database::pool(&database, "vitrina-migrate");
    migrate::migrate(&pool, &source.schemas).await?;
    pool.close().await;
    tracing::info!(sources = source.schemas.join(","), "the database is migrated");
    Ok(())
}
