//! `vitrina apply`: pipelines from a file.
//!
//! read the file → look at what is there → find every problem → show what changes → write, targets first.

mod changes;
mod plan;
mod show;
mod targets;

use std::path::PathBuf;

use clap::Args;
use vitrina_shared::process::Failure;

use crate::{
    client::{Client, ClientError, Connection},
    output::{self, Format},
    pipeline_file::{PipelineFile, report, schema_text},
};

pub(crate) use self::plan::Plan;
use self::plan::{Action, PipelinePlan};

#[derive(Debug, Args)]
pub struct Options {
    /// The file, `-` for standard input
    #[arg(short, long, value_name = "FILE", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Takes what was meant for `-f`, to say so.
    #[arg(value_name = "FILE", hide = true, value_parser = meant_for_file)]
    _loose: Option<PathBuf>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the JSON schema of a file, for editors
    #[arg(long, conflicts_with_all = ["file", "dry_run"])]
    schema: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

fn meant_for_file(typed: &str) -> Result<PathBuf, String> {
    Err(format!("a file is given with -f: vitrina apply -f {typed}"))
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Some(path) = &options.file else {
        output::line(schema_text());
        return Ok(());
    };
    let file = PipelineFile::open(path)?;
    let client = options.server.client()?;
    let plan = Plan::compute(&client, &file).await?;
    if !plan.problems.is_empty() {
        return Err(report(&file.name, &plan.problems).into());
    }
    let is_empty = plan.targets.is_empty() && plan.pipelines.is_empty();
    if !options.format.json && !is_empty {
        output::line(show::plan(&plan));
    }
    for one in &plan.to_do {
        output::note(format!("{}:{one}", file.name));
    }
    if !options.dry_run {
        write(&client, &plan).await?;
    }
    if options.format.json {
        output::json(&show::json(&plan, options.dry_run));
    } else {
        output::line(show::totals(&plan, options.dry_run));
    }
    Ok(())
}

/// Writes what the plan says. What was written before a failure stays; applying the file again does the rest.
pub(crate) async fn write(client: &Client, plan: &Plan) -> Result<(), Failure> {
    for target in &plan.targets {
        client.allow_target(&target.body, false).await.map_err(|error| failed(&target.name, &error))?;
    }
    for pipeline in &plan.pipelines {
        write_pipeline(client, pipeline).await.map_err(|error| failed(&pipeline.name, &error))?;
    }
    Ok(())
}

async fn write_pipeline(client: &Client, pipeline: &PipelinePlan) -> Result<(), ClientError> {
    match &pipeline.action {
        Action::Create => client.create_pipeline(&pipeline.body).await.map(|_| ()),
        Action::Change { version, changes } => {
            let patch = changes.iter().map(|change| (change.field.clone(), change.to.clone()));
            let patch = serde_json::Value::Object(patch.collect());
            client.change_pipeline(&pipeline.name, *version, &patch).await.map(|_| ())
        }
        Action::Keep => Ok(()),
    }
}

fn failed(name: &str, error: &ClientError) -> Failure {
    format!("`{name}`: {error}\nwhat the plan lists before it was written; apply the file again when this is mended")
        .into()
}
