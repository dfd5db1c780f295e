//! `vitrina doctor`: checks everything that a deployment needs, and says how to fix what is wrong.

mod api;
mod check;
mod database;
mod elasticsearch;

use std::path::PathBuf;

use clap::Args;
use vitrina_shared::{
    config::{ElasticsearchConfig, Env, OptionalDatabaseConfig},
    process::Failure,
};

use self::check::{Check, Findings};
use crate::{client::Connection, embedded_postgres, output::Format};

#[derive(Debug, Args)]
pub struct Options {
    /// Where the embedded PostgreSQL lives, if DATABASE_URL is not set
    #[arg(long, value_name = "DIR", default_value = ".vitrina")]
    data_dir: PathBuf,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let (database, elasticsearch): (OptionalDatabaseConfig, ElasticsearchConfig) = Env::from_process().read()?;
    let mut findings = Findings::default();
    let url = match database.url {
        Some(url) => Some(url),
        None => match embedded_postgres::running(&options.data_dir)? {
            Some(running) => Some(running.app_url.parse()?),
            None => None,
        },
    };
    // What the services read counts, not the environment of this terminal.
    let api = match options.server.client() {
        Ok(client) => client.installation().await.ok(),
        Err(_) => None,
    };
    match &url {
        Some(url) => database::examine(url, api.as_ref(), &mut findings).await,
        None => findings.add(Check::skipped(
            "database",
            format!("DATABASE_URL is not set, and no PostgreSQL of ours runs in {}", options.data_dir.display()),
        )),
    }
    api::examine(&options.server, &mut findings).await;
    elasticsearch::examine(&elasticsearch, url.as_ref(), &mut findings).await;
    findings.show(options.format);
    findings.judge()
}
