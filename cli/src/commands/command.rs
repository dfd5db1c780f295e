//! `vitrina pause`, `cancel`, `reset` and `delete`.

use serde_json::{Value, json};
use vitrina_shared::process::Failure;

use super::one_pipeline::OnePipeline;
use crate::{client::Pipeline, output::printable};

pub(crate) async fn run(options: OnePipeline, command: &str) -> Result<(), Failure> {
    let answer = options.client()?.command(&options.name, command).await?;
    options
        .format
        .show(answer, |answer: Value| done(command, &options.name, answer["status"].as_str().unwrap_or_default()))
}

pub(crate) async fn delete(options: OnePipeline) -> Result<(), Failure> {
    let client = options.client()?;
    let stored: Pipeline = serde_json::from_value(client.pipeline(&options.name).await?)?;
    client.delete_pipeline(&options.name).await?;
    let (name, target) = (printable(&stored.name), printable(&stored.target_table));
    options.format.show(json!({ "deleted": stored.name }), |_: Value| {
        format!("`{name}` is deleted with its runs and checkpoint; what is in {target} stays")
    })
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
