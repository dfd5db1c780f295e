//! `vitrina replay`.

use clap::Args;
use serde_json::json;
use vitrina_shared::{domain::report::Replay, process::Failure};

use crate::{
    client::Connection,
    output::{Format, counted, duration, table},
};

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

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let body = if options.ids.is_empty() { json!({}) } else { json!({ "ids": options.ids }) };
    let answer = options.server.client()?.report(&options.name, "dead-letters/replay", &body).await?;
    let refused = answer["refused"].as_i64().unwrap_or_default();
    options.format.show(answer, |replay: Replay| text(&replay))?;
    if refused == 0 { Ok(()) } else { Err(format!("{} refused again", counted(refused, "row")).into()) }
}

fn text(replay: &Replay) -> String {
    let Replay { written, unchanged, gone, refused, left, .. } = replay;
    let took = duration(replay.took_ms.cast_signed());
    let told = format!(
        "{written} written, {unchanged} unchanged, {gone} gone from the source, {refused} refused again ({took}); {left} left"
    );
    let letters = replay.letters.iter();
    let errors = letters.filter_map(|letter| Some([letter.id.to_string().into(), letter.error.as_ref()?.into()]));
    match errors.collect::<Vec<_>>() {
        none if none.is_empty() => told,
        errors => format!("{}\n{told}", table([">id", "refused again because"], errors)),
    }
}
