//! `vitrina run` and `again`, and waiting for a run.

use clap::Args;
use serde_json::Value;
use vitrina_shared::process::Failure;

use super::run_summary;
use crate::{
    bars::Bars,
    client::{Client, ClientError, Connection, Events, RequestedRun, Run, RunKind},
    follow::Follow,
    output::{self, Format, printable},
};

#[derive(Debug, Args)]
pub struct Options {
    /// Name or id of a pipeline
    #[arg(value_name = "NAME")]
    name: String,
    /// Repeating the command with the same key finds the same run and starts nothing
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Read everything and remove what is gone from the source, though the pipeline is incremental
    #[arg(long)]
    full: bool,
    /// Let this run remove more rows than `max_removed` allows
    #[arg(long)]
    allow_removal: bool,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    server: Connection,
}

#[derive(Debug, Args)]
pub struct AgainOptions {
    /// Id of a run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    server: Connection,
}

/// Whether and how to wait for a run.
#[derive(Debug, Args)]
pub struct Waiting {
    /// Wait for the run's end, and show how far it is
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    format: Format,
}

impl Waiting {
    /// The events of the pipeline, if they are needed. Opened before the run is requested, so that none is missed.
    async fn events(&self, client: &Client, name: &str) -> Result<Option<Events>, ClientError> {
        if self.wait { client.follow(Some(name)).await.map(Some) } else { Ok(None) }
    }
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let client = options.server.client()?;
    let events = options.waiting.events(&client, &options.name).await?;
    let kind = RunKind { full: options.full, allow_removal: options.allow_removal };
    let requested = client.request_run(&options.name, options.idempotency_key.as_deref(), kind).await?;
    attend(&client, &options.name, &requested, events, &options.waiting).await
}

pub(crate) async fn again(options: AgainOptions) -> Result<(), Failure> {
    let client = options.server.client()?;
    let earlier: Run = client.run(&options.run).await?;
    let events = options.waiting.events(&client, &earlier.pipeline).await?;
    let requested = client.again(&options.run).await?;
    attend(&client, &earlier.pipeline, &requested, events, &options.waiting).await
}

/// Prints the requested run; with `events`, waits for its end.
async fn attend(
    client: &Client,
    name: &str,
    requested: &RequestedRun,
    events: Option<Events>,
    waiting: &Waiting,
) -> Result<(), Failure> {
    let Some(events) = events else {
        return waiting.format.show(serde_json::to_value(requested)?, |_: Value| describe_request(name, requested));
    };
    let run = wait(client, name, requested, events, waiting.format.json).await?;
    if waiting.format.json {
        output::json(&client.run::<Value>(&run.id).await?);
    } else {
        output::line(run_summary::describe(&run));
    }
    judge(&run)
}

fn describe_request(name: &str, requested: &RequestedRun) -> String {
    let what = if requested.already_active { "is under way already" } else { "is requested" };
    let name = printable(name);
    format!("run {} of `{name}` {what}; `vitrina run {name} --wait` waits for it", requested.run_id)
}

async fn wait(
    client: &Client,
    name: &str,
    requested: &RequestedRun,
    events: Events,
    silent: bool,
) -> Result<Run, Failure> {
    let mut bars = Bars::new([name], silent);
    let follow = Follow::new(client, &mut bars, vec![requested.run_id.clone()]);
    let left_alone = format!(
        "stopped waiting; the run of `{name}` goes on: `vitrina run {name} --wait` waits again, `vitrina cancel {name}` \
         ends it"
    );
    let followed = tokio::select! {
        ended = follow.until_all_end(events) => ended.map_err(|error| Failure::from(format!("{error}\nthe run goes on without us"))),
        _ = tokio::signal::ctrl_c() => Err(left_alone.into()),
    };
    match &followed {
        // The summary of the run has its own line.
        Ok(_) => bars.clear(),
        Err(_) => bars.abandon(),
    }
    followed?.pop().ok_or_else(|| "the run is not to be found".into())
}

fn judge(run: &Run) -> Result<(), Failure> {
    match run.status.as_str() {
        "SUCCESS" => Ok(()),
        "FAILED" => {
            let reason = run.error.as_deref().map_or_else(|| "no reason is known".to_owned(), printable);
            Err(format!("the run of `{}` failed: {reason}", run.pipeline).into())
        }
        _ => Err(format!("the run of `{}` was cancelled", run.pipeline).into()),
    }
}
