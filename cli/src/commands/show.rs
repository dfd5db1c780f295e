//! `vitrina show`.

use uuid::Uuid;
use vitrina_shared::process::Failure;

use super::{
    objects,
    one_pipeline::OnePipeline,
    run_summary::{self, rows},
};
use crate::{
    client::{List, Pipeline, Run},
    output::{BOLD, DIM, paint, printable, status, thousands, time},
};

pub(crate) async fn run(options: OnePipeline) -> Result<(), Failure> {
    let client = options.client()?;
    if Uuid::try_parse(&options.name).is_ok() && client.find_pipeline(&options.name).await?.is_none() {
        return options.format.show(client.run(&options.name).await?, |run: Run| describe_whole(&run));
    }
    let found = client.pipeline(&options.name).await?;
    let runs: List<Run> = serde_json::from_value(client.runs(&options.name, 1).await?)?;
    options.format.show(found, |pipeline: Pipeline| describe(&pipeline, runs.items.first()))
}

fn describe(pipeline: &Pipeline, last: Option<&Run>) -> String {
    let mut lines = vec![paint(BOLD, printable(&pipeline.name))];
    if !pipeline.description.is_empty() {
        lines.push(printable(&pipeline.description));
    }
    let mut fields = vec![
        ("status".to_owned(), describe_status(pipeline)),
        ("mode".to_owned(), describe_mode(pipeline)),
        ("target".to_owned(), printable(&pipeline.target_table)),
        ("batch size".to_owned(), thousands(pipeline.batch_size)),
    ];
    fields.extend(pipeline.options.iter().map(|(option, value)| (printable(option), printable(&objects::text(value)))));
    fields.push(("changed".to_owned(), format!("{} UTC, version {}", time(pipeline.updated_at), pipeline.version)));
    fields.push(("last run".to_owned(), last.map_or("never ran".to_owned(), describe_run)));
    fields.extend(last.and_then(|run| Some(("error".to_owned(), printable(run.error.as_deref()?)))));
    fields.extend(objects::steps(&pipeline.tasks));
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 1;
    lines.extend(fields.iter().map(|(name, value)| {
        let value = value.replace('\n', &format!("\n{:width$} ", ""));
        format!("{} {value}", paint(DIM, format!("{name:<width$}")))
    }));
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

/// A run by its id.
fn describe_whole(run: &Run) -> String {
    let error = run.error.as_deref().map(|error| format!("\n{} {}", paint(DIM, "error"), printable(error)));
    format!("{}{}", run_summary::describe(run), error.unwrap_or_default())
}

fn describe_run(run: &Run) -> String {
    format!("{} {} UTC, {}", paint(status(&run.status), &run.status), time(run.requested_at), rows(run))
}
