//! From a request to the worker: one by one on an idle pipeline, and a burst of pipelines.
//!
//! The direct measure is by the server's clock: from the moment before `POST …/run` commits (the transition's `at`) to
//! the fetch of the job (`lock_at`), to the first batch, and to the end. The commit itself is part of it.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use uuid::Uuid;

use crate::{
    Outcome, films,
    report::{Goal::Below, Report, Unit, millis, percentile},
    settings::Settings,
    stage::Stage,
};

const BURST: usize = 100;
const NO_ROWS: &str = "select id as genre_id, name, modified from content.genre where name = ''";
/// Between two requests, so that every one finds an idle worker.
const SPACE: Duration = Duration::from_millis(20);

/// What the server's clock says of a run.
const TIMES: &str = "
    select (extract(epoch from j.lock_at - requested.at) * 1000)::float8,
           (extract(epoch from begun.at - requested.at) * 1000)::float8,
           (extract(epoch from done.at - requested.at) * 1000)::float8
    from etl.etl_run_ranges g
    join apalis.jobs j on j.id = g.job_id
    join etl.etl_transitions requested on requested.run_id = g.run_id and requested.to_status = 'RUN_REQUESTED'
    join etl.etl_transitions begun on begun.run_id = g.run_id and begun.to_status = 'RUNNING'
    join etl.etl_transitions done on done.run_id = g.run_id and done.to_status = 'IDLE'
    where g.run_id = any($1)
";

/// One for each pipeline: a target is written by one run at a time.
const TARGETS: &str = "
    do $$ begin
        for number in 0..99 loop
            execute format('create table analytics.bench_idle_%s (genre_id uuid primary key, name text, modified timestamptz)', number);
        end loop;
    end $$
";

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    stage.execute(&[TARGETS]).await?;
    for number in 0..BURST {
        let (name, target) = (format!("idle_{number}"), format!("analytics.bench_idle_{number}"));
        stage.api.allow(&target, "genre_id").await?;
        stage.api.create(&films::by_modified(&name, NO_ROWS, &target, "genre_id", 1000)).await?;
    }
    one_by_one(stage, settings.wakeups, report).await?;
    for _ in 0..settings.repeats {
        burst(stage, report).await?;
    }
    report.goal("burst of 100 pipelines: until all are under way", Below(500.0));
    Ok(())
}

async fn one_by_one(stage: &mut Stage, requests: u32, report: &mut Report) -> Outcome<()> {
    let before = histogram(&stage.worker.url).await?;
    let mut runs = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..requests {
        tokio::time::sleep(SPACE).await;
        let finished = stage.api.run("idle_0").await?;
        runs.push(finished.id);
        seen.push(millis(finished.took));
    }
    let after = histogram(&stage.worker.url).await?;
    for (bound, count) in after {
        let earlier = before.iter().find(|(other, _)| *other == bound).map_or(0.0, |(_, count)| *count);
        if bound <= 10.0 {
            let name = format!("vitrina_wakeup_seconds: within {bound} ms");
            report.sample(&name, Unit::Percent, (count - earlier) / f64::from(requests) * 100.0)?;
        }
    }
    let times: Vec<(f64, f64, f64)> = sqlx::query_as(TIMES).bind(&runs).fetch_all(&mut stage.sql).await?;
    let column = |pick: fn(&(f64, f64, f64)) -> f64| times.iter().map(pick).collect::<Vec<_>>();
    percentiles(report, "request to fetch of the job, server's clock", &column(|time| time.0))?;
    percentiles(report, "request to first batch, server's clock", &column(|time| time.1))?;
    percentiles(report, "request to end, server's clock", &column(|time| time.2))?;
    percentiles(report, "request to news of the end, client's clock", &seen)?;
    report.goal("request to fetch of the job, server's clock, p50", Below(2.0));
    report.goal("request to fetch of the job, server's clock, p99", Below(10.0));
    report.goal("request to news of the end, client's clock, p50", Below(50.0));
    Ok(())
}

fn percentiles(report: &mut Report, name: &str, samples: &[f64]) -> Outcome<()> {
    for (label, part) in [("p50", 0.50), ("p95", 0.95), ("p99", 0.99)] {
        report.sample(&format!("{name}, {label}"), Unit::Milliseconds, percentile(samples, part))?;
    }
    Ok(())
}

/// The worker's own histogram: upper bounds in milliseconds, and how many were within each.
async fn histogram(worker: &str) -> Outcome<Vec<(f64, f64)>> {
    let text = reqwest::get(format!("{worker}/metrics")).await?.text().await?;
    let mut buckets = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("vitrina_wakeup_seconds_bucket{le=\"") else { continue };
        let Some((bound, count)) = rest.split_once("\"} ") else { continue };
        if bound != "+Inf" {
            buckets.push((bound.parse::<f64>()? * 1000.0, count.parse()?));
        }
    }
    Ok(buckets)
}

/// All pipelines at once: how long until every one is under way, and until every one is done.
async fn burst(stage: &mut Stage, report: &mut Report) -> Outcome<()> {
    let start = Instant::now();
    let requests = (0..BURST).map(|number| {
        let api = &stage.api;
        async move { api.request(&format!("idle_{number}")).await }
    });
    let runs: HashSet<Uuid> = try_join_all(requests).await?.into_iter().collect();
    let mut waiting = runs.clone();
    let mut unfinished = runs;
    while !unfinished.is_empty() {
        let event = stage.api.next_event().await?;
        let Some(run) = event.run_id else { continue };
        match event.to.as_str() {
            "RUNNING" if waiting.remove(&run) && waiting.is_empty() => {
                report.duration("burst of 100 pipelines: until all are under way", event.heard - start)?;
            }
            "IDLE" if unfinished.remove(&run) && unfinished.is_empty() => {
                report.duration("burst of 100 pipelines: until all are done", event.heard - start)?;
            }
            "FAILED" => return Err(format!("run {run} failed").into()),
            _ => {}
        }
    }
    Ok(())
}
