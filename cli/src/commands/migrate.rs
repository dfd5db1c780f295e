//! `vitrina migrate`.

use std::path::{Path, PathBuf};

use clap::Args;
use vitrina_shared::{
    config::{DatabaseConfig, Env, LogConfig, OptionalDatabaseConfig, SourceConfig},
    database, migrate,
    process::Failure,
    telemetry,
};

use crate::embedded_postgres;

const NO_DATABASE: &str = "DATABASE_URL is not set, and no `vitrina up` runs here with a PostgreSQL of its own: set it as in \
    postgres://user:password@host:5432/database, or give the directory of that server with --data-dir";

#[derive(Debug, Args)]
pub struct Options {
    /// Where the embedded PostgreSQL runs, if DATABASE_URL is not set
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    data_dir: PathBuf,
}

/// The database with the account that may do everything in it: of `DATABASE_URL`, or of the `vitrina up` that runs here.
pub(super) fn owners(database: &OptionalDatabaseConfig, data_dir: &Path) -> Result<DatabaseConfig, Failure> {
    let url = match &database.url {
        Some(url) => url.clone(),
        None => embedded_postgres::running(data_dir)?.ok_or(NO_DATABASE)?.admin_url.parse()?,
    };
    Ok(database.at(url))
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let (log, database, source): (LogConfig, OptionalDatabaseConfig, SourceConfig) = Env::from_process().read()?;
    let _telemetry = telemetry::init(&log, "vitrina")?;
    let pool = database::pool(&owners(&database, &options.data_dir)?, "vitrina-migrate");
    migrate::migrate(&pool, &source.schemas).await?;
    pool.close().await;
    tracing::info!(sources = source.schemas.join(","), "the database is migrated");
    Ok(())
}
