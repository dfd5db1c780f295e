//! `vitrina dead-letters`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
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
    key: Option<BTreeMap<String, Box<RawValue>>>,
    error: String,
    created_at: DateTime<Utc>,
    replayed_at: Option<DateTime<Utc>>,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.pipeline.client()?;
    let found = client.dead_letters(&options.pipeline.name, options.limit, options.all).await?;
    let order = options.pipeline.key_order(&client).await;
    let name = options.pipeline.name;
    options.pipeline.format.show_exactly(&found, |list: List<Letter>| {
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

fn text(value: &RawValue) -> String {
    match serde_json::from_str(value.get()) {
        Ok(Some(text)) => text,
        Ok(None) => String::new(),
        Err(_) => value.get().to_owned(),
    }
}

fn row(letter: &Letter, order: &[String]) -> [Cell; 5] {
    [
        letter.id.to_string().into(),
        objects::key(letter.key.iter().flatten().map(|(name, value)| (name, text(value))), order).into(),
        time(letter.created_at).into(),
        letter.replayed_at.map(time).unwrap_or_default().into(),
        (&letter.error).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_told_with_all_of_its_digits() {
        let letter = r#"{"id": 1, "key": {"a": 36893488147419103233, "b": 123456789012345678.1230, "c": "x", "d": null},
                         "error": "", "created_at": "2026-01-01T00:00:00Z", "replayed_at": null}"#;
        let letter: Letter = serde_json::from_str(letter).expect("a letter");
        let key: Vec<_> = letter.key.iter().flatten().map(|(_, value)| text(value)).collect();
        assert_eq!(key, ["36893488147419103233", "123456789012345678.1230", "x", ""]);
    }
}
