//! `vitrina migrate`.

use std::path::PathBuf;

use clap::Args;
use vitrina_shared::{
    config::{Env, LogConfig, OptionalDatabaseConfig, SourceConfig},
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

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let (log, database, source): (LogConfig, OptionalDatabaseConfig, SourceConfig) = Env::from_process().read()?;
    let _telemetry = telemetry::init(&log, "vitrina")?;
    let url = match &database.url {
        Some(url) => url.clone(),
        None => embedded_postgres::running(&options.data_dir)?.ok_or(NO_DATABASE)?.admin_url.parse()?,
    };
    let database = database.at(url);
    let pool = database::pool(&database, "vitrina-migrate");
    migrate::migrate(&pool, &source.schemas).await?;
    pool.close().await;
    tracing::info!(sources = source.schemas.join(","), "the database is migrated");
    Ok(())
}
