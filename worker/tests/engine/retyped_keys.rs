//! Columns that runs walk by, and what becomes of a run or a checkpoint when they change or their table is replaced.

use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{Mode, PipelineId, RunId, RunStatus, Status},
};

use crate::support::{TESTER, World, draft, eventually};

/// A column of keys that is retyped, and what its keys are then.
const RETYPED: [&str; 3] = ["date", "timestamptz(0)", "timestamptz(1)"];
const MANY: i64 = 2_000;
const ITEMS_QUERY: &str = "select id, name, modified from content.item";

/// A pipeline in the middle of its first run, of rows that are a fraction of a second apart.
async fn in_the_middle() -> (World, PipelineId, RunId) {
    let world = World::with_worker().await;
    world
        .sql(&format!(
            "insert into content.item
             select n, 'n', '2026-01-01 23:55:00+00'::timestamptz + ((n * 37) % {}) * interval '170 ms'
             from generate_series(1, {MANY}) n",
            MANY + 1
        ))
        .await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, ITEMS_QUERY, "analytics.item", 3)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
    (world, pipeline, run)
}

async fn retype(world: &World, type_name: &str) {
    world.sql(&format!("alter table content.item alter modified type {type_name}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_rested_while_its_key_was_retyped_fails_and_the_next_one_reads_everything() {
    for type_name in RETYPED {
        let (world, pipeline, run) = in_the_middle().await;
        world.pause(pipeline).await.unwrap();
        world.reaches(pipeline, Status::Paused).await;
        assert!(world.number("select count(*) from analytics.item").await < MANY);
        retype(&world, type_name).await;
        assert_eq!(world.run(pipeline).await, run);
        let ended = world.ended(run).await;
        assert_eq!(ended.status, RunStatus::Failed);
        let error = ended.error.unwrap();
        assert!(error.contains("whose type was timestamp with time zone, bigint when it began and is"), "{error}");
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS_QUERY, "analytics.item").await;
        assert_eq!(world.succeeds(pipeline).await.checkpoint_from.map(|from| from.id.is_some()), Some(true));
    }
}

/// The worker has looked at the source a moment ago, and does not look again for every run.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_of_a_key_that_was_retyped_since_is_not_gone_on_from() {
    for type_name in RETYPED {
        let (world, pipeline, run) = in_the_middle().await;
        world.cancel(pipeline).await.unwrap();
        assert_eq!(world.ended(run).await.status, RunStatus::Cancelled);
        assert!(world.number("select count(*) from analytics.item").await < MANY);
        retype(&world, type_name).await;
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS_QUERY, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_retyped_between_two_batches_of_a_run_loses_nothing() {
    for type_name in RETYPED {
        let (world, pipeline, run) = in_the_middle().await;
        retype(&world, type_name).await;
        assert_eq!(world.ended(run).await.status, RunStatus::Failed);
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS_QUERY, "analytics.item").await;
    }
}

/// The order of its keys is another one, and their type is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_collation_is_changed_between_two_batches_of_a_run_loses_nothing() {
    for mode in [Mode::Full, Mode::Incremental] {
        let world = World::with_worker().await;
        world
            .sql(&format!(
                r#"create table content.coded (code text collate "C" primary key, modified date not null);
                   insert into content.coded
                   select case when n % 2 = 0 then 'a' else 'B' end || to_char(n, 'fm00000'), '2026-01-01'
                   from generate_series(1, {MANY}) n"#
            ))
            .await;
        world.target("coded", "code text, modified date", &["code"]).await;
        let query = "select code, modified from content.coded";
        let mut coded = draft("coded", mode, query, "analytics.coded", 3);
        if mode == Mode::Incremental {
            coded.incremental_id_key = Some("code".to_owned());
        }
        let pipeline = world.pipeline(&coded).await;
        let run = world.run(pipeline).await;
        eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
        world.sql(r#"alter table content.coded alter code type text collate "en-x-icu""#).await;
        let ended = world.ended(run).await;
        assert_eq!(ended.status, RunStatus::Failed, "{mode}");
        assert!(ended.error.as_ref().unwrap().contains("when it began and is"), "{:?}", ended.error);
        world.succeeds(pipeline).await;
        world.assert_same(query, "analytics.coded").await;
    }
}

/// Sources are built beside and renamed, in the middle of runs too.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_over_a_table_that_took_the_place_of_its_own_with_the_same_types() {
    let anew =
        "create table content.anew (like content.item including all); insert into content.anew table content.item;
                drop table content.item; alter table content.anew rename to item";
    for rests in [false, true] {
        let (world, pipeline, run) = in_the_middle().await;
        if rests {
            world.pause(pipeline).await.unwrap();
            world.reaches(pipeline, Status::Paused).await;
        }
        world.sql(anew).await;
        if rests {
            assert_eq!(world.run(pipeline).await, run);
        }
        world.succeeded(run).await;
        world.assert_same(ITEMS_QUERY, "analytics.item").await;
    }

    // A checkpoint of one table, and a query over another one.
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let items = draft("items", Mode::Incremental, ITEMS_QUERY, "analytics.item", 3);
    let pipeline = world.pipeline(&items).await;
    world.succeeds(pipeline).await;
    world.sql("create table content.other (like content.item including all)").await;
    let mut other = items.clone();
    other.source_query = Some("select id, name, modified from content.other".to_owned());
    let version = world.show(pipeline).await.version;
    definitions::change(world.db.pool(), pipeline, version, &other, OnCheckpoint::Keep, TESTER).await.unwrap();
    world
        .sql(&format!(
            "insert into content.other
             select n, 'other', '2026-02-01'::timestamptz + n * interval '1 s' from generate_series(101, {MANY}) n"
        ))
        .await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 5).then_some(()) }).await;
    world.sql("drop table content.item").await;
    assert_eq!(world.succeeded(run).await.attempts, 0);
    assert_eq!(world.number("select count(*) from analytics.item").await, 20 + MANY - 100);
}

/// A table that is made anew has other numbers in the catalog, and the same keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_made_anew_with_the_same_types_is_gone_on_with() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let pipeline = world.pipeline(&draft("items", Mode::Incremental, ITEMS_QUERY, "analytics.item", 50)).await;
    world.succeeds(pipeline).await;
    world
        .sql("alter table content.item rename to old; create table content.item (like content.old including all)")
        .await;
    world.items(15, 40).await;
    let run = world.succeeds(pipeline).await;
    assert!(run.checkpoint_from.is_some() && run.rows_read < 25, "it began at the first row: {run:?}");
    assert_eq!(world.number("select count(*) from analytics.item").await, 40);
    world.items(41, 50).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 10);
}
