//! `vitrina preview`.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use vitrina_shared::process::Failure;

use super::objects;
use crate::{
    client::Connection,
    output::{DIM, Format, paint},
};

/// Options of `preview`.
#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// How many rows
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    rows: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    let answer = client.report(&options.name, "preview", &json!({ "rows": options.rows })).await?;
    options.format.show(answer, |preview: Preview| text(&preview))
}

/// What a worker found.
#[derive(Debug, Deserialize)]
struct Preview {
    columns: Vec<Column>,
    rows: Vec<Value>,
    #[serde(default)]
    omitted: u32,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
}

fn text(preview: &Preview) -> String {
    let many = match preview.rows.len() {
        0 => return "the query returns no rows".to_owned(),
        1 => "1 row".to_owned(),
        many => format!("{many} rows"),
    };
    let omitted = match preview.omitted {
        0 => String::new(),
        some => format!(", {some} too wide to show"),
    };
    let names = preview.columns.iter().map(|column| column.name.as_str());
    format!("{}\n{}", objects::table(names, &preview.rows), paint(DIM, format!("{many}, written nowhere{omitted}")))
}
