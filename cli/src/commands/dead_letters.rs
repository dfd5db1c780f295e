//! `vitrina dead-letters`.

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};
use vitrina_shared::process::Failure;

use super::{objects, one_pipeline::OnePipeline};
use crate::{
    client::List,
    output::{Cell, table, time},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Also those that are closed: replayed, or without a row in the source
    #[arg(long)]
    all: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    pipeline: OnePipeline,
}

#[derive(Deserialize)]
struct Letter {
    id: i64,
    /// None for viewers.
    key: Option<Map<String, Value>>,
    error: String,
    created_at: DateTime<Utc>,
    replayed_at: Option<DateTime<Utc>>,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.pipeline.client()?;
    let found = client.dead_letters(&options.pipeline.name, options.limit, options.all).await?;
    let order = options.pipeline.key_order(&client).await;
    let name = options.pipeline.name;
    options.pipeline.format.show(found, |list: List<Letter>| {
        if list.items.is_empty() {
            let open = if options.all { "dead letters" } else { "open dead letters (`--all` lists closed ones)" };
            return format!("`{name}` has no {open}");
        }
        let letters = table(
            [">id", "key", "put aside (UTC)", "closed (UTC)", "error"],
            list.items.iter().map(|letter| row(letter, &order)),
        );
        match list.items.iter().filter(|letter| letter.replayed_at.is_none()).count() {
            0 => letters,
            _ => format!("{letters}\n`vitrina replay {name}` tries the open ones again"),
        }
    })
}

fn row(letter: &Letter, order: &[String]) -> [Cell; 5] {
    [
        letter.id.to_string().into(),
        objects::key(letter.key.iter().flatten().map(|(name, value)| (name, objects::text(value))), order).into(),
        time(letter.created_at).into(),
        letter.replayed_at.map(time).unwrap_or_default().into(),
        (&letter.error).into(),
    ]
}
