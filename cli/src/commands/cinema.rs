//! `vitrina cinema`.

use vitrina_shared::{
    config::{DatabaseConfig, Env, LogConfig, SourceConfig},
    database, migrate,
    process::Failure,
    telemetry,
};

use crate::{
    arguments::CinemaArguments,
    cinema::{self, CinemaSize},
};

pub(super) async fn run(options: CinemaArguments) -> Result<(), Failure> {
    let (log, database, source): (LogConfig, DatabaseConfig, SourceConfig) = Env::from_process().read()?;
    let _telemetry = telemetry::init(&log)?;
    let pool = database::pool(&database, "vitrina-cinema");
    let size = CinemaSize { films: options.films, ratings: options.ratings };
    let summary = cinema::generate(&pool, size, |progress| {
        tracing::debug!(table = progress.table, done = progress.done, total = progress.total, "filling");
    })
    .await?;
    // The new tables are readable for users' queries only after the grants were applied to them.
    migrate::migrate(&pool, &source.schemas).await?;
    pool.close().await;
    let duration_ms = u64::try_from(summary.took.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        films = options.films,
        ratings = options.ratings,
        rows_added = summary.total_added(),
        duration_ms,
        "the cinema is there"
    );
    Ok(())
}
