//! `vitrina preview`.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use vitrina_shared::{domain::report::PreviewColumn, process::Failure};

use super::{objects, one_pipeline::OnePipeline};
use crate::output::{DIM, counted, paint};

#[derive(Debug, Args)]
pub struct Options {
    /// How many rows
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    rows: u32,
    #[command(flatten)]
    pipeline: OnePipeline,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.pipeline.client()?;
    let answer = client.report(&options.pipeline.name, "preview", &json!({ "rows": options.rows })).await?;
    options.pipeline.format.show(answer, |preview: Preview| text(&preview))
}

#[derive(Debug, Deserialize)]
pub(super) struct Preview {
    columns: Vec<PreviewColumn>,
    rows: Vec<Value>,
    #[serde(default)]
    omitted: u32,
    /// Why steps reject rows.
    #[serde(default)]
    refused: Vec<String>,
}

pub(super) fn text(preview: &Preview) -> String {
    let rejected: String = preview.refused.iter().map(|reason| format!("\nrejected: {reason}")).collect();
    if preview.rows.is_empty() {
        return if rejected.is_empty() {
            "the query returns no rows".to_owned()
        } else {
            rejected.trim_start().to_owned()
        };
    }
    let many = counted(preview.rows.len() as i64, "row");
    let omitted = match preview.omitted {
        0 => String::new(),
        some => format!(", {some} too wide to show"),
    };
    let names = preview.columns.iter().map(|column| column.name.as_str());
    let table = objects::table(names, &preview.rows);
    format!("{table}\n{}{rejected}", paint(DIM, format!("{many}, written nowhere{omitted}")))
}
