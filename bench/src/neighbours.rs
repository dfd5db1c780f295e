//! A load beside a pipeline that fails at every batch, and the same load alone.

use crate::{
    Outcome, films,
    report::{Goal::AtLeast, Report},
    settings::Settings,
    stage::Stage,
};

const TABLES: &[&str] = &["
    create schema if not exists bench;
    create table content.bench_sick as
    select n as id, timestamptz '2026-01-01' + n * interval '1 second' as modified from generate_series(1, 10000) as n;
    alter table content.bench_sick add primary key (id), alter modified set not null;
    create table analytics.bench_sick (id integer primary key, modified timestamptz not null);
    create function bench.refuse() returns trigger language plpgsql as $$
    begin
        raise exception using errcode = 'serialization_failure', message = 'it never works';
    end $$;
    create trigger refuse before insert on analytics.bench_sick for each row execute function bench.refuse()"];

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    stage.execute(TABLES).await?;
    stage.api.allow("analytics.bench_sick", "id").await?;
    let query = "select id, modified from content.bench_sick";
    stage.api.create(&films::by_modified("sick", query, "analytics.bench_sick", "id", 1000)).await?;
    stage.api.create(&films::incremental("healthy", 10_000)).await?;
    let (alone, beside) = ("Vitrina: a load alone", "Vitrina: a load beside a pipeline that fails at every batch");
    for _ in 0..settings.repeats {
        for (name, with_sick) in [(alone, false), (beside, true)] {
            stage.execute(&["truncate analytics.film_dim", "checkpoint"]).await?;
            stage.api.reset("healthy").await?;
            let failing = with_sick.then(|| stage.api.request_again_and_again("sick"));
            let finished = stage.api.run("healthy").await?;
            drop(failing);
            report.speed(name, finished.run.rows_read, finished.took)?;
        }
    }
    report.ratio(beside, alone, Some(AtLeast(0.9)));
    Ok(())
}
