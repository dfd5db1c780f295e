//! Values that are unique in a mart besides its key: they pass from row to row, and a row that keeps one is put aside.

use serde_json::json;
use vitrina_shared::domain::{
    FullStrategy, Mode, OnRowError, ReportRequest,
    report::{Depth, Repair},
};

use crate::{
    samples::{refusal, with_mask, with_strategy},
    support::{World, draft},
};

/// Films whose slug is unique besides their key.
async fn with_slugs(world: &World) {
    world.sql("create table content.page (id integer primary key, slug text, note text); insert into content.page select n, 'slug ' || n, '*' from generate_series(1, 9) n").await;
    world.target("page", "id integer, slug text unique, note text", &["id"]).await;
}

const PAGES: &str = "select id, slug, note from content.page";

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_value_passes_from_one_row_to_another() {
    let world = World::with_worker().await;
    with_slugs(&world).await;
    let pages = |name: &str| draft(name, Mode::Full, PAGES, "analytics.page", 2);
    for draft in [pages("plain"), with_strategy(pages("swap"), FullStrategy::Swap), with_mask(pages("streamed"))] {
        assert_eq!(refusal(&world, &draft).await, None, "{}", draft.name);
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        for change in [
            // Made anew, before and behind its place.
            "delete from content.page where id = 3; insert into content.page values (13, 'slug 3', '*')",
            "delete from content.page where id = 13; insert into content.page values (3, 'slug 3', '*')",
            // Exchanged, and passed on in a circle.
            "update content.page set slug = case id when 1 then 'slug 9' else 'slug 1' end where id in (1, 9)",
            "update content.page set slug = 'slug ' || id % 9 + 1",
            "update content.page set slug = 'slug ' || id",
        ] {
            world.sql(change).await;
            world.succeeds(pipeline).await;
            world.assert_same(PAGES, "analytics.page").await;
        }
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{}", draft.name);
    }
    let merged = with_strategy(pages("merged"), FullStrategy::Merge);
    let refused = refusal(&world, &merged).await.unwrap_or_default();
    assert!(refused.contains("has the unique index `page_slug_key` besides its key"), "{refused}");
    let mut letters = merged;
    letters.options.on_row_error = Some(OnRowError::DeadLetter);
    assert_eq!(refusal(&world, &letters).await, None, "a row that is refused is put aside");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_unique_in_one_partition_passes_from_one_row_to_another() {
    let world = World::with_worker().await;
    world.sql("create table content.page (id integer primary key, slug text, note text); insert into content.page select n, 'slug ' || n, '*' from generate_series(1, 9) n").await;
    world
        .sql(
            "create table analytics.page (id integer primary key, slug text, note text) partition by range (id);
             create table analytics.page_a partition of analytics.page for values from (0) to (100);
             create unique index page_a_slug on analytics.page_a (slug);
             insert into etl.etl_targets (target, key) values ('analytics.page', '{id}')",
        )
        .await;
    let pages = draft("pages", Mode::Full, PAGES, "analytics.page", 2);
    let pipeline = world.pipeline(&pages).await;
    world.succeeds(pipeline).await;
    world.sql("update content.page set slug = case id when 1 then 'slug 9' else 'slug 1' end where id in (1, 9)").await;
    world.succeeds(pipeline).await;
    world.assert_same(PAGES, "analytics.page").await;
    let refused = refusal(&world, &with_strategy(pages, FullStrategy::Merge)).await.unwrap_or_default();
    assert!(refused.contains("has the unique index `page_a_slug` besides its key"), "{refused}");
}

/// What the mart has given a row stays its own, and so does what refers to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_numbered_by_the_mart_or_referred_to_is_never_removed_and_written_anew() {
    for (number, written) in [("bigint generated always as identity", ""), ("integer", "id as sk, ")] {
        let world = World::with_worker().await;
        with_slugs(&world).await;
        world
            .target("dim", &format!("sk {number} primary key, id integer, slug text unique, note text"), &["id"])
            .await;
        world
            .sql("create table analytics.fact (sk bigint references analytics.dim (sk) on delete cascade, n integer)")
            .await;
        let query = format!("select {written}id, slug, note from content.page");
        let pipeline = world.pipeline(&draft("dims", Mode::Full, &query, "analytics.dim", 4)).await;
        world.succeeds(pipeline).await;
        world.sql("insert into analytics.fact select sk, id from analytics.dim").await;
        let facts = "select count(*) from analytics.fact f join analytics.dim d on d.sk = f.sk and d.id = f.n";
        let dims = "(select id, slug, note from analytics.dim) as dims";

        world.sql("update content.page set slug = 'new' where id = 1").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 1, "{number}");
        world.assert_same(PAGES, dims).await;
        world.sql("update analytics.dim set note = 'drift' where id in (2, 3); update content.page set slug = 'newer' where id = 4").await;
        let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
        assert_eq!(world.report(pipeline, &repair).await["repaired"], json!({"written": 3, "removed": 0}));
        world.assert_same(PAGES, dims).await;
        assert_eq!(world.number(facts).await, 9, "{number}");

        // Two rows that exchange values cannot be written one after the other.
        world
            .sql("update content.page set slug = case id when 8 then 'slug 9' else 'slug 8' end where id in (8, 9)")
            .await;
        let error = world.fails(pipeline).await.error.unwrap();
        assert!(error.contains("not removed and written anew") && error.contains("deferrable"), "{error}");
        let report = world.ask(pipeline, &repair).await;
        let error = world.reported(report).await.error.unwrap();
        assert!(error.starts_with("nothing was repaired") && error.contains("deferrable"), "{error}");
        assert_eq!(world.number(facts).await, 9, "{number}");
        world.sql("alter table analytics.dim drop constraint dim_slug_key, add unique (slug) deferrable initially deferred").await;
        world.succeeds(pipeline).await;
        world.assert_same(PAGES, dims).await;
        assert_eq!(world.number(facts).await, 9, "{number}");
    }
}

/// A repair removes only rows whose unique values change.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_leaves_rows_whose_unique_values_are_right_where_they_are() {
    let world = World::with_worker().await;
    with_slugs(&world).await;
    let pipeline = world.pipeline(&draft("pages", Mode::Full, PAGES, "analytics.page", 20)).await;
    world.succeeds(pipeline).await;
    world
        .sql(
            "create table analytics.gone (id integer);
             create function analytics.note() returns trigger language plpgsql security definer as
             $$ begin insert into analytics.gone values (old.id); return old; end $$;
             create trigger note before delete on analytics.page for each row execute function analytics.note();
             update analytics.page set note = 'drift' where id in (2, 3);
             update content.page set slug = case id when 8 then 'slug 9' else 'slug 8' end where id in (8, 9)",
        )
        .await;
    let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
    assert_eq!(world.report(pipeline, &repair).await["repaired"], json!({"written": 4, "removed": 0}));
    world.assert_same(PAGES, "analytics.page").await;
    let gone = world.text("select string_agg(id::text, ' ' order by id) from analytics.gone").await;
    assert_eq!(gone.as_deref(), Some("8 9"));
}

/// Dead letters name the refused rows, though the mart checks them when the transaction ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_refused_at_the_end_of_a_transaction_is_put_aside() {
    let world = World::with_worker().await;
    with_slugs(&world).await;
    world.target("late", "id integer, slug text unique deferrable initially deferred, note text", &["id"]).await;
    let letters = |name: &str, query: &str, target: &str| {
        let mut draft = draft(name, Mode::Full, query, target, 2);
        draft.options.on_row_error = Some(OnRowError::DeadLetter);
        draft
    };
    for draft in [letters("late", PAGES, "analytics.late"), with_mask(letters("streamed", PAGES, "analytics.late"))] {
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        // The first one comes too early, and waits for the next run.
        world
            .sql("update content.page set slug = case id when 1 then 'slug 9' else 'new' end where id in (1, 9)")
            .await;
        assert_eq!(world.succeeds(pipeline).await.rows_rejected, 1, "{}", draft.name);
        assert_eq!(world.succeeds(pipeline).await.rows_rejected, 0, "{}", draft.name);
        world.assert_same(PAGES, "analytics.late").await;
        world.sql("update content.page set slug = 'slug 5' where id = 6").await;
        assert_eq!(world.succeeds(pipeline).await.rows_rejected, 1, "{}", draft.name);
        let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
        let outcomes = replayed["letters"].as_array().unwrap().iter().map(|letter| &letter["outcome"]);
        assert_eq!(outcomes.filter(|outcome| *outcome == "refused").count(), 1, "{replayed}");
        world.sql("update content.page set slug = 'slug ' || id").await;
        world.sql("delete from analytics.late").await;
        world.succeeds(pipeline).await;
        world.assert_same(PAGES, "analytics.late").await;
    }
    world.target("tree", "id integer, parent integer", &["id"]).await;
    world.sql("alter table analytics.tree add foreign key (parent) references analytics.tree (id) deferrable initially deferred").await;
    let query = "select id, case id when 7 then 999 end as parent from content.page";
    let pipeline = world.pipeline(&letters("tree", query, "analytics.tree")).await;
    assert_eq!(world.succeeds(pipeline).await.rows_rejected, 1);
    assert_eq!(world.number("select count(*) from analytics.tree").await, 8);

    let strict = draft("strict", Mode::Full, PAGES, "analytics.late", 50);
    let pipeline = world.pipeline(&with_mask(strict)).await;
    world.sql("update content.page set slug = 'slug 5' where id = 6").await;
    let error = world.fails(pipeline).await.error.unwrap();
    assert!(error.starts_with("a constraint of the mart that is checked at the end of a transaction"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_makes_room_before_it_writes() {
    let world = World::with_worker().await;
    with_slugs(&world).await;
    let pipeline = world.pipeline(&draft("pages", Mode::Full, PAGES, "analytics.page", 20)).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.page where id = 3; insert into content.page values (13, 'slug 3', '*')").await;
    let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    assert_eq!(world.report(pipeline, &repair).await["repaired"], json!({"written": 1, "removed": 1}));
    world.assert_same(PAGES, "analytics.page").await;
}

/// An upsert would take the deferrable one for meant too.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_unique_twice_and_once_deferrable_is_refused() {
    let world = World::new().await;
    with_slugs(&world).await;
    world.target("twice", "id integer, slug text, note text, unique (id) deferrable", &["id"]).await;
    let refused = refusal(&world, &draft("twice", Mode::Full, PAGES, "analytics.twice", 2)).await.unwrap_or_default();
    assert!(refused.contains("deferrable"), "{refused}");
}
