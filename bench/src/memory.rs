//! What a worker holds in memory: the one that did everything before, and a new one with rows of a megabyte.

use serde_json::{Value, json};

use crate::{
    Outcome, films,
    report::{Goal::Below, Report, Unit},
    stage::Stage,
};

const QUERY: &str = "select id, modified, body from content.bench_wide";

/// Not compressed, so that a row is as wide as it says.
const TABLES: &str = "
    create table content.bench_wide (id bigint primary key, modified timestamptz not null, body text not null);
    alter table content.bench_wide alter column body set storage external;
    insert into content.bench_wide
    select n, timestamptz '2026-01-01' + n * interval '1 second', repeat('vitrina!', 131072)
    from generate_series(1, 200) as n;
    create index on content.bench_wide (modified, id);
    create table analytics.bench_wide (id bigint primary key, modified timestamptz not null, body text not null);
    alter table analytics.bench_wide alter column body set storage external;
    analyze content.bench_wide;
";

pub async fn measure(stage: &mut Stage, report: &mut Report) -> Outcome<()> {
    let all = "worker's memory after everything";
    report.sample(all, Unit::Mebibytes, stage.worker.peak_memory()?)?;
    report.goal(all, Below(60.0));
    stage.execute(&[TABLES]).await?;
    stage.api.allow("analytics.bench_wide", "id").await?;
    let mask = json!([
        {"order_index": 1, "task_type": "SQL", "body": QUERY},
        {"order_index": 2, "task_type": "RUST", "body": "mask", "options": {"columns": ["body"], "show_last": 8}},
    ]);
    for (name, pipeline, tasks) in [
        ("worker's memory with rows of 1 MB", "wide", json!([])),
        ("worker's memory with rows of 1 MB that pass a transform", "wide_streamed", mask),
    ] {
        stage.worker = stage.program.start_worker().await?;
        stage.execute(&["truncate analytics.bench_wide"]).await?;
        load(stage, pipeline, tasks).await?;
        report.sample(name, Unit::Mebibytes, stage.worker.peak_memory()?)?;
        report.goal(name, Below(60.0));
    }
    Ok(())
}

async fn load(stage: &mut Stage, name: &str, tasks: Value) -> Outcome<()> {
    let mut pipeline = films::by_modified(name, QUERY, "analytics.bench_wide", "id", 50);
    pipeline["tasks"] = tasks;
    stage.api.create(&pipeline).await?;
    let finished = stage.api.run(name).await?;
    if finished.run.rows_read == 200 { Ok(()) } else { Err("not all wide rows were read".into()) }
}
