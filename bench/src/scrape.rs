//! What Prometheus costs: a scrape of the API with many pipelines and a long history, alone and beside a load, and what a
//! worker spends on its own metrics for each batch.

use std::time::{Duration, Instant};

use metrics::histogram;
use vitrina_shared::metrics::{self as names, BATCH_DURATION, BATCH_PHASE};

use crate::{
    Outcome, films,
    report::{Goal::Below, Report, Unit, say},
    settings::Settings,
    stage::Stage,
};

const PIPELINES: u32 = 500;
/// Answers are given again for a second, so the next one is asked for later.
const APART: Duration = Duration::from_millis(1100);
const SCRAPES: u32 = 15;
/// Batches whose metrics are recorded, to know what one costs.
const BATCHES: u32 = 100_000;

/// 200 runs for each pipeline, summed up as if they had ended one by one.
const HISTORY: &[&str] = &[
    "insert into etl.etl_runs (id, pipeline_id, mode, status, trigger, requested_by, correlation_id, inputs, requested_at,
                               started_at, finished_at, rows_read, rows_written, batches)
     select gen_random_uuid(), p.id, p.mode, case n % 3 when 0 then 'FAILED' else 'SUCCESS' end, 'API', 'bench', 'bench',
            '{}', now() - n * interval '1 hour', now() - n * interval '1 hour', now() - n * interval '59 minutes',
            1000, 1000, 10
     from etl.etl_pipelines p, generate_series(1, 200) as n
     where p.name like 'scraped%'",
    "insert into etl.etl_run_totals (pipeline_id, mode, sink, status, runs, rows_read, rows_written, rows_rejected, batches,
                                     attempts, seconds, durations, last_finished_at, last_requested_at, last_started_at,
                                     gaps)
     select p.id, p.mode, 'postgres', ended.status, 70, 70000, 70000, 0, 700, 0, 4200,
            array_fill(4::bigint, array[cardinality(etl.run_duration_bounds()) + 1]), now(), now(),
            now(), array_fill(3600::double precision, array[8])
     from etl.etl_pipelines p, unnest(array['SUCCESS', 'FAILED', 'CANCELLED']) as ended (status)
     where p.name like 'scraped%'",
    "vacuum analyze",
];

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    for number in 0..PIPELINES {
        stage.api.create(&films::full(&format!("scraped_{number}"), 1000)).await?;
    }
    stage.execute(HISTORY).await?;
    let (alone, beside) = ("scrape of the API, 500 pipelines", "scrape of the API, 500 pipelines, beside a load");
    for _ in 0..SCRAPES {
        scrape(stage, report, alone).await?;
    }
    report.goal(alone, Below(50.0));
    stage.api.create(&films::incremental("beside", 1000)).await?;
    stage.api.request("beside").await?;
    for _ in 0..SCRAPES {
        scrape(stage, report, beside).await?;
    }
    report.goal(beside, Below(50.0));
    report_batches(stage, report).await?;
    say(&format!("{} films were loaded beside it", settings.films));
    Ok(())
}

async fn scrape(stage: &Stage, report: &mut Report, name: &str) -> Outcome<()> {
    tokio::time::sleep(APART).await;
    let start = Instant::now();
    let text = stage.api.metrics().await?;
    report.duration(name, start.elapsed())?;
    let shown = text.lines().filter(|line| line.starts_with("vitrina_rows_read_total{pipeline=\"scraped_")).count();
    if shown == PIPELINES as usize { Ok(()) } else { Err(format!("{shown} pipelines are shown").into()) }
}

/// What recording takes of a batch's time: of those that were committed beside the scrapes, in batches of 1,000.
async fn report_batches(stage: &mut Stage, report: &mut Report) -> Outcome<()> {
    let batch: f64 = sqlx::query_scalar(
        "select extract(epoch from coalesce(r.finished_at, clock_timestamp()) - r.started_at)::double precision / r.batches
         from etl.etl_runs r join etl.etl_pipelines p on p.id = r.pipeline_id where p.name = 'beside' and r.batches > 0",
    )
    .fetch_one(&mut stage.sql)
    .await?;
    names::recorder().ok_or("no recorder")?;
    let start = Instant::now();
    for _ in 0..BATCHES {
        record("beside".to_owned());
    }
    let recording = start.elapsed().as_secs_f64() / f64::from(BATCHES);
    report.sample("recording a batch's metrics", Unit::Milliseconds, recording * 1000.0)?;
    report.sample("a batch of 1,000 rows", Unit::Milliseconds, batch * 1000.0)?;
    report.ratio("recording a batch's metrics", "a batch of 1,000 rows", Some(Below(0.01)));
    Ok(())
}

/// What a worker records for a batch.
fn record(pipeline: String) {
    for phase in ["open", "page", "close"] {
        histogram!(BATCH_PHASE, "pipeline" => pipeline.clone(), "phase" => phase).record(0.01);
    }
    histogram!(BATCH_DURATION, "pipeline" => pipeline).record(0.01);
}
