//! `vitrina pause`, `cancel` and `reset`.

use clap::Args;
use vitrina_shared::process::Failure;

use crate::{
    client::Connection,
    output::{self, Format},
};

/// Options of `pause`, `cancel` and `reset`.
#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options, command: &str) -> Result<(), Failure> {
    let answer = options.server.client()?.command(&options.name, command).await?;
    if options.format.json {
        output::json(&answer);
    } else {
        output::line(done(command, &options.name, answer["status"].as_str().unwrap_or_default()));
    }
    Ok(())
}

fn done(command: &str, name: &str, status: &str) -> String {
    match (command, status) {
        ("pause", "PAUSED") => format!("`{name}` is paused; `vitrina run {name}` resumes it"),
        ("pause", _) => format!("`{name}` pauses after its current batch; `vitrina run {name}` resumes it"),
        ("cancel", _) => format!("the run of `{name}` is cancelled; what it wrote stays"),
        ("reset", _) => format!("`{name}` begins at the beginning with its next run"),
        _ => format!("`{name}` is {status}"),
    }
}
