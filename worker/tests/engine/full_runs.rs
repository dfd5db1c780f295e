//! Full runs of incremental pipelines: everything is read, what is gone is removed, and the checkpoint that they leave skips
//! nothing.

use serde_json::{Map, json};
use sqlx::Executor;
use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{
        Mode, NullKeys, PipelineDraft, PipelineId, ReportRequest, RunStatus, Status, Task, TaskKind,
        report::{Depth, Repair},
    },
    lifecycle,
};

use crate::support::{ITEMS, TESTER, World, draft, eventually, items};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_of_an_incremental_pipeline_mends_everything_and_leaves_its_checkpoint() {
    for draft in [items("pushed", Mode::Incremental, 70), masked(items("streamed", Mode::Incremental, 70))] {
        let world = World::with_worker().await;
        world.items(1, 300).await;
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        let before = world.checkpoint(pipeline).await;
        // No incremental run would notice any of it.
        world.sql("delete from content.item where id % 100 = 7; update content.item set name = 'x' where id = 8").await;
        world
            .sql("delete from analytics.item where id = 9; insert into analytics.item values (999, 'extra', now())")
            .await;

        let run = world.succeeds_in_full(pipeline).await;

        assert_eq!((run.mode, run.rows_read, run.rows_removed), (Mode::Full, 297, 4), "{}", draft.name);
        assert_eq!(run.checkpoint_to.map(|to| (to.key, to.id)), before);
        assert_eq!(world.checkpoint(pipeline).await, before);
        let expected = if draft.tasks.is_empty() { ITEMS.to_owned() } else { MASKED.to_owned() };
        world.assert_same(&expected, "analytics.item").await;
        assert_eq!(world.succeeds(pipeline).await.rows_read, 0);
        world.sql("update content.item set name = 'new', modified = now() where id = 1").await;
        assert_eq!(world.succeeds(pipeline).await.rows_read, 1);
        world.assert_no_litter().await;
    }
}

/// A transaction is open while the full run walks, and commits behind the walk and behind rows that were read.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_commits_during_a_full_run_is_read_by_the_next_incremental_one() {
    let world = World::with_worker().await;
    world.items(10, 300).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 50)).await;
    world.succeeds(pipeline).await;
    let strangers = world.strangers(1);
    let mut late = strangers.begin().await.unwrap();
    late.execute("insert into content.item values (1, 'late', now())").await.unwrap();
    world.sql("insert into content.item values (1000, 'later', clock_timestamp())").await;

    world.succeeds_in_full(pipeline).await;
    assert_eq!(world.number("select count(*) from analytics.item where id in (1, 1000)").await, 1);
    late.commit().await.unwrap();

    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_walks_by_the_target_s_key_whatever_key_the_pipeline_has() {
    let world = World::with_worker().await;
    world
        .sql("create table content.entry (id bigint primary key, item int not null, name text, serial bigint not null)")
        .await;
    world.sql("insert into content.entry select n, n % 40, 'v' || n, n from generate_series(1, 200) n").await;
    world.target("entry", "item int not null, name text", &["item"]).await;
    let query = "select item, name, serial, id from content.entry";
    let mut numbered = draft("entries", Mode::Incremental, query, "analytics.entry", 30);
    numbered.incremental_key = Some("serial".to_owned());
    let pipeline = world.pipeline(&numbered).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.entry where item < 5; insert into analytics.entry values (77, 'extra')").await;

    let run = world.succeeds_in_full(pipeline).await;

    assert_eq!((run.rows_read, run.rows_removed), (175, 6));
    let newest = "select distinct on (item) item, name from content.entry order by item, serial desc";
    world.assert_same(newest, "analytics.entry").await;
    assert_eq!(world.checkpoint(pipeline).await, Some(("199".to_owned(), Some("199".to_owned()))));
    world.sql("insert into content.entry values (1000, 3, 'new', 1000)").await;
    // Of a key that the user answers for, the last one is read again.
    assert!(world.succeeds(pipeline).await.rows_read <= 2);
    world.assert_same(newest, "analytics.entry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_reads_rows_without_a_key_and_a_source_that_is_empty() {
    let world = World::with_worker().await;
    world.sql("create table content.loose (id int not null, name text, modified timestamptz)").await;
    world.sql("insert into content.loose select n, 'n', case when n > 5 then '2026-01-01'::timestamptz end from generate_series(1, 20) n").await;
    world.target("loose", "id int, name text, modified timestamptz", &["id"]).await;
    let query = "select id, name, modified from content.loose";
    let mut loose = draft("loose", Mode::Incremental, query, "analytics.loose", 3);
    loose.options.null_keys = Some(NullKeys::First);
    let pipeline = world.pipeline(&loose).await;
    assert_eq!(world.succeeds_in_full(pipeline).await.rows_read, 20);
    world.assert_same(query, "analytics.loose").await;
    assert_eq!(world.checkpoint(pipeline).await.map(|(_, id)| id), Some(Some("20".to_owned())));

    world.sql("truncate content.loose").await;
    assert_eq!(world.succeeds_in_full(pipeline).await.rows_removed, 20);
    assert_eq!(world.checkpoint(pipeline).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_pages_by_itself_is_walked_whole_and_swept() {
    let world = World::with_worker().await;
    world.sql("create table content.rating (id int primary key, film int not null, score int not null, modified timestamptz not null)").await;
    world.sql("insert into content.rating select n, n % 30, n % 10, '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 300) n").await;
    world.target("rated", "film int not null, ratings bigint, total bigint", &["film"]).await;
    let query = "
        with changed as (
            select r.film, r.modified, r.id from content.rating r
            where (:after_key::timestamptz is null or (r.modified, r.id) > (:after_key, :after_id)) and r.modified < :upper
            order by r.modified, r.id limit :limit
        ),
        film as (select distinct on (c.film) c.film, c.modified, c.id from changed c order by c.film, c.modified desc, c.id desc)
        select f.film, a.ratings, a.total, f.modified, f.id
        from film f cross join lateral (
            select count(*) as ratings, sum(r.score) as total from content.rating r where r.film = f.film
        ) a";
    let pipeline = world.pipeline(&draft("rated", Mode::Incremental, query, "analytics.rated", 40)).await;
    let expected = "select film, count(*), sum(score) from content.rating group by film";
    world.succeeds(pipeline).await;
    world.assert_same(expected, "analytics.rated").await;
    let before = world.checkpoint(pipeline).await;

    // One film has no ratings any more, another one fewer.
    world.sql("delete from content.rating where film = 3 or id = 34").await;
    assert_eq!(world.succeeds(pipeline).await.rows_read, 0);
    let run = world.succeeds_in_full(pipeline).await;

    assert_eq!((run.rows_removed, run.batches > 5), (1, true));
    world.assert_same(expected, "analytics.rated").await;
    assert_eq!(world.checkpoint(pipeline).await, before);
    assert_eq!(world.succeeds(pipeline).await.rows_read, 0);
}

/// A row was deleted and made anew: the old one still has the value that is unique besides the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_takes_rows_that_were_made_anew_with_a_unique_value_of_old_ones() {
    let world = World::with_worker().await;
    world.items(1, 30).await;
    world.target("slug", "id bigint, name text unique, modified timestamptz", &["id"]).await;
    let pipeline = world.pipeline(&draft("slugs", Mode::Incremental, ITEMS, "analytics.slug", 7)).await;
    world.succeeds(pipeline).await;
    world.sql("update content.item set id = 100 - id where id < 5").await;

    let run = world.succeeds_in_full(pipeline).await;

    assert_eq!((run.rows_read, run.rows_removed), (30, 4));
    world.assert_same(ITEMS, "analytics.slug").await;
    assert_eq!(world.succeeds(pipeline).await.rows_read, 0);
}

/// Values pass to rows of other pages. What is checked at the end of a transaction is checked at the end of a page too.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_passes_on_values_that_are_unique_at_the_end_of_a_transaction_or_when_computed() {
    for (table, columns) in [
        ("deferred", "id bigint, name text unique deferrable initially deferred, modified timestamptz"),
        (
            "own",
            "id bigint, name text unique deferrable initially deferred, modified timestamptz, mine text default 'kept'",
        ),
        (
            "computed",
            "id bigint, name text, modified timestamptz, shout text generated always as (upper(name)) stored unique",
        ),
    ] {
        let world = World::with_worker().await;
        world.items(1, 30).await;
        world.target(table, columns, &["id"]).await;
        let target = format!("analytics.{table}");
        let pipeline = world.pipeline(&draft(table, Mode::Full, ITEMS, &target, 7)).await;
        world.succeeds(pipeline).await;
        world.sql("update content.item set name = 'item ' || id % 30 + 1").await;
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS, &format!("(select id, name, modified from {target}) as rows")).await;
        world.sql("delete from content.item where id = 7; update content.item set id = 7 where id = 21").await;
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS, &format!("(select id, name, modified from {target}) as rows")).await;
    }
}

/// What the narrower query has removed is behind the checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_changed_after_a_full_run_by_it_removed_rows_reads_everything() {
    for in_full_mode in [true, false] {
        let world = World::with_worker().await;
        world.items(1, 50).await;
        let mut wide = items("items", Mode::Incremental, 100);
        wide.options.key_order = None;
        let pipeline = world.pipeline(&wide).await;
        world.succeeds(pipeline).await;
        let mut narrow = wide.clone();
        narrow.source_query = Some(format!("{ITEMS} where id % 2 = 0"));
        if in_full_mode {
            narrow.mode = Mode::Full;
        }
        world.change(pipeline, &narrow).await;
        let run = world.run_as(pipeline, true, true).await.unwrap();
        assert_eq!(world.succeeded(run).await.rows_removed, 25);
        world.change(pipeline, &wide).await;
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS, "analytics.item").await;

        // Nothing was removed since: the checkpoint is kept.
        let mut other = wide.clone();
        other.source_query = Some(format!("{ITEMS} where id > 0"));
        world.change(pipeline, &other).await;
        assert!(world.checkpoint(pipeline).await.is_some());
    }
}

/// The same, whichever pipeline removed them, and whether or not that is still known.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_changed_after_rows_were_removed_by_it_reads_everything_whoever_removed_them() {
    for by in ["a repair", "a run again", "a pipeline that reads alike", "a run that is not kept"] {
        let world = World::with_worker().await;
        world.items(1, 50).await;
        let wide = items("items", Mode::Incremental, 100);
        let pipeline = world.pipeline(&wide).await;
        world.succeeds(pipeline).await;
        let twin = PipelineDraft { name: "twin".to_owned(), ..wide.clone() };
        let mut narrow = wide.clone();
        narrow.source_query = Some(format!("{ITEMS} where id % 2 = 0"));
        world.change(pipeline, &narrow).await;
        match by {
            "a repair" => {
                let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
                assert_eq!(world.report(pipeline, &repair).await["repaired"]["removed"], 25);
            }
            "a run again" => {
                let run = world.succeeds_in_full(pipeline).await.id;
                world.reset(pipeline).await.unwrap();
                world.change(pipeline, &wide).await;
                world.succeeds(pipeline).await;
                world.change(pipeline, &narrow).await;
                let again = lifecycle::run_again(world.db.pool(), run, TESTER).await.unwrap().run.id;
                assert_eq!(world.succeeded(again).await.rows_removed, 25);
            }
            "a pipeline that reads alike" => {
                let twin = PipelineDraft { source_query: narrow.source_query.clone(), ..twin };
                let twin = world.pipeline(&twin).await;
                assert_eq!(world.succeeds_in_full(twin).await.rows_removed, 25);
            }
            _ => {
                assert_eq!(world.succeeds_in_full(pipeline).await.rows_removed, 25);
                world.sql("update etl.etl_runs set rows_removed = 0").await;
            }
        }
        world.change(pipeline, &wide).await;
        assert_eq!(world.checkpoint(pipeline).await, None, "{by}");
        world.succeeds(pipeline).await;
        world.assert_same(ITEMS, "analytics.item").await;
    }
}

impl World {
    async fn change(&self, pipeline: PipelineId, draft: &PipelineDraft) {
        let version = self.show(pipeline).await.version;
        definitions::change(self.db.pool(), pipeline, version, draft, OnCheckpoint::Keep, TESTER).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_that_does_not_succeed_leaves_the_checkpoint_alone() {
    let world = World::with_worker().await;
    world.items(1, 400).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    world.succeeds(pipeline).await;
    let before = world.checkpoint(pipeline).await;
    world.sql("delete from content.item where id > 100").await;

    let run = world.run_as(pipeline, true, false).await.unwrap();
    let run = world.ended(run).await;

    assert_eq!((run.status, run.checkpoint_to), (RunStatus::Failed, None), "{:?}", run.error);
    assert!(run.error.unwrap().starts_with("300 of the 400 rows"));
    assert_eq!(world.checkpoint(pipeline).await, before);
    assert_eq!(world.number("select count(*) from analytics.item").await, 400);

    let run = world.run_as(pipeline, true, true).await.unwrap();
    assert_eq!(world.succeeded(run).await.rows_removed, 300);
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_survives_a_pause_and_is_asked_for_once() {
    let mut world = World::new().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 5)).await;
    let plain = world.run(pipeline).await;
    let refusal = world.run_as(pipeline, true, false).await.unwrap_err().to_string();
    assert!(refusal.contains(&plain.to_string()) && refusal.contains("is not finished"), "{refusal}");
    world.cancel(pipeline).await.unwrap();

    let full = world.run_as(pipeline, true, false).await.unwrap();
    assert_eq!(world.run_as(pipeline, true, false).await.unwrap(), full, "asked for twice");
    world.pause(pipeline).await.unwrap();
    world.start_worker(&[]);
    world.reaches(pipeline, Status::Paused).await;
    assert_eq!(world.run(pipeline).await, full, "resumed");
    let run = world.succeeded(full).await;
    assert_eq!((run.mode, run.rows_read), (Mode::Full, 100));
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.succeeds(pipeline).await.rows_read, 0);
    eventually("no litter", || async {
        world.assert_no_litter().await;
        Some(())
    })
    .await;
}

const MASKED: &str = "select id, repeat('*', length(name)), modified from content.item";

/// The same with a transform: its rows pass through the worker.
fn masked(mut draft: PipelineDraft) -> PipelineDraft {
    let task = |order_index, task_type, body: &str, options: Map<_, _>| Task {
        order_index,
        task_type,
        body: body.to_owned(),
        target_table: None,
        options,
    };
    let options = json!({"columns": ["name"]}).as_object().cloned().unwrap();
    draft.kind = TaskKind::Rust;
    draft.tasks = vec![task(1, TaskKind::Sql, ITEMS, Map::new()), task(2, TaskKind::Rust, "mask", options)];
    draft
}
