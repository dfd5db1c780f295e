//! `vitrina dead-letters`.

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use vitrina_shared::process::Failure;

use super::objects;
use crate::{
    client::{Connection, List},
    output::{Format, Table, time},
};

/// Options of `dead-letters`.
#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// Also those that were replayed
    #[arg(long)]
    all: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

#[derive(Deserialize)]
struct Letter {
    id: i64,
    key: Value,
    error: String,
    created_at: DateTime<Utc>,
    replayed_at: Option<DateTime<Utc>>,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let found = options.server.client()?.dead_letters(&options.name, options.limit, options.all).await?;
    let name = options.name;
    options.format.show(found, |list: List<Letter>| {
        if list.items.is_empty() {
            return format!("`{name}` has no dead letters");
        }
        let mut table = Table::new(&[">id", "key", "put aside (UTC)", "replayed (UTC)", "error"]);
        for letter in &list.items {
            table.row([
                letter.id.to_string().into(),
                objects::text(&letter.key).into(),
                time(letter.created_at).into(),
                letter.replayed_at.map(time).unwrap_or_default().into(),
                (&letter.error).into(),
            ]);
        }
        format!("{}\n`vitrina replay {name}` tries them again", table.render())
    })
}
