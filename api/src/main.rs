//! `vitrina-api`: the control plane as a service of its own.

use std::process::ExitCode;

use tokio_util::sync::CancellationToken;
use vitrina_api::{App, Server};
use vitrina_shared::{
    config::{self, ApiConfig, DatabaseConfig, Env, LogConfig, SourceConfig},
    process, telemetry,
};

#[tokio::main]
async fn main() -> ExitCode {
    process::report(run().await)
}

async fn run() -> Result<(), process::Failure> {
    config::load_dotenv()?;
    let (log, database, api, source): (LogConfig, DatabaseConfig, ApiConfig, SourceConfig) =
        Env::from_process().read()?;
    let _telemetry = telemetry::init(&log)?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let app = App::new(api, &database, &source, stop);
    Server::bind(app).await?.run().await?;
    Ok(())
}
