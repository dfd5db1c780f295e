//! `vitrina workers`.

use chrono::Utc;
use clap::Args;
use vitrina_shared::process::Failure;

use super::objects;
use crate::{
    client::{Connection, Worker},
    output::{Format, duration, time},
};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.workers().await?;
    let none = "no worker reported within the last minute; start one with `vitrina worker`";
    let columns = ["worker", ">batches", "started (UTC)", ">last heard"];
    objects::print_list(options.format, found, none, columns, |worker: &Worker| {
        let ago = (Utc::now() - worker.last_heartbeat).num_milliseconds();
        [
            (&worker.name).into(),
            worker.jobs.to_string().into(),
            worker.started_at.map(time).unwrap_or_default().into(),
            format!("{} ago", duration(ago)).into(),
        ]
    })
}
