//! `vitrina runs`.

use clap::Args;
use vitrina_shared::process::Failure;

use super::{objects, one_pipeline::OnePipeline};
use crate::{
    client::Run,
    output::{Cell, duration, status, thousands, time},
};

#[derive(Debug, Args)]
pub struct Options {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    pipeline: OnePipeline,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.pipeline.client()?.runs(&options.pipeline.name, options.limit).await?;
    let none = format!("`{0}` never ran; `vitrina run {0} --wait` runs it", options.pipeline.name);
    let columns = ["run", "status", "requested (UTC)", ">took", ">read", ">written", ">removed", ">rejected", "error"];
    objects::print_list(options.pipeline.format, found, &none, columns, row)
}

fn row(run: &Run) -> [Cell; 9] {
    [
        (&run.id).into(),
        Cell::styled(&run.status, status(&run.status)),
        time(run.requested_at).into(),
        run.duration_ms.map(duration).unwrap_or_default().into(),
        thousands(run.rows_read).into(),
        thousands(run.rows_written).into(),
        thousands(run.rows_removed).into(),
        thousands(run.rows_rejected).into(),
        run.error.as_deref().unwrap_or_default().into(),
    ]
}
