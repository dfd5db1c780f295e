//! `vitrina events`.

use clap::Args;
use serde_json::{Value, json};
use vitrina_shared::{process::Failure, progress::Progress};

use crate::{
    bars,
    client::{Connection, Event, Transition},
    output::{self, DIM, Format, WARN, paint, printable, status, time},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Only of this pipeline, by name or id
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Go on with what happens from now, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// How many of the newest to begin with
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    last: u32,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: Connection,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    let mut events = client.log(options.name.as_deref(), options.last, options.follow).await?;
    while let Some(event) = events.next().await? {
        let line = match event {
            Event::Lost(error) => {
                output::note(paint(WARN, format!("{error}; coming back")));
                continue;
            }
            Event::Back => continue,
            Event::Transition(_, value) if options.format.json => tagged("transition", value),
            Event::Progress(_, value) if options.format.json => tagged("progress", value),
            Event::Transition(transition, _) => transition_text(&transition),
            Event::Progress(progress, _) => progress_text(&progress),
        };
        // The reader is gone: `| head`.
        if output::try_line(line).is_err() {
            break;
        }
    }
    Ok(())
}

fn tagged(kind: &str, mut value: Value) -> String {
    if let Value::Object(fields) = &mut value {
        fields.insert("event".to_owned(), json!(kind));
    }
    output::escaped(&value.to_string())
}

fn transition_text(transition: &Transition) -> String {
    format!(
        "{} {} {} → {} {}",
        paint(DIM, time(transition.at)),
        printable(&transition.pipeline),
        paint(status(&transition.from), &transition.from),
        paint(status(&transition.to), &transition.to),
        paint(DIM, format!("{}, by {}", printable(&transition.reason), printable(&transition.actor))),
    )
}

fn progress_text(progress: &Progress) -> String {
    paint(DIM, format!("{} {}", printable(&progress.pipeline), bars::numbers(progress)))
}
