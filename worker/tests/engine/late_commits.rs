//! Rows that become visible long after later ones: no committed row is ever skipped.
//!
//! Eight writers in long and short transactions write with the start of their transaction, or a number of a sequence,
//! while an incremental pipeline is run again and again. `VITRINA_TEST_LATE_SECONDS` makes it longer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rand::RngExt;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use tokio::task::JoinSet;
use vitrina_shared::domain::{Mode, PipelineId, Status};

use crate::support::{World, draft, eventually};

const WRITERS: i64 = 8;

/// What is written, and how a change takes a new key.
struct Load {
    columns: &'static str,
    key: &'static str,
    touch: &'static str,
    query: &'static str,
}

const BY_TIME: Load = Load {
    columns: "id bigint primary key, name text, modified timestamptz not null default now()",
    key: "modified",
    touch: "modified = now()",
    query: "select id, name, modified from content.log",
};

const BY_SEQUENCE: Load = Load {
    columns: "id bigint primary key, name text, seq bigint not null default nextval('content.log_seq')",
    key: "seq",
    touch: "seq = nextval('content.log_seq')",
    query: "select id, name, seq from content.log",
};

impl Load {
    async fn world(&self) -> (World, PipelineId) {
        let world = World::with_worker().await;
        world.sql("create sequence content.log_seq").await;
        world
            .sql(&format!(
                "create table content.log ({}); create index on content.log ({}, id)",
                self.columns, self.key
            ))
            .await;
        world
            .sql(
                "create table analytics.log (like content.log, primary key (id));
                   insert into etl.etl_targets (target, key) values ('analytics.log', '{id}')",
            )
            .await;
        let mut log = draft("log", Mode::Incremental, self.query, "analytics.log", 50);
        log.incremental_key = Some(self.key.to_owned());
        let pipeline = world.pipeline(&log).await;
        (world, pipeline)
    }

    /// Writes and runs for a while, then runs twice in peace. Returns how many rows the mart lacks, and has too many.
    async fn differences(&self, world: &World, pipeline: PipelineId, seconds: u64) -> (i64, i64) {
        let seconds = std::env::var("VITRINA_TEST_LATE_SECONDS").map_or(seconds, |text| text.parse().unwrap());
        let end = Instant::now() + Duration::from_secs(seconds);
        let pool = Arc::new(world.strangers(20));
        let mut reader = pool.begin().await.unwrap();
        // It stays open for as long as the load does.
        execute(&mut reader, "set local idle_in_transaction_session_timeout = 0").await;
        execute(&mut reader, "select count(*) from content.log").await;
        let mut writers = JoinSet::new();
        for number in 0..WRITERS {
            writers.spawn(write_until(end, number, pool.clone(), self.touch));
        }
        let mut runs = 0;
        while !writers.is_empty() {
            world.succeeds(pipeline).await;
            runs += 1;
            while let Some(ended) = writers.try_join_next() {
                ended.unwrap();
            }
        }
        assert!(runs > 1, "nothing ran beside the writers");
        world.succeeds(pipeline).await;
        reader.rollback().await.unwrap();
        for _ in 0..2 {
            world.succeeds(pipeline).await;
        }
        assert!(world.number("select count(*) from content.log").await > 20, "hardly anything was written");
        world.differences(self.query, "analytics.log").await
    }
}

async fn write_until(end: Instant, writer: i64, pool: Arc<PgPool>, touch: &'static str) {
    let mut connection = pool.acquire().await.unwrap();
    let mut next = writer;
    while Instant::now() < end {
        let first = next;
        execute(&mut connection, "begin").await;
        let kind = rand::rng().random_range(0..10);
        match kind {
            // Short.
            0..5 => {}
            // Writes first, and commits late.
            5..7 => {
                write(&mut connection, &mut next, writer, touch).await;
                pause(0..2500).await;
            }
            // Only reads for seconds, and then writes with its old start.
            7 => {
                execute(&mut connection, "select count(*) from content.log").await;
                pause(1000..7000).await;
            }
            _ => pause(0..400).await,
        }
        write(&mut connection, &mut next, writer, touch).await;
        if !finish(&mut connection, writer, next).await {
            next = first;
        }
        pause(0..30).await;
    }
}

/// Inserts a row and changes an older one of the same writer.
async fn write(connection: &mut PgConnection, next: &mut i64, writer: i64, touch: &str) {
    execute(connection, &format!("insert into content.log (id, name) values ({next}, 'new')")).await;
    let earlier = rand::rng().random_range(0..=*next / WRITERS) * WRITERS + writer;
    execute(connection, &format!("update content.log set name = name || '+', {touch} where id = {earlier}")).await;
    *next += WRITERS;
}

/// Commits, rolls back, or prepares and does either later. Whether it was committed.
async fn finish(connection: &mut PgConnection, writer: i64, next: i64) -> bool {
    let commits = rand::rng().random_range(0..5) > 0;
    let end = if commits { "commit" } else { "rollback" };
    if rand::rng().random_range(0..6) > 0 {
        execute(connection, end).await;
        return commits;
    }
    // The name belongs to the whole server.
    let name = format!("late_{}_{writer}_{next}", rand::rng().random_range(0..u64::MAX));
    execute(connection, &format!("prepare transaction '{name}'")).await;
    pause(0..800).await;
    execute(connection, &format!("{end} prepared '{name}'")).await;
    commits
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await.unwrap();
}

/// Not a wait for anything: this is the load.
async fn pause(milliseconds: std::ops::Range<u64>) {
    let milliseconds = rand::rng().random_range(milliseconds);
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_row_that_says_when_its_transaction_began_is_skipped() {
    let (world, pipeline) = BY_TIME.world().await;
    assert_eq!(BY_TIME.differences(&world, pipeline, 25).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_row_that_has_a_number_of_a_sequence_is_skipped() {
    let (world, pipeline) = BY_SEQUENCE.world().await;
    assert_eq!(BY_SEQUENCE.differences(&world, pipeline, 15).await, (0, 0));
}

/// A backend takes its transaction's start a moment before anybody can see that it has one; with more backends than
/// cores that moment can be long.
#[tokio::test(flavor = "multi_thread")]
async fn no_row_of_a_storm_of_short_transactions_is_skipped() {
    let (world, pipeline) = BY_TIME.world().await;
    let seconds = std::env::var("VITRINA_TEST_LATE_SECONDS").map_or(5, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let pool = Arc::new(world.strangers(16));
    let mut writers = JoinSet::new();
    for number in 0..16_i64 {
        let pool = pool.clone();
        writers.spawn(async move {
            let mut connection = pool.acquire().await.unwrap();
            let mut next = number;
            while Instant::now() < end {
                execute(&mut connection, &format!("insert into content.log (id, name) values ({next}, 'new')")).await;
                next += 16;
            }
        });
    }
    while !writers.is_empty() {
        world.succeeds(pipeline).await;
        while let Some(ended) = writers.try_join_next() {
            ended.unwrap();
        }
    }
    world.succeeds(pipeline).await;
    world.assert_same(BY_TIME.query, "analytics.log").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_owed_stays_owed_when_a_run_fails_to_begin() {
    let (world, pipeline) = BY_TIME.world().await;
    world
        .sql("insert into content.log values (1, 'a', now() - interval '2 hours'), (2, 'b', now() - interval '1 hour')")
        .await;
    world.succeeds(pipeline).await;
    // A transaction that began before the checkpoint has ended meanwhile.
    world
        .sql(
            "insert into content.log values (3, 'late', now() - interval '90 minutes');
               insert into etl.etl_rereads select id, '0/0', now() - interval '90 minutes' from etl.etl_pipelines",
        )
        .await;
    world
        .sql(
            "create sequence public.attempt;
             grant usage on sequence public.attempt to vitrina_app;
             create function public.stumble() returns trigger language plpgsql as $$
             begin
                 if nextval('public.attempt') = 1 then
                     raise exception using errcode = '40001', message = 'could not serialize access';
                 end if;
                 return new;
             end $$;
             create trigger stumble before insert on etl.etl_transitions for each row
             when (new.to_status = 'RUNNING') execute function public.stumble()",
        )
        .await;
    let run = world.succeeds(pipeline).await;
    assert_eq!(run.attempts, 1);
    world.assert_same(BY_TIME.query, "analytics.log").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_a_writer_can_be_paused_and_does_not_wait_for_those_who_come_later() {
    let (world, pipeline) = BY_SEQUENCE.world().await;
    let pool = world.strangers(3);
    let write = async |id: i64| {
        let mut writer = pool.begin().await.unwrap();
        execute(&mut writer, &format!("insert into content.log (id, name) values ({id}, 'new')")).await;
        writer
    };
    let first = write(1).await;
    let run = world.run(pipeline).await;
    world.pause(pipeline).await.unwrap();
    world.reaches(pipeline, Status::Paused).await;
    world.run(pipeline).await;
    eventually("a job that was given back", || async {
        let given_back = "select count(*) from apalis.jobs where status = 'Pending' and run_at > now()";
        (world.number(given_back).await > 0).then_some(())
    })
    .await;

    let second = write(2).await;
    first.commit().await.unwrap();
    world.succeeded(run).await;
    second.commit().await.unwrap();
    world.succeeds(pipeline).await;
    world.assert_same(BY_SEQUENCE.query, "analytics.log").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_load_loses_rows_when_the_horizon_is_off() {
    let (world, pipeline) = BY_TIME.world().await;
    world
        .sql(
            "create function public.no_bound() returns trigger language plpgsql as
             'begin new.upper := ''infinity''; new.horizon := null; return new; end';
             create trigger no_bound before update of upper on etl.etl_run_ranges for each row
             execute function public.no_bound();
             create function public.no_reread() returns trigger language plpgsql as 'begin return null; end';
             create trigger no_reread before insert on etl.etl_rereads for each row execute function public.no_reread()",
        )
        .await;
    for _ in 0..6 {
        let (missing, _) = BY_TIME.differences(&world, pipeline, 10).await;
        if missing > 0 {
            return;
        }
    }
    panic!("the load is too tame to show anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_a_long_reader_that_prepared_its_transaction_is_read_once_that_is_committed() {
    let (world, pipeline) = BY_TIME.world().await;
    let pool = world.strangers(2);
    let mut reader = pool.acquire().await.unwrap();
    execute(&mut reader, "begin").await;
    execute(&mut reader, "select count(*) from content.log").await;
    world.is_passed(&mut reader).await;
    world.sql("insert into content.log (id, name) values (1, 'later')").await;
    world.succeeds(pipeline).await;
    assert_eq!(world.number("select count(*) from analytics.log").await, 1, "a long reader stops the mart");

    let name = format!("late_{}", rand::rng().random_range(0..u64::MAX));
    execute(&mut reader, "insert into content.log (id, name) values (2, 'earlier')").await;
    execute(&mut reader, &format!("prepare transaction '{name}'")).await;
    world.succeeds(pipeline).await;
    execute(&mut reader, &format!("commit prepared '{name}'")).await;
    world.succeeds(pipeline).await;
    world.assert_same(BY_TIME.query, "analytics.log").await;
}

/// A table that was built anew and renamed is another relation of the same name.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_of_a_table_that_took_the_place_of_another_is_waited_for() {
    let world = World::with_worker().await;
    world.sql("create table content.n (id int primary key, modified bigint not null, name text)").await;
    world.sql("insert into content.n values (1, 1, 'a')").await;
    world.target("n", "id int, modified bigint, name text", &["id"]).await;
    let query = "select id, modified, name from content.n";
    let pipeline = world.pipeline(&crate::support::draft("n", Mode::Incremental, query, "analytics.n", 10)).await;
    world.succeeds(pipeline).await;
    world
        .sql(
            "begin; create table content.n2 (like content.n including all); insert into content.n2 table content.n;
             drop table content.n; alter table content.n2 rename to n; grant select on content.n to vitrina_query; commit",
        )
        .await;
    let strangers = world.strangers(2);
    let mut late = strangers.begin().await.unwrap();
    execute(&mut late, "insert into content.n values (5, 5, 'late')").await;
    execute(&mut strangers.acquire().await.unwrap(), "insert into content.n values (10, 10, 'early')").await;
    let run = world.run(pipeline).await;
    crate::support::eventually("a run that waits", || async {
        let waits = "select count(*) from apalis.jobs where status in ('Queued', 'Running', 'Pending')";
        (world.number(waits).await > 0).then_some(())
    })
    .await;
    late.commit().await.unwrap();
    world.succeeded(run).await;
    world.succeeds(pipeline).await;
    world.assert_same(query, "analytics.n").await;
}
