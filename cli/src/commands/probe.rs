//! `vitrina probe`: a container's health check, so that an image needs no HTTP client besides.

use std::time::Duration;

use clap::Args;
use vitrina_shared::process::Failure;

/// A service that takes longer is not well.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub struct Options {
    /// What to ask, for instance http://127.0.0.1:8080/ready
    url: String,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = reqwest::Client::builder().timeout(ANSWERS_WITHIN).no_proxy().build()?;
    let answer = client.get(&options.url).send().await?;
    match answer.status() {
        reqwest::StatusCode::OK => Ok(()),
        status => Err(format!("{} answered {status}: {}", options.url, answer.text().await?).into()),
    }
}
