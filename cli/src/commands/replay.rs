//! `vitrina replay`.

use clap::Args;
use serde::Deserialize;
use serde_json::json;
use vitrina_shared::process::Failure;

use crate::{
    client::Connection,
    output::{Format, Table, counted, duration},
};

/// Options of `replay`.
#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// Only these, by id
    #[arg(value_name = "ID")]
    ids: Vec<i64>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

/// The outcomes.
#[derive(Debug, Deserialize)]
struct Replay {
    letters: Vec<Letter>,
    written: u32,
    unchanged: u32,
    gone: u32,
    refused: u32,
    left: i64,
    took_ms: i64,
}

#[derive(Debug, Deserialize)]
struct Letter {
    id: i64,
    error: Option<String>,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let body = if options.ids.is_empty() { json!({}) } else { json!({ "ids": options.ids }) };
    let answer = options.server.client()?.report(&options.name, "dead-letters/replay", &body).await?;
    let refused = answer["refused"].as_i64().unwrap_or_default();
    options.format.show(answer, |replay: Replay| text(&replay))?;
    if refused == 0 { Ok(()) } else { Err(format!("{} refused again", counted(refused, "row")).into()) }
}

fn text(replay: &Replay) -> String {
    let Replay { written, unchanged, gone, refused, left, .. } = replay;
    let took = duration(replay.took_ms);
    let told = format!(
        "{written} written, {unchanged} unchanged, {gone} gone from the source, {refused} refused again ({took}); {left} left"
    );
    let mut table = Table::new(&[">id", "refused again because"]);
    let mut any = false;
    for letter in &replay.letters {
        if let Some(error) = &letter.error {
            any = true;
            table.row([letter.id.to_string().into(), error.into()]);
        }
    }
    if any { format!("{}\n{told}", table.render()) } else { told }
}
