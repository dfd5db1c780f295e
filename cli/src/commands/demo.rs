//! `vitrina demo`: from nothing to filled marts, and a check that every row is right.

mod client;
mod screen;

use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    config::{Env, SourceConfig},
    database,
    guard::SourceSchemas,
    process::{self, Failure},
    telemetry,
};

use self::{
    client::{Client, PipelineFile},
    screen::{Outcome, Screen},
};
use crate::{
    arguments::DemoArguments,
    cinema::{self, CinemaSize},
    home::Home,
    reconcile,
    services::{Services, Settings},
};

const PIPELINES: &str = include_str!("../../../demo/pipelines.yaml");

pub(super) async fn run(options: DemoArguments) -> Result<(), Failure> {
    let addr = options.addr.clone().or_else(|| std::env::var("VITRINA_ADDR").ok());
    let env = Env::from_process()
        .with("VITRINA_ADDR", Some(addr.unwrap_or_else(|| "127.0.0.1:0".to_owned())))
        .with("VITRINA_LOG", std::env::var("VITRINA_LOG").err().map(|_| "warn"));
    let (log, database, api, worker, source): Settings = env.read()?;
    let _telemetry = telemetry::init(&log)?;
    let stop = CancellationToken::new();
    process::stop_on_signal(stop.clone());
    let screen = Screen::new(options.json);
    screen.say("starting the database");
    let Some(home) = Home::open(&database, &options.data_dir, &source, &stop).await? else { return Ok(()) };
    let shown = async {
        fill(&home, &source, &options, &screen).await?;
        let services = Services::start(api, &worker, &source, &home.app, 1, stop.clone()).await?;
        let client = Client::new(services.addr);
        let outcomes = tokio::select! {
            outcomes = show(&home, &source, &client, &screen) => outcomes,
            () = stop.cancelled() => Err("stopped before the end".into()),
        };
        if options.keep && outcomes.is_ok() {
            screen.say(&format!("staying up at http://{}/docs until Ctrl-C", services.addr));
            stop.cancelled().await;
        }
        stop.cancel();
        services.wait().await?;
        outcomes
    }
    .await;
    home.close().await?;
    judge(&shown?, &screen)
}

/// Generates the cinema, and lets users' queries read it.
async fn fill(home: &Home, source: &SourceConfig, options: &DemoArguments, screen: &Screen) -> Result<(), Failure> {
    screen.say(&format!("generating a cinema: {} films, {} ratings", options.films, options.ratings));
    let owner = database::pool(&home.owner, "vitrina-cinema");
    cinema::generate(&owner, CinemaSize { films: options.films, ratings: options.ratings }, |_| {}).await?;
    owner.close().await;
    home.migrate(source).await?.close().await;
    Ok(())
}

/// Creates the pipelines, runs them all at once, waits, and compares every mart with its source.
async fn show(home: &Home, source: &SourceConfig, client: &Client, screen: &Screen) -> Result<Vec<Outcome>, Failure> {
    let file: PipelineFile = serde_norway::from_str(PIPELINES)?;
    let mut started = Vec::new();
    for pipeline in &file.pipelines {
        let name = client.apply(pipeline).await?;
        started.push((name.clone(), client.request_run(&name).await?));
    }
    screen.say(&format!("running {} pipelines", started.len()));
    let owner = database::pool(&home.owner, "vitrina-reconcile");
    let schemas = SourceSchemas::new(source.schemas.iter().cloned());
    let mut outcomes = Vec::new();
    for (name, run) in started {
        let run = client.wait(&run, |progress| screen.progress(&name, progress)).await?;
        let differing = reconcile::differing_rows(&owner, &name, &schemas).await?;
        outcomes.push(Outcome::new(name, &run, differing));
    }
    owner.close().await;
    Ok(outcomes)
}

fn judge(outcomes: &[Outcome], screen: &Screen) -> Result<(), Failure> {
    screen.summary(outcomes);
    if outcomes.iter().all(Outcome::is_good) { Ok(()) } else { Err("not every mart equals its source".into()) }
}
