//! `vitrina-worker`: a worker as a service of its own.

use std::process::ExitCode;

use vitrina_shared::{config, process};

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match config::load_dotenv() {
        Ok(_) => vitrina_worker::run_service().await,
        Err(error) => Err(error.into()),
    };
    process::report(outcome)
}
