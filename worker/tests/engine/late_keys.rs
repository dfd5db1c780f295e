//! Late commits over every kind of key: nothing is lost, or the pipeline is refused.

use serde_json::json;
use vitrina_shared::{
    domain::{KeyOrder, Mode, PipelineDraft, PipelineId, RunStatus, Task, TaskKind, transform::Registry},
    guard::{Describing, SourceSchemas},
    validation,
};

use crate::{
    storm::{self, ACCEPTED, REFUSED, SEQUENCES, Source},
    support::{World, draft},
};

/// The pipeline of a source.
fn pipeline(source: &Source, target: &str) -> PipelineDraft {
    let name = target.replace("analytics.", "");
    let mut draft = draft(&name, Mode::Incremental, &source.query(), target, 40);
    draft.incremental_key = Some("k".to_owned());
    draft.options.key_order = source.answered_for.then_some(KeyOrder::Commit);
    draft
}

/// The same with a transform, so that rows pass through the worker.
fn streamed(source: &Source, target: &str) -> PipelineDraft {
    let mut draft = pipeline(source, target);
    let query = draft.source_query.take().unwrap().replace("name,", "name as title,");
    let task = |order_index, task_type, body: &str, options: serde_json::Value| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options: options.as_object().unwrap().clone(),
    };
    draft.kind = TaskKind::Rust;
    draft.tasks = vec![
        task(1, TaskKind::Sql, &query, json!({})),
        task(2, TaskKind::Rust, "rename", json!({"columns": {"title": "name"}})),
    ];
    draft
}

/// What is wrong with a pipeline, as its creation says it.
async fn problems(world: &World, draft: &PipelineDraft) -> Vec<String> {
    let schemas = SourceSchemas::new(["content", "ugc"]);
    let describing = Describing::new(world.db.pool().clone());
    let review = validation::review(world.db.pool(), &describing, draft, &schemas, &Registry::default()).await.unwrap();
    review.problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_that_is_accepted_finds_every_row_of_a_storm_of_late_commits() {
    let mut world = World::new().await;
    world.start_worker(&[("VITRINA_CONCURRENCY", "8")]);
    world.sql(SEQUENCES).await;
    let mut pipelines: Vec<(&Source, String, PipelineId)> = Vec::new();
    for source in ACCEPTED {
        world.sql(&source.ddl()).await;
        for route in ["pushed", "streamed"] {
            let table = format!("{}_{route}", source.table);
            let target = format!("analytics.{table}");
            world
                .sql(&format!(
                    "create table {target} as {query} with no data; alter table {target} add primary key (id);
                     insert into etl.etl_targets (target, key) values ('{target}', '{{id}}')",
                    query = source.query(),
                ))
                .await;
            let draft = if route == "pushed" { pipeline(source, &target) } else { streamed(source, &target) };
            assert_eq!(problems(&world, &draft).await, Vec::<String>::new(), "{table}");
            pipelines.push((source, target, world.pipeline(&draft).await));
        }
    }
    let strangers = world.strangers(20);
    let mut storm = storm::begin(&strangers, ACCEPTED, 20);
    while !storm.is_empty() {
        run_all(&world, &pipelines).await;
        while let Some(ended) = storm.try_join_next() {
            ended.unwrap();
        }
    }
    for _ in 0..2 {
        run_all(&world, &pipelines).await;
    }
    let mut lost = Vec::new();
    for (source, target, _) in &pipelines {
        let rows = world.number(&format!("select count(*) from content.{}", source.table)).await;
        assert!(rows > 20, "{rows} rows are hardly a storm for {target}");
        let differences = world.differences(&source.query(), target).await;
        if differences != (0, 0) {
            lost.push((target, rows, differences));
        }
    }
    assert!(lost.is_empty(), "rows are missing from, and too many in: {lost:?}");
}

/// Runs all pipelines once.
async fn run_all(world: &World, pipelines: &[(&Source, String, PipelineId)]) {
    let mut runs = Vec::new();
    for (_, _, pipeline) in pipelines {
        runs.push(world.run(*pipeline).await);
    }
    for run in runs {
        let run = world.ended(run).await;
        assert_eq!(run.status, RunStatus::Success, "{}: {:?}", run.pipeline, run.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_order_nobody_can_see_is_refused_with_what_to_do() {
    let world = World::new().await;
    world.sql(SEQUENCES).await;
    world.target("any", "id uuid, name text, k text", &["id"]).await;
    for (source, said) in REFUSED {
        world.sql(&format!("drop table if exists content.{}; {}", source.table, source.ddl())).await;
        let found = problems(&world, &pipeline(source, "analytics.any")).await;
        let about_key = found
            .iter()
            .find(|problem| problem.starts_with("incremental_key: "))
            .unwrap_or_else(|| panic!("{source:?}"));
        assert!(about_key.contains(said), "{source:?}: {about_key}");
    }
    // A partition has a sequence of its own.
    world
        .sql(
            "create table content.whole (id uuid, name text, k bigint not null default nextval('content.numbers'))
                 partition by hash (id);
             create table content.part (id uuid, name text, k bigint not null default nextval('content.cached'));
             alter table content.whole attach partition content.part for values with (modulus 1, remainder 0)",
        )
        .await;
    let found = problems(&world, &pipeline(&Source { table: "whole", ..REFUSED[0].0 }, "analytics.any")).await;
    assert!(found.iter().any(|problem| problem.contains("alter sequence content.cached cache 1")), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_whose_rows_come_from_elsewhere_are_refused_until_the_user_says_how_late() {
    let world = World::new().await;
    world
        .sql(
            "create materialized view content.old as select id, name, modified from content.item;
             create view content.behind as select * from content.old;
             create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing;
             create foreign table content.far (id bigint not null, name text, modified timestamptz not null) server nowhere;
             create table content.fed (like content.item including all);
             create subscription feeds connection 'host=nowhere' publication p with (connect = false, slot_name = none);
             insert into pg_subscription_rel
             select s.oid, 'content.fed'::regclass, 'r', null from pg_subscription s where s.subname = 'feeds'",
        )
        .await;
    let of = |table: &str| {
        draft(
            "any",
            Mode::Incremental,
            &format!("select id, name, modified from content.{table}"),
            "analytics.item",
            10,
        )
    };
    for (table, said) in [
        ("old", "content.old is a materialized view"),
        ("behind", "content.old is a materialized view"),
        ("far", "content.far is a foreign table"),
        ("fed", "content.fed gets rows by a subscription"),
    ] {
        let mut draft = of(table);
        draft.options.key_order = None;
        let found = problems(&world, &draft).await;
        assert!(found.iter().any(|problem| problem.contains(said)), "{table}: {found:?}");
        draft.options.lookback_seconds = Some(60);
        let found = problems(&world, &draft).await;
        assert_eq!(
            found.iter().any(|problem| problem.contains(said)),
            said.contains("materialized"),
            "{table}: {found:?}"
        );
        draft = of(table);
        draft.mode = Mode::Full;
        draft.options.key_order = None;
        let found = problems(&world, &draft).await;
        assert!(!found.iter().any(|problem| problem.contains(said)), "{table}: {found:?}");
    }
    world.sql("alter subscription feeds disable; alter subscription feeds set (slot_name = none); drop subscription feeds").await;
}

/// A key of one precision has all its digits, and one of another that comes after it is rounded down behind it.
#[tokio::test(flavor = "multi_thread")]
async fn no_row_of_a_key_that_is_made_of_columns_of_different_precision_is_skipped() {
    let world = World::with_worker().await;
    world
        .sql(
            "create table content.fine (id bigint primary key, name text, k timestamptz not null default now());
             create table content.coarse (id bigint primary key, name text, k timestamptz(0) not null default now());
             create view content.both as select * from content.fine union all select * from content.coarse;
             create table content.pair (id bigint primary key, name text, fine timestamptz, coarse timestamptz(0))",
        )
        .await;
    let queries = [
        ("mixed", "select id, name, k from content.fine union all select id, name, k from content.coarse"),
        ("viewed", "select id, name, k from content.both"),
        ("greater", "select id, name, greatest(fine, coarse) as k from content.pair"),
    ];
    let mut pipelines = Vec::new();
    for (table, query) in queries {
        world.target(table, "id bigint, name text, k timestamptz", &["id"]).await;
        let mut draft = draft(table, Mode::Incremental, query, &format!("analytics.{table}"), 40);
        draft.incremental_key = Some("k".to_owned());
        pipelines.push(world.pipeline(&draft).await);
    }
    // It began in the first half of a second, so that its coarse keys are before its start.
    let strangers = world.strangers(1);
    let mut reader = crate::support::eventually("a second that has just begun", || async {
        let mut reader = strangers.begin().await.unwrap();
        let begun = "select extract(milliseconds from now())::int % 1000 between 50 and 450";
        sqlx::query_scalar::<_, bool>(begun).fetch_one(&mut *reader).await.unwrap().then_some(reader)
    })
    .await;
    crate::support::eventually("a transaction that has only read for long", || async {
        let long = "select count(*) from pg_stat_activity where datname = current_database()
                    and application_name = 'a stranger' and xact_start < clock_timestamp() - interval '5.5 s'";
        (world.number(long).await > 0).then_some(())
    })
    .await;
    world.sql("insert into content.fine values (1, 'a'); insert into content.pair values (1, 'a', now(), null)").await;
    for (pipeline, (table, _)) in pipelines.iter().zip(queries) {
        world.succeeds(*pipeline).await;
        assert_eq!(world.number(&format!("select count(*) from analytics.{table}")).await, 1, "{table}");
    }
    for late in ["coarse values (2, 'late')", "pair values (2, 'late', null, now())"] {
        let late = format!("insert into content.{late}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(late)).execute(&mut *reader).await.unwrap();
    }
    reader.commit().await.unwrap();
    for (pipeline, (table, query)) in pipelines.iter().zip(queries) {
        world.succeeds(*pipeline).await;
        world.assert_same(query, &format!("analytics.{table}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_cancelled_among_rows_of_one_key_is_repeated_before_all_of_them() {
    let world = World::with_worker().await;
    for (table, key_type, old, since) in [
        ("second", "timestamptz(0)", "now() - interval '1 hour'", "k"),
        ("day", "date", "current_date - 10", "k + interval '12 hours'"),
    ] {
        world
            .sql(&format!("create table content.{table} (id bigint primary key, name text, k {key_type} not null)"))
            .await;
        world.target(table, &format!("id bigint, name text, k {key_type}"), &["id"]).await;
        let query = format!("select id, name, k from content.{table}");
        let mut draft = draft(table, Mode::Incremental, &query, &format!("analytics.{table}"), 1);
        draft.incremental_key = Some("k".to_owned());
        let pipeline = world.pipeline(&draft).await;
        world.sql(&format!("insert into content.{table} values (105, 'a', {old})")).await;
        world.succeeds(pipeline).await;
        // Rows of the same key, of a transaction that the pipeline had passed.
        world
            .sql(&format!(
                "insert into content.{table} select n, 'late', k from content.{table}, generate_series(102, 104) n;
                 insert into etl.etl_rereads
                 select p.id, '0/0', {since} from etl.etl_pipelines p, content.{table} where p.name = '{table}' limit 1"
            ))
            .await;
        let strangers = world.strangers(1);
        let mut blocks = strangers.begin().await.unwrap();
        let held = format!("insert into analytics.{table} values (103, 'blocks', current_date)");
        sqlx::raw_sql(sqlx::AssertSqlSafe(held)).execute(&mut *blocks).await.unwrap();
        let run = world.run(pipeline).await;
        crate::support::eventually("the first of the rows", || async {
            (world.checkpoint(pipeline).await?.1.as_deref() == Some("102")).then_some(())
        })
        .await;
        world.cancel(pipeline).await.unwrap();
        blocks.rollback().await.unwrap();
        assert_eq!(world.ended(run).await.status, RunStatus::Cancelled);
        world.sql(&format!("insert into content.{table} values (109, 'new', {old} + interval '1 minute')")).await;
        let again = vitrina_shared::lifecycle::run_again(world.db.pool(), run, crate::support::TESTER).await.unwrap();
        world.succeeded(again.run.id).await;
        world.assert_same(&query, &format!("analytics.{table}")).await;
    }
}

/// `nextval` holds a lock on its sequence until its transaction ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_was_taken_before_its_table_was_touched_is_waited_for() {
    let world = World::with_worker().await;
    world.sql(SEQUENCES).await;
    let source = ACCEPTED.iter().find(|source| source.table == "large").unwrap();
    world.sql(&source.ddl()).await;
    world.target("large", "id uuid, name text, k bigint", &["id"]).await;
    let pipeline = world.pipeline(&pipeline(source, "analytics.large")).await;
    let strangers = world.strangers(2);
    let mut early = strangers.begin().await.unwrap();
    let number: i64 = sqlx::query_scalar("select nextval('content.numbers')").fetch_one(&mut *early).await.unwrap();
    world.sql("insert into content.large (id, name) values (gen_random_uuid(), 'later')").await;
    let run = world.run(pipeline).await;
    crate::support::eventually("a job that was given back", || async {
        let given_back = "select count(*) from apalis.jobs where status = 'Pending' and run_at > now()";
        (world.number(given_back).await > 0).then_some(())
    })
    .await;
    sqlx::query("insert into content.large values (gen_random_uuid(), 'earlier', $1)")
        .bind(number)
        .execute(&mut *early)
        .await
        .unwrap();
    early.commit().await.unwrap();
    world.succeeded(run).await;
    world.assert_same(&source.query(), "analytics.large").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_counts_by_itself_is_refused() {
    let world = World::new().await;
    world
        .sql(
            "create table content.parted (id bigint not null, name text not null, k bigserial) partition by range (id);
             create table content.part_1 partition of content.parted for values from (0) to (100);
             create table content.part_2 (like content.parted including all);
             alter table content.parted attach partition content.part_2 for values from (100) to (200)",
        )
        .await;
    let mut parted = draft("items", Mode::Incremental, "select id, name, k from content.parted", "analytics.parted", 5);
    world.target("parted", "id bigint, name text, k bigint", &["id"]).await;
    parted.incremental_key = Some("k".to_owned());
    parted.options.key_order = None;
    assert_eq!(problems(&world, &parted).await, Vec::<String>::new(), "all take their numbers from one sequence");
    world
        .sql("create sequence content.own; alter table content.part_2 alter k set default nextval('content.own')")
        .await;
    let refused = problems(&world, &parted).await.join(" ");
    assert!(
        refused.contains("from content.own and content.parted_k_seq: a partition that counts by itself"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_put_into_bins_of_any_width_is_refused_without_a_lookback() {
    let world = World::new().await;
    let bin = "date_bin('100 minutes', modified, '2020-01-01')";
    world.sql(&format!("create view content.binned as select id, name, {bin} as modified from content.item")).await;
    let of = |query: String| draft("items", Mode::Incremental, &query, "analytics.item", 5);
    let binned = [
        format!("select id, name, {bin} as modified from content.item"),
        format!(
            "select id, name, pg_catalog.{} as modified from content.item",
            bin.replace("date_bin", "\"date_bin\"")
        ),
        format!("select id, name, greatest(modified, {bin}) as modified from content.item"),
        "select id, name, modified from content.binned".to_owned(),
    ];
    for query in binned {
        let mut draft = of(query.clone());
        let refused = problems(&world, &draft).await.join(" ");
        assert!(
            refused.starts_with("incremental_key: `modified` is no column of a table, and date_bin"),
            "{query}: {refused}"
        );
        draft.options.lookback_seconds = Some(6_000);
        assert_eq!(problems(&world, &draft).await, Vec::<String>::new(), "{query}");
    }
    let others = [
        format!("select id, {bin}::text as name, modified from content.item"),
        "select id, name, date_trunc('hour', modified) as modified from content.item".to_owned(),
    ];
    for query in others {
        assert_eq!(problems(&world, &of(query.clone())).await, Vec::<String>::new(), "{query}");
    }
}
