//! `vitrina ls`.

use clap::Args;
use serde_json::json;
use vitrina_shared::{
    domain::{NamedEnum, Status},
    process::Failure,
};

use super::objects;
use crate::{
    client::{Connection, Pipeline},
    output::{Cell, DIM, Format, status},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Only those with this status
    #[arg(long, value_name = "STATUS", value_parser = clap::builder::PossibleValuesParser::new(statuses()))]
    status: Option<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

fn statuses() -> impl Iterator<Item = &'static str> {
    Status::VALUES.iter().map(|status| status.name())
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let mut found = options.server.client()?.pipelines().await?;
    if let Some(wanted) = &options.status {
        found.retain(|pipeline| pipeline["status"].as_str() == Some(wanted));
    }
    let none = "no pipelines; `vitrina apply -f FILE.yaml` creates some";
    let columns = ["name", "status", "mode", "target", "description"];
    objects::print_list(options.format, json!({ "items": found }), none, columns, row)
}

fn row(pipeline: &Pipeline) -> [Cell; 5] {
    let stands = if pipeline.enabled {
        Cell::styled(&pipeline.status, status(&pipeline.status))
    } else {
        Cell::styled(format!("{} (disabled)", pipeline.status), DIM)
    };
    [
        (&pipeline.name).into(),
        stands,
        (&pipeline.mode).into(),
        (&pipeline.target_table).into(),
        Cell::styled(&pipeline.description, DIM),
    ]
}
