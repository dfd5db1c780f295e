//! Comparing a mart with its source.

use serde_json::{Value, json};
use vitrina_shared::domain::{
    ErrorClass, Mode, NullKeys, PipelineId, ReportRequest, ReportStatus,
    report::{Depth, Repair},
};

use crate::support::{ITEMS, World, draft, items};

pub async fn reconcile(world: &World, pipeline: PipelineId, depth: Depth) -> Value {
    world.report(pipeline, &ReportRequest::Reconcile { depth, repair: Repair::Nothing }).await
}

pub async fn repair(world: &World, pipeline: PipelineId, repair: Repair) -> Value {
    world.report(pipeline, &ReportRequest::Reconcile { depth: Depth::Rows, repair }).await
}

/// `(missing, extra, different)`.
pub fn differences(found: &Value) -> [Option<i64>; 3] {
    ["missing", "extra", "different"].map(|kind| found[kind].as_i64())
}

pub fn assert_match(found: &Value) {
    assert_eq!((&found["verdict"], &found["sample"]), (&json!("match"), &json!([])), "{found}");
    assert_eq!(found["source_rows"], found["target_rows"], "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_flight_are_no_drift_and_are_not_repaired() {
    let world = World::with_worker().await;
    world.items(1, 300).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    assert_eq!(differences(&reconcile(&world, pipeline, Depth::Rows).await), [Some(300), Some(0), Some(0)]);
    world.succeeds(pipeline).await;
    // Some are new, and some that were loaded have changed since.
    world.items(301, 305).await;
    world.sql("update content.item set name = 'new', modified = '2026-02-01' where id <= 5").await;
    for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
        let found = reconcile(&world, pipeline, depth).await;
        assert_match(&found);
        assert_eq!((&found["source_rows"], &found["in_flight"]), (&json!(295), &json!(10)), "{depth}: {found}");
    }
    // Beside them, a row that changed although its key did not: no run would ever see it.
    world.sql("update content.item set name = 'silent' where id = 100").await;
    let found = repair(&world, pipeline, Repair::Differing).await;
    assert_eq!(
        (differences(&found), &found["repaired"]),
        ([Some(0), Some(0), Some(1)], &json!({"written": 1, "removed": 0}))
    );
    assert_eq!(world.number("select count(*) from analytics.item where name = 'new'").await, 0);
    assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_must_be_read_again_are_in_flight_too() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    world.succeeds(pipeline).await;
    world
        .sql(&format!(
            "insert into etl.etl_rereads values ('{pipeline}', '1/1', '2026-01-01 00:01:20');
             delete from analytics.item where id = 80"
        ))
        .await;
    let found = reconcile(&world, pipeline, Depth::Rows).await;
    assert_match(&found);
    // Keys of whole seconds may come from a column that keeps minutes alone, so it is a minute more.
    assert_eq!((&found["source_rows"], &found["in_flight"]), (&json!(19), &json!(81)));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_versions_the_newest_counts() {
    let world = World::with_worker().await;
    world.sql("create table content.version (id bigint, item bigint, name text, modified timestamptz not null)").await;
    world
        .sql(
            "insert into content.version select n, n % 100, 'v' || n, '2026-01-01'::timestamptz + n * interval '1 s'
             from generate_series(1, 300) n",
        )
        .await;
    world.target("version", "item bigint, name text", &["item"]).await;
    let query = "select id, item, name, modified from content.version";
    let mut versions = draft("versions", Mode::Incremental, query, "analytics.version", 77);
    versions.options.null_keys = Some(NullKeys::Error);
    let pipeline = world.pipeline(&versions).await;
    world.succeeds(pipeline).await;
    for depth in [Depth::Counts, Depth::Keys, Depth::Rows] {
        let found = reconcile(&world, pipeline, depth).await;
        assert_match(&found);
        assert_eq!(found["source_rows"], 100, "{found}");
    }
    world.sql("insert into content.version values (400, 5, 'newer', '2026-03-01')").await;
    let found = reconcile(&world, pipeline, Depth::Rows).await;
    assert_match(&found);
    assert_eq!(found["source_rows"], 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_pages_by_itself_is_compared_as_a_whole() {
    let world = World::with_worker().await;
    world.items(1, 200).await;
    world.target("by_letter", "letter text, items bigint", &["letter"]).await;
    let query = "with changed as (
            select i.id, i.modified from content.item i
            where (:after_key::timestamptz is null or (i.modified, i.id) > (:after_key, :after_id)) and i.modified < :upper
            order by i.modified, i.id limit :limit
        ), letters as (
            select distinct on (c.id % 7) chr((97 + c.id % 7)::int) as letter, c.id % 7 as n, c.id, c.modified
            from changed c order by c.id % 7, c.modified desc, c.id desc
        )
        select l.letter, (select count(*) from content.item i where i.id % 7 = l.n) as items, l.modified, l.id
        from letters l";
    let mut letters = draft("letters", Mode::Incremental, query, "analytics.by_letter", 50);
    letters.options.null_keys = Some(NullKeys::Error);
    let pipeline = world.pipeline(&letters).await;
    world.succeeds(pipeline).await;
    assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
    world.sql("update analytics.by_letter set items = 0 where letter = 'c'").await;
    let found = repair(&world, pipeline, Repair::Differing).await;
    assert_eq!(found["sample"][0]["key"], json!({"letter": "c"}));
    assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_compared_as_the_mart_writes_them_whatever_their_types() {
    let world = World::with_worker().await;
    world
        .sql(
            r#"create type content.mood as enum ('good', 'bad');
               grant usage on schema content to vitrina_mart;
               create table content.odd (a text collate "C", b int, n numeric, j json, x jsonb, m content.mood,
                   p point, v text, t tsvector, tags text[], f real, "o'dd ""name" text, primary key (a, b));
               insert into content.odd values ('k1', 1, 1.26, '{"a": 1}', '{"b": 1.0}', 'good', '(1,2)', 'abc', 'w', '{x,y}', 0.1, 'q'),
                   ('k2', 1, null, null, null, null, null, null, null, null, null, null)"#,
        )
        .await;
    let columns = r#"a text, b bigint, n numeric(6,1), j json, x jsonb, m content.mood, p point, v character varying(5),
                     t tsvector, tags text[], f double precision, "o'dd ""name" text"#;
    world.target("odd", columns, &["a", "b"]).await;
    let query = r#"select a, b, n, j, x, m, p, v, t, tags, f, "o'dd ""name" from content.odd"#;
    let pipeline = world.pipeline(&draft("odd", Mode::Full, query, "analytics.odd", 10)).await;
    world.succeeds(pipeline).await;
    for depth in [Depth::Counts, Depth::Rows] {
        assert_match(&reconcile(&world, pipeline, depth).await);
    }
    world.sql(r#"update analytics.odd set "o'dd ""name" = 'z', x = '{"b": 2}', p = '(3,4)' where a = 'k1'"#).await;
    let found = repair(&world, pipeline, Repair::Differing).await;
    assert_eq!(found["sample"][0]["key"], json!({"a": "k1", "b": "1"}));
    let columns: Vec<_> = found["sample"][0]["columns"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(columns, ["o'dd \"name", "p", "x"]);
    assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pipeline_is_compared_between_its_runs_and_never_in_the_middle_of_one() {
    let mut world = World::new().await;
    world.items(1, 10).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 5)).await;
    let run = world.run(pipeline).await;
    let asked = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Nothing };
    let report = world.ask(pipeline, &asked).await;
    world.start_worker(&[]);
    world.succeeded(run).await;
    assert_match(&world.result(report).await);

    world.sql(&format!("update etl.etl_pipelines set enabled = false where id = '{pipeline}'")).await;
    world.sql("update etl.etl_pipelines set status = 'PAUSED'").await;
    let report = world.ask(pipeline, &asked).await;
    let report = world.reported(report).await;
    assert_eq!((report.status, report.error_class), (ReportStatus::Failed, Some(ErrorClass::Fatal)));
    assert!(report.error.unwrap().contains("paused"));
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_right_however_much_differs() {
    let world = World::with_worker().await;
    world.items(1, 20_000).await;
    let pipeline = world.pipeline(&items("items", Mode::Full, 20_000)).await;
    world.succeeds(pipeline).await;
    for differing in [10_i64, 1_500, 3_000, 6_000, 20_000] {
        world.sql(&format!("update analytics.item set name = name || '!' where id <= {differing}")).await;
        let found = reconcile(&world, pipeline, Depth::Rows).await;
        assert_eq!(differences(&found), [Some(0), Some(0), Some(differing)]);
        assert_eq!((&found["source_rows"], &found["target_rows"]), (&json!(20_000), &json!(20_000)), "{differing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_right_though_the_query_repeats_a_key() {
    let world = World::with_worker().await;
    world.items(1, 5).await;
    world.sql("create table content.genre as select id as item from content.item").await;
    let query = "select i.id, i.name, i.modified from content.item i join content.genre g on g.item = i.id";
    let pipeline = world.pipeline(&draft("joined", Mode::Full, query, "analytics.item", 10)).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.item where id = 5; insert into content.genre values (3)").await;
    for depth in [Depth::Keys, Depth::Rows] {
        let found = reconcile(&world, pipeline, depth).await;
        assert_eq!(differences(&found)[..2], [Some(0), Some(1)]);
        assert_eq!((&found["source_rows"], &found["target_rows"]), (&json!(5), &json!(5)), "{depth:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_not_deterministic_is_said_to_be_so() {
    let world = World::with_worker().await;
    world.items(1, 50).await;
    world.target("unsteady", "id bigint, value text", &["id"]).await;
    for (name, value, because) in [
        ("chance", "random()::text", Some("random()")),
        ("clock", "now()::text", Some("now()")),
        ("words", "current_timestamp::text", Some("the current date or time")),
        ("hidden", "content.tick()", Some("read twice")),
        ("steady", "name", None),
    ] {
        if name == "hidden" {
            // Says of itself that it is steady, and is not.
            world.sql("create function content.tick() returns text language plpgsql stable as $$ begin return clock_timestamp()::text; end $$").await;
        }
        let query = format!("select id, {value} as value from content.item");
        let pipeline = world.pipeline(&draft(name, Mode::Full, &query, "analytics.unsteady", 100)).await;
        world.succeeds(pipeline).await;
        if name == "steady" {
            assert_match(&reconcile(&world, pipeline, Depth::Rows).await);
            world.sql("update analytics.unsteady set value = 'meddled' where id = 7").await;
        }
        let found = reconcile(&world, pipeline, Depth::Rows).await;
        assert_eq!(found["verdict"], "drift", "{name}: {found}");
        match because {
            None => assert_eq!(found["note"], json!(null), "{found}"),
            Some(because) => {
                let note = found["note"].as_str().unwrap_or_default();
                assert!(note.starts_with("the query is not deterministic") && note.contains(because), "{name}: {note}");
            }
        }
    }
}
