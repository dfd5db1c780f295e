//! Batches of one row, one after the other: what a batch costs besides its rows.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::{
    Outcome, films,
    report::{Goal::AtLeast, Report, Unit},
    settings::Settings,
    stage::Stage,
};

/// Rows, and so batches.
const BATCHES: i64 = 2_000;

const TABLES: &str = "
    create schema if not exists bench;
    create table content.bench_tiny (id bigint primary key, modified timestamptz not null);
    insert into content.bench_tiny
    select n, timestamptz '2026-01-01' + n * interval '1 second' from generate_series(1, 2000) as n;
    create index on content.bench_tiny (modified, id);
    create table analytics.bench_tiny (id bigint primary key, modified timestamptz not null);
    create table bench.progress (only_one boolean primary key default true, id bigint, modified timestamptz, rows bigint);
    create table bench.jobs (id uuid primary key, payload jsonb not null, status text not null, done_at timestamptz);
    create index on bench.jobs (status);
    analyze content.bench_tiny;
";
const EMPTY: &[&str] = &[
    "truncate analytics.bench_tiny, bench.progress, bench.jobs",
    "insert into bench.progress values (true, 0, '2000-01-01', 0)",
    "checkpoint",
];

const PAGE: &str = "
    with page as materialized (
        select id, modified from content.bench_tiny where (modified, id) > ($1, $2) order by modified, id limit 1
    ),
    written as (
        insert into analytics.bench_tiny as target (id, modified) select id, modified from page
        on conflict (id) do update set modified = excluded.modified
        where target.modified is distinct from excluded.modified
    )
    select modified, id from page
";
const MOVE: &str = "update bench.progress set modified = $1, id = $2, rows = rows + 1";
const DONE: &str = "update bench.jobs set status = 'Done', done_at = now() where id = $1";
const NEXT: &str =
    "insert into bench.jobs (id, payload, status) values ($1, jsonb_build_object('after', $2::bigint), 'Running')";

pub async fn measure(stage: &mut Stage, settings: &Settings, report: &mut Report) -> Outcome<()> {
    let query = "select id, modified from content.bench_tiny";
    let pipeline = films::by_modified("tiny", query, "analytics.bench_tiny", "id", 1);
    stage.execute(&[TABLES]).await?;
    stage.api.allow("analytics.bench_tiny", "id").await?;
    stage.api.create(&pipeline).await?;
    let (bare, vitrina) = ("bare: batches of one row", "Vitrina: batches of one row");
    for _ in 0..settings.repeats {
        stage.execute(EMPTY).await?;
        let took = bare_loop(&mut stage.sql).await?;
        report.sample(bare, Unit::BatchesPerSecond, BATCHES as f64 / took.as_secs_f64())?;
        stage.execute(EMPTY).await?;
        stage.api.reset("tiny").await?;
        let finished = stage.api.run("tiny").await?;
        let speed = finished.run.rows_read as f64 / finished.took.as_secs_f64();
        report.sample(vitrina, Unit::BatchesPerSecond, speed)?;
    }
    report.ratio(vitrina, bare, Some(AtLeast(0.8)));
    Ok(())
}

/// The same by hand: page, progress, old job and new job in one transaction of several statements.
async fn bare_loop(sql: &mut PgConnection) -> Outcome<Duration> {
    let start = Instant::now();
    let mut job = Uuid::new_v4();
    let mut after = (chrono::DateTime::UNIX_EPOCH, 0_i64);
    sqlx::query(NEXT).bind(job).bind(0_i64).execute(&mut *sql).await?;
    loop {
        let mut tx = sql.begin().await?;
        let page = sqlx::query_as(PAGE).bind(after.0).bind(after.1).fetch_optional(&mut *tx).await?;
        let Some(last) = page else { break };
        after = last;
        sqlx::query(MOVE).bind(after.0).bind(after.1).execute(&mut *tx).await?;
        sqlx::query(DONE).bind(job).execute(&mut *tx).await?;
        job = Uuid::new_v4();
        sqlx::query(NEXT).bind(job).bind(after.1).execute(&mut *tx).await?;
        tx.commit().await?;
    }
    Ok(start.elapsed())
}
