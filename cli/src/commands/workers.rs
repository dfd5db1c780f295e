//! `vitrina workers`.

use chrono::Utc;
use clap::Args;
use vitrina_shared::process::Failure;

use crate::{
    client::{Connection, List, Worker},
    output::{Format, Table, duration, time},
};

/// Options of `workers`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.workers().await?;
    options.format.show(found, |list: List<Worker>| {
        if list.items.is_empty() {
            return "no worker reported within the last minute; start one with `vitrina worker`".to_owned();
        }
        let mut table = Table::new(&["worker", ">batches", "started (UTC)", ">last heard"]);
        for worker in &list.items {
            let ago = (Utc::now() - worker.last_heartbeat).num_milliseconds();
            table.row([
                (&worker.name).into(),
                worker.jobs.to_string().into(),
                worker.started_at.map(time).unwrap_or_default().into(),
                format!("{} ago", duration(ago)).into(),
            ]);
        }
        table.render()
    })
}
