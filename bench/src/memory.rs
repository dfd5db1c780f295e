//! What a worker holds in memory: the one that did everything before, and a new one with rows of a megabyte.

use serde_json::json;

use crate::{
    Outcome,
    report::{Goal::Below, Report, Unit},
    stage::Stage,
};

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

/// Measures both.
pub async fn measure(stage: &mut Stage, report: &mut Report) -> Outcome<()> {
    let (all, wide) = ("worker's memory after everything", "worker's memory with rows of 1 MB");
    report.sample(all, Unit::Mebibytes, stage.worker.peak_memory()?)?;
    stage.worker = stage.program.start_worker().await?;
    stage.execute(&[TABLES]).await?;
    stage.api.allow("analytics.bench_wide", "id").await?;
    let pipeline = json!({
        "name": "wide",
        "mode": "incremental",
        "source_query": "select id, modified, body from content.bench_wide",
        "target_table": "analytics.bench_wide",
        "batch_size": 50,
        "incremental_key": "modified",
        "incremental_id_key": "id",
    });
    stage.api.create(&pipeline).await?;
    let finished = stage.api.run("wide").await?;
    if finished.run.rows_read != 200 {
        return Err("not all wide rows were read".into());
    }
    report.sample(wide, Unit::Mebibytes, stage.worker.peak_memory()?)?;
    report.goal(all, Below(60.0));
    report.goal(wide, Below(60.0));
    Ok(())
}
