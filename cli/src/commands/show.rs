//! `vitrina show`.

use vitrina_shared::process::Failure;

use super::one_pipeline::OnePipeline;
use crate::{
    client::{List, Pipeline, Run},
    output::{self, BOLD, DIM, duration, paint, printable, status, thousands, time},
};

pub(crate) async fn run(options: OnePipeline) -> Result<(), Failure> {
    let client = options.client()?;
    let found = client.pipeline(&options.name).await?;
    if options.format.json {
        output::json(&found);
        return Ok(());
    }
    let runs: List<Run> = serde_json::from_value(client.runs(&options.name, 1).await?)?;
    let pipeline: Pipeline = serde_json::from_value(found)?;
    output::line(describe(&pipeline, runs.items.first()));
    Ok(())
}

fn describe(pipeline: &Pipeline, last: Option<&Run>) -> String {
    let mut lines = vec![paint(BOLD, printable(&pipeline.name))];
    if !pipeline.description.is_empty() {
        lines.push(printable(&pipeline.description));
    }
    let mut field = |name: &str, value: String| lines.push(format!("{} {value}", paint(DIM, format!("{name:<11}"))));
    field("status", describe_status(pipeline));
    field("mode", describe_mode(pipeline));
    field("target", printable(&pipeline.target_table));
    field("batch size", thousands(pipeline.batch_size));
    for (option, value) in &pipeline.options {
        field(option, value.to_string());
    }
    field("changed", format!("{} UTC, version {}", time(pipeline.updated_at), pipeline.version));
    field("last run", last.map_or("never ran".to_owned(), describe_run));
    if let Some(error) = last.and_then(|run| run.error.as_deref()) {
        field("error", printable(error));
    }
    for task in &pipeline.tasks {
        let name = format!("step {}", task["order_index"]);
        field(&name, printable(task["body"].as_str().unwrap_or_default()).replace('\n', "\n            "));
    }
    if let (Some(query), true) = (&pipeline.source_query, pipeline.tasks.is_empty()) {
        lines.push(String::new());
        lines.push(printable(query.trim_end()));
    }
    lines.join("\n")
}

fn describe_status(pipeline: &Pipeline) -> String {
    let painted = paint(status(&pipeline.status), &pipeline.status);
    if pipeline.enabled { painted } else { format!("{painted}, disabled") }
}

fn describe_mode(pipeline: &Pipeline) -> String {
    match (&pipeline.incremental_key, &pipeline.incremental_id_key) {
        (Some(key), Some(id)) => format!("{} by {}, {}", pipeline.mode, printable(key), printable(id)),
        _ => pipeline.mode.clone(),
    }
}

fn describe_run(run: &Run) -> String {
    let took = run.duration_ms.map(|took| format!(" in {}", duration(took))).unwrap_or_default();
    let painted = paint(status(&run.status), &run.status);
    let (read, written) = (thousands(run.rows_read), thousands(run.rows_written));
    format!("{painted} {} UTC, {read} rows read, {written} written{took}", time(run.requested_at))
}
