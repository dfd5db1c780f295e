//! `vitrina up`: everything in one process.
//!
//! The database comes first and leaves last: API and workers have stopped before their server does.

use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::Env,
    process::{self, Failure},
    telemetry,
};

use crate::{
    arguments::UpArguments,
    home::Home,
    services::{Services, Settings},
};

pub(super) async fn run(options: UpArguments) -> Result<(), Failure> {
    let env = Env::from_process().with("VITRINA_ADDR", options.addr.as_ref());
    let (log, database, api, worker, source): Settings = env.read()?;
    let _telemetry = telemetry::init(&log)?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let Some(home) = Home::open(&database, &options.data_dir, &source, &stop).await? else { return Ok(()) };
    let outcome = async {
        let services = Services::start(api, &worker, &source, &home.app, options.workers, stop).await?;
        tracing::info!("open http://{}/docs", services.addr);
        services.wait().await
    }
    .await;
    let closed = home.close().await;
    outcome.and(closed)
}
