//! `vitrina up`: everything in one process.
//!
//! The database comes first and leaves last: API and workers have stopped before their server does.

use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::Env,
    migrate::QueryableSchemas,
    process::{self, Failure},
    telemetry,
};

use crate::{
    home::{Home, with_own_database},
    services::{Services, Settings},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Where the API listens [default: VITRINA_ADDR or 127.0.0.1:8080]
    #[arg(long, value_name = "HOST:PORT")]
    addr: Option<String>,
    /// Workers in this process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    workers: u16,
    /// Where the embedded PostgreSQL lives
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    data_dir: PathBuf,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let env = Env::from_process().with("VITRINA_ADDR", options.addr.as_ref());
    let (log, database, api, worker, source): Settings = with_own_database(env).read()?;
    let _telemetry = telemetry::init(&log, "vitrina")?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let Some(home) =
        Home::open(&database, &options.data_dir, QueryableSchemas::Exactly(&source.schemas), &stop).await?
    else {
        return Ok(());
    };
    let outcome = async {
        let services = Services::start(api, &worker, &source, &home.app, options.workers, stop).await?;
        tracing::info!("open http://{}/docs", services.addr);
        services.wait().await
    }
    .await;
    let closed = home.close().await;
    outcome.and(closed)
}
