//! `vitrina demo`: from nothing to filled marts, and a check that every row is right.

mod outcome;
mod screen;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{ElasticsearchConfig, Env, SourceConfig},
    database,
    migrate::QueryableSchemas,
    process::{self, Failure},
    telemetry,
};

use self::{outcome::Outcome, screen::Screen};
use super::apply;
use crate::{
    bars::Bars,
    cinema::{self, CinemaSize},
    client::{Client, Run, RunKind},
    follow::Follow,
    home::{Home, with_own_database},
    output::thousands,
    pipeline_file::{PipelineFile, report},
    services::{Services, Settings},
};

const PIPELINES: &str = include_str!("../../../demo/pipelines.yaml");
/// Pipelines that are added if an Elasticsearch is configured.
const INDEXES: &str = include_str!("../../../demo/elasticsearch.yaml");

/// The default directory of the embedded PostgreSQL.
const DATA_DIR: &str = ".vitrina";

#[derive(Debug, Args)]
pub struct Options {
    /// How many films there should be
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    films: u32,
    /// How many ratings there should be
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    ratings: u32,
    /// Print one line of JSON at the end instead of text
    #[arg(long)]
    json: bool,
    /// Stay up afterwards, until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// Where the API listens [default: VITRINA_ADDR, or a free port of 127.0.0.1]
    #[arg(long, value_name = "HOST:PORT")]
    addr: Option<String>,
    /// Where the embedded PostgreSQL lives
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    data_dir: PathBuf,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let addr = options.addr.clone().or_else(|| std::env::var("VITRINA_ADDR").ok());
    let env = Env::from_process()
        .with("VITRINA_ADDR", Some(addr.unwrap_or_else(|| "127.0.0.1:0".to_owned())))
        // The demo has no other client, and draws where log lines would appear.
        .with("VITRINA_TOKENS", Some(""))
        .with("VITRINA_LOG", std::env::var("VITRINA_LOG").err().map(|_| "error"));
    let settings: Settings = with_own_database(env).read()?;
    let _telemetry = telemetry::init(&settings.0, "vitrina")?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let screen = Screen::new(options.json);
    let activity = screen.begin("database", "starting PostgreSQL");
    let Some(home) =
        Home::open(&settings.1, &options.data_dir, QueryableSchemas::AtLeast(&settings.4.schemas), &stop).await?
    else {
        return Err(stopped());
    };
    activity.done(&home.describe(&options.data_dir));
    let shown = Demo { options: &options, screen: &screen, home: &home, stop: &stop }.show(settings).await;
    home.close().await?;
    let outcomes = shown?;
    if outcomes.iter().all(Outcome::is_good) { Ok(()) } else { Err("not every mart equals its source".into()) }
}

fn stopped() -> Failure {
    "stopped before the end; run it again, it goes on from there".into()
}

struct Demo<'a> {
    options: &'a Options,
    screen: &'a Screen,
    home: &'a Home,
    stop: &'a CancellationToken,
}

impl Demo<'_> {
    /// Shows everything, and stops what it started.
    async fn show(&self, settings: Settings) -> Result<Vec<Outcome>, Failure> {
        let (_, _, api, worker, source) = settings;
        self.unless_stopped(self.fill(&source)).await?;
        let services = Services::start(api, &worker, &source, &self.home.app, 1, self.stop.clone()).await?;
        let address = format!("http://{}", services.addr);
        self.screen.done("services", &format!("an API and a worker at {address}"));
        let outcomes = self.unless_stopped(self.run_pipelines(&address, &worker.elasticsearch)).await;
        if let Ok(outcomes) = &outcomes {
            self.screen.summary(outcomes, self.options, &address);
        }
        if self.options.keep && outcomes.is_ok() {
            self.stop.cancelled().await;
        }
        self.stop.cancel();
        services.wait().await?;
        outcomes
    }

    async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            // The services stop too, and their last errors are not the reason.
            done = work => if self.stop.is_cancelled() { Err(stopped()) } else { done },
            () = self.stop.cancelled() => Err(stopped()),
        }
    }

    /// Generates the cinema, and lets users' queries read it.
    async fn fill(&self, source: &SourceConfig) -> Result<(), Failure> {
        let size = CinemaSize { films: self.options.films, ratings: self.options.ratings };
        let activity = self.screen.begin("cinema", "generating films and ratings");
        let owner = database::pool(&self.home.owner, "vitrina-cinema");
        cinema::generate(&owner, size, |progress| activity.progress(progress.table, progress.done, progress.total))
            .await?;
        owner.close().await;
        self.home.migrate(QueryableSchemas::AtLeast(&source.schemas)).await?.close().await;
        activity.done(&format!("{} films, {} ratings", thousands(size.films.into()), thousands(size.ratings.into())));
        Ok(())
    }

    /// Creates the pipelines, runs them all at once, waits, and compares every mart with its source.
    async fn run_pipelines(&self, address: &str, elasticsearch: &ElasticsearchConfig) -> Result<Vec<Outcome>, Failure> {
        let indexes = if elasticsearch.url.is_some() { INDEXES } else { "" };
        let pipelines = format!("{PIPELINES}\n---\n{indexes}");
        let file =
            PipelineFile::parse("demo/pipelines.yaml", &pipelines).map_err(|wrong| report("the demo", &wrong))?;
        let client = Client::new(address.parse()?, None)?;
        let plan = apply::Plan::compute(&client, &file).await?;
        if !plan.problems.is_empty() {
            return Err(report(&file.name, &plan.problems).into());
        }
        apply::write(&client, &plan).await?;
        let names: Vec<&str> = file.pipelines.iter().map(|entry| entry.wanted.name.as_str()).collect();
        self.screen.done("pipelines", &names.join(", "));
        self.screen.gap();
        let events = client.follow(None).await?;
        let mut ids = Vec::new();
        for name in &names {
            ids.push(client.request_run(name, None, RunKind::default()).await?.run_id);
        }
        let mut bars = Bars::new(names, self.options.json);
        let ended = Follow::new(&client, &mut bars, ids).until_all_end(events).await;
        if ended.is_err() {
            bars.abandon();
        }
        self.reconcile(&client, &ended?).await
    }

    /// A worker compares every row of every mart, and every document of every index, with its source.
    async fn reconcile(&self, client: &Client, runs: &[Run]) -> Result<Vec<Outcome>, Failure> {
        let activity = self.screen.begin("check", "comparing every row with its source");
        let mut outcomes = Vec::new();
        for run in runs {
            let found = match run.is_success() {
                true => client.report(&run.pipeline, "reconcile", &json!({ "depth": "rows" })).await?,
                false => Value::Null,
            };
            outcomes.push(Outcome::new(run, &found));
        }
        activity.clear();
        Ok(outcomes)
    }
}
