//! Throughput of the REST API with `wrk`, and where its time goes.
//!
//! Besides the two requests that matter it measures what they are made of: an answer without a database, and the
//! database alone from a pool of the same size.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use sqlx::Executor as _;
use tokio::{process::Command, task::JoinSet};

use crate::{Outcome, client::Api, films, services::Program, settings::ApiSettings, stage};

/// As many pipelines as there are connections can be asked for at once without waiting for each other's row.
const PIPELINES: u32 = 16;

/// A mart for each: a mart has one unfinished run.
const TARGETS: &str = "
    do $$ begin
        for number in 1..16 loop
            execute format('create table analytics.bench_films_%s (like analytics.film_dim including all)', number);
        end loop;
    end $$
";

/// What `GET /pipelines/{p}` reads, without the tasks.
const READ: &str = "select id, name, status, source_query, options from etl.etl_pipelines where name = 'films_1'";

/// A request for `wrk`: to pipeline number 1, or to all in turn.
const ONE: &str = "wrk.method = 'POST'";
const EACH: &str = "
    local n = 0
    request = function()
        n = n % 16 + 1
        return wrk.format('POST', '/api/v1/pipelines/films_' .. n .. '/run')
    end
";

pub async fn measure(settings: &ApiSettings) -> Outcome<()> {
    let program = Program::find(&settings.setup)?;
    program.run(&["migrate"]).await?;
    program.run(&["cinema", "--films", "1000", "--ratings", "1000"]).await?;
    let service = program.start_api().await?;
    let api = Api::connect(&service.url).await?;
    stage::pool(&settings.setup.database_url, 1).await?.execute(TARGETS).await?;
    for number in 1..=PIPELINES {
        // There is no worker: each stays requested, and asking again changes nothing.
        let (name, target) = (format!("films_{number}"), format!("analytics.bench_films_{number}"));
        api.allow(&target, "film_id").await?;
        let mut pipeline = films::full(&name, 1000);
        pipeline["target_table"] = target.into();
        api.create(&pipeline).await?;
        api.request(&name).await?;
    }
    let wrk = Wrk { url: &service.url, settings };
    let pipeline = "/api/v1/pipelines/films_1";
    let mut table = String::from("\n| what | requests/s | p50 | p90 | p99 | errors |\n|---|--:|--:|--:|--:|--:|\n");
    table += &wrk.row("GET /health (no database)", "/health", None).await?;
    table += &wrk.row("GET /pipelines/{p}", pipeline, None).await?;
    let run = format!("{pipeline}/run");
    table += &wrk.row("POST …/run while active, one pipeline", &run, Some(ONE)).await?;
    table += &wrk.row("POST …/run while active, 16 pipelines", &run, Some(EACH)).await?;
    table += &row_of_pool(settings, "`select 1` alone", "select 1").await?;
    table += &row_of_pool(settings, "the pipeline's row alone", READ).await?;
    writeln!(io::stdout(), "{table}")?;
    Ok(())
}

struct Wrk<'a> {
    url: &'a str,
    settings: &'a ApiSettings,
}

impl Wrk<'_> {
    async fn row(&self, name: &str, path: &str, script: Option<&str>) -> Outcome<String> {
        let mut command = Command::new("wrk");
        command.args(["--threads", "1", "--latency"]);
        command.arg("--connections").arg(self.settings.connections.to_string());
        command.arg("--duration").arg(format!("{}s", self.settings.seconds));
        if let Some(script) = script {
            command.arg("--script").arg(write_script(&self.settings.setup.out, script)?);
        }
        let output = command.arg(format!("{}{path}", self.url)).output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let field = |label: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
            line.map_or_else(String::new, |value| value.trim().to_owned())
        };
        let (speed, errors) = (field("Requests/sec:"), field("Non-2xx or 3xx responses:"));
        if speed.is_empty() {
            return Err(format!("wrk failed: {text}{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let errors = if errors.is_empty() { "0" } else { &errors };
        let (half, most, nearly_all) = (field("50%"), field("90%"), field("99%"));
        Ok(format!("| {name} | {speed} | {half} | {most} | {nearly_all} | {errors} |\n"))
    }
}

fn write_script(directory: &Path, script: &str) -> Outcome<std::path::PathBuf> {
    let path = directory.join("request.lua");
    fs::write(&path, script)?;
    Ok(path)
}

/// The database alone: as many tasks as connections, each repeating the statement.
async fn row_of_pool(settings: &ApiSettings, name: &str, statement: &'static str) -> Outcome<String> {
    let pool = stage::pool(&settings.setup.database_url, settings.connections).await?;
    let end = Instant::now() + Duration::from_secs(settings.seconds.into());
    let mut tasks = JoinSet::new();
    for _ in 0..settings.connections {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut count = 0_u32;
            while Instant::now() < end {
                sqlx::query(statement).fetch_all(&pool).await?;
                count += 1;
            }
            Ok::<u32, sqlx::Error>(count)
        });
    }
    let mut total = 0;
    while let Some(count) = tasks.join_next().await {
        total += count??;
    }
    Ok(format!("| {name} | {:.0} | | | | |\n", f64::from(total) / f64::from(settings.seconds)))
}
