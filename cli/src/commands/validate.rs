//! `vitrina validate`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use vitrina_shared::process::Failure;

use super::apply::Plan;
use crate::{
    client::{Client, ClientError, Connection, FieldError},
    output::{self, Format, GOOD, paint},
    pipeline_file::{PipelineFile, report},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME", required_unless_present = "file", conflicts_with = "file")]
    name: Option<String>,
    /// A file for `vitrina apply`, `-` for standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

/// Fields that the API adds to a pipeline and does not accept.
const ADDED: [&str; 5] = ["id", "status", "version", "created_at", "updated_at"];

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    match (&options.file, &options.name) {
        (Some(path), _) => of_file(&client, &PipelineFile::open(path)?, options.format).await,
        (None, Some(name)) => of_pipeline(&client, name, options.format).await,
        (None, None) => Ok(()),
    }
}

async fn of_file(client: &Client, file: &PipelineFile, format: Format) -> Result<(), Failure> {
    let Plan { mut problems, to_do, .. } = Plan::compute(client, file).await?;
    problems.extend(to_do);
    if format.json {
        let found = problems
            .iter()
            .map(|one| json!({ "field": one.about, "message": one.message, "at": one.place.to_string() }));
        output::json(&json!({ "problems": found.collect::<Vec<_>>() }));
    }
    if !problems.is_empty() {
        return Err(report(&file.name, &problems).into());
    }
    if !format.json {
        output::line(paint(GOOD, format!("{} has no problems", file.name)));
    }
    Ok(())
}

async fn of_pipeline(client: &Client, name: &str, format: Format) -> Result<(), Failure> {
    let mut stored = client.pipeline(name).await.map_err(|error| {
        if matches!(error, ClientError::NoPipeline { .. }) && Path::new(name).is_file() {
            return Failure::from(format!("{error}; a file is given with -f: vitrina validate -f {name}"));
        }
        error.into()
    })?;
    if let Value::Object(fields) = &mut stored {
        fields.retain(|field, _| !ADDED.contains(&field.as_str()));
    }
    let problems = client.validate(&stored, None).await?;
    if format.json {
        output::json(&json!({ "problems": problems }));
    } else if problems.is_empty() {
        output::line(paint(GOOD, format!("`{name}` has no problems")));
    }
    if problems.is_empty() { Ok(()) } else { Err(sentence(name, &problems).into()) }
}

fn sentence(name: &str, problems: &[FieldError]) -> String {
    let lines = problems.iter().map(|one| format!("\n  {}: {}", one.field, one.message));
    format!("`{name}` would not run:{}", lines.collect::<String>())
}
