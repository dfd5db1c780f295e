//! `vitrina runs`.

use clap::Args;
use vitrina_shared::process::Failure;

use crate::{
    client::{Connection, List, Run},
    output::{Cell, Format, Table, duration, status, thousands, time},
};

/// Options of `runs`.
#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.runs(&options.name, options.limit).await?;
    let name = options.name;
    options.format.show(found, |list: List<Run>| {
        if list.items.is_empty() {
            return format!("`{name}` never ran; `vitrina run {name} --wait` runs it");
        }
        let mut table =
            Table::new(&["run", "status", "requested (UTC)", ">took", ">read", ">written", ">removed", "error"]);
        for run in &list.items {
            table.row(row(run));
        }
        table.render()
    })
}

fn row(run: &Run) -> [Cell; 8] {
    [
        (&run.id).into(),
        Cell::styled(&run.status, status(&run.status)),
        time(run.requested_at).into(),
        run.duration_ms.map(duration).unwrap_or_default().into(),
        thousands(run.rows_read).into(),
        thousands(run.rows_written).into(),
        thousands(run.rows_removed).into(),
        run.error.as_deref().unwrap_or_default().into(),
    ]
}
