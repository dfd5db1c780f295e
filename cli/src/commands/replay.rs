//! `vitrina replay`.

use clap::Args;
use serde_json::json;
use vitrina_shared::{domain::report::Replay, process::Failure};

use super::one_pipeline::OnePipeline;
use crate::output::{counted, duration, table};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pipeline: OnePipeline,
    /// Only these, by id
    #[arg(value_name = "ID")]
    ids: Vec<i64>,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let body = if options.ids.is_empty() { json!({}) } else { json!({ "ids": options.ids }) };
    let pipeline = options.pipeline;
    let answer = pipeline.client()?.report(&pipeline.name, "dead-letters/replay", &body).await?;
    let refused = answer["refused"].as_i64().unwrap_or_default();
    pipeline.format.show(answer, |replay: Replay| text(&replay))?;
    if refused == 0 { Ok(()) } else { Err(format!("{} refused again", counted(refused, "row")).into()) }
}

fn text(replay: &Replay) -> String {
    let Replay { written, unchanged, gone, refused, left, .. } = replay;
    let took = duration(replay.took_ms.cast_signed());
    let summary = format!(
        "{written} written, {unchanged} unchanged, {gone} gone from the source, {refused} refused again ({took}); {left} left"
    );
    let letters = replay.letters.iter();
    let errors = letters.filter_map(|letter| Some([letter.id.to_string().into(), letter.error.as_ref()?.into()]));
    match errors.collect::<Vec<_>>() {
        none if none.is_empty() => summary,
        errors => format!("{}\n{summary}", table([">id", "refused again because"], errors)),
    }
}
