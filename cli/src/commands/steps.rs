//! `vitrina steps`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vitrina_shared::process::Failure;

use super::{
    objects,
    preview::{self, Preview},
};
use crate::{
    client::{Connection, RegisteredStep},
    output::Format,
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the steps that a plan may name
    #[command(after_help = "Examples:
  vitrina steps ls
  vitrina steps ls --json | jq '.items[] | select(.name == \"cast\").options_schema'")]
    Ls(Options),
    /// Try a step on rows of a pipeline's query; they are written nowhere
    #[command(after_help = "Examples:
  vitrina steps test trim --pipeline people --options '{\"columns\": [\"name\"]}'
  vitrina steps test slug --pipeline genre_slugs --rows 3

The step need not be in the pipeline's plan, and is executed also if it has effects outside.")]
    Test(Trial),
}

#[derive(Debug, Args)]
pub struct Trial {
    /// Name of a step
    #[arg(value_name = "STEP")]
    name: String,
    /// The pipeline whose query the rows are of
    #[arg(long, value_name = "NAME")]
    pipeline: String,
    /// The step's options, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = json_object)]
    options: Value,
    /// How many rows
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    rows: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

fn json_object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.is_object() {
        Ok(value)
    } else {
        Err("options are a JSON object, like {\"columns\": [\"name\"]}".to_owned())
    }
}

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    let options = match command {
        Command::Ls(options) => options,
        Command::Test(trial) => return try_step(trial).await,
    };
    let found = options.server.client()?.transforms().await?;
    objects::print_list(
        options.format,
        found,
        "this deployment has no steps",
        ["step", "options", "does"],
        |step: &RegisteredStep| {
            let options = step.options_schema["properties"].as_object().into_iter().flat_map(|options| options.keys());
            let options = options.map(String::as_str).collect::<Vec<_>>().join(", ");
            [(&step.name).into(), options.into(), (&step.description).into()]
        },
    )
}

async fn try_step(trial: Trial) -> Result<(), Failure> {
    let client = trial.server.client()?;
    let known = client.transforms().await?;
    let is_in_python = |step: &Value| step["name"] == trial.name.as_str() && step["kind"] == "PYTHON";
    let in_python = known["items"].as_array().is_some_and(|steps| steps.iter().any(is_in_python));
    let kind = if in_python { "PYTHON" } else { "RUST" };
    let step = json!({"task_type": kind, "body": trial.name, "options": trial.options});
    let answer = client.report(&trial.pipeline, "preview", &json!({"rows": trial.rows, "step": step})).await?;
    trial.format.show(answer, |preview: Preview| preview::text(&preview))
}
