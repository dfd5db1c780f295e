//! `vitrina pause`, `cancel` and `reset`.

use serde_json::Value;
use vitrina_shared::process::Failure;

use super::one_pipeline::OnePipeline;

pub(crate) async fn run(options: OnePipeline, command: &str) -> Result<(), Failure> {
    let answer = options.client()?.command(&options.name, command).await?;
    options
        .format
        .show(answer, |answer: Value| done(command, &options.name, answer["status"].as_str().unwrap_or_default()))
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
