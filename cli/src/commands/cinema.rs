//! `vitrina cinema`.

use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{DatabaseConfig, Env, LogConfig, OptionalDatabaseConfig, SourceConfig},
    database,
    migrate::{self, QueryableSchemas},
    process::{self, Failure},
    telemetry,
};

use crate::{
    cinema::{self, CinemaSize},
    embedded_postgres,
    home::Home,
    output::{self, thousands},
};

#[derive(Debug, Args)]
pub struct Options {
    /// How many films there should be
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    films: u32,
    /// How many ratings there should be
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    ratings: u32,
    /// Where the embedded PostgreSQL lives, if DATABASE_URL is not set
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    data_dir: PathBuf,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let quiet = std::env::var("VITRINA_LOG").err().map(|_| "warn");
    let env = Env::from_process().with("VITRINA_LOG", quiet);
    let (log, database, source): (LogConfig, OptionalDatabaseConfig, SourceConfig) = env.read()?;
    let _telemetry = telemetry::init(&log, "vitrina")?;
    if database.url.is_none()
        && let Some(running) = embedded_postgres::running(&options.data_dir)?
    {
        return fill(&database.at(running.admin_url.parse()?), &source, &options).await;
    }
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let stopped = || Failure::from("stopped before the cinema was complete; running it again adds what is missing");
    let home = Home::open(&database, &options.data_dir, QueryableSchemas::AtLeast(&source.schemas), &stop)
        .await?
        .ok_or_else(stopped)?;
    let filled = tokio::select! {
        filled = fill(&home.owner, &source, &options) => filled,
        () = stop.cancelled() => Err(stopped()),
    };
    filled.and(home.close().await)
}

async fn fill(database: &DatabaseConfig, source: &SourceConfig, options: &Options) -> Result<(), Failure> {
    let pool = database::pool(database, "vitrina-cinema");
    let size = CinemaSize { films: options.films, ratings: options.ratings };
    let summary = cinema::generate(&pool, size, |progress| {
        tracing::debug!(table = progress.table, done = progress.done, total = progress.total, "filling");
    })
    .await?;
    // The new tables are readable for users' queries only after the grants were applied to them.
    migrate::apply(&pool, QueryableSchemas::AtLeast(&source.schemas)).await?;
    pool.close().await;
    let (films, ratings) = (thousands(options.films.into()), thousands(options.ratings.into()));
    let added = thousands(i64::try_from(summary.total_added()).unwrap_or(i64::MAX));
    let seconds = summary.took.as_secs_f64();
    output::line(format!("the cinema has {films} films and {ratings} ratings: {added} rows added in {seconds:.1} s"));
    Ok(())
}
