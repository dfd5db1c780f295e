//! Keys: what the mart makes of them, what else is unique in it, and which ones are refused.

use serde_json::json;
use vitrina_shared::domain::{
    FullStrategy, Mode, OnRowError, PipelineDraft, ReportRequest,
    report::{Depth, Repair},
};

use crate::{
    samples::{refusal, with_mask},
    support::{World, draft},
};

fn with_strategy(mut draft: PipelineDraft, strategy: Option<FullStrategy>) -> PipelineDraft {
    draft.options.full_strategy = strategy;
    draft
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_type_in_the_mart_is_found_again_and_stale_rows_go() {
    let world = World::with_worker().await;
    world.sql("create table content.film (id uuid primary key, score numeric not null, note text, modified timestamptz default now())").await;
    world.target("by_text", "id text, score text, note text, modified timestamptz", &["id"]).await;
    let query = "select id, score, note, modified from content.film";
    let source = "select id::text, score::text, note from content.film";
    let mart = "(select id, score, note from analytics.by_text) as m";
    let drafts = [
        draft("merged", Mode::Full, query, "analytics.by_text", 2),
        with_strategy(draft("swapped", Mode::Full, query, "analytics.by_text", 2), Some(FullStrategy::Swap)),
        with_mask(draft("streamed", Mode::Full, query, "analytics.by_text", 2)),
    ];
    for draft in drafts {
        world.sql("truncate content.film, analytics.by_text; insert into content.film select md5(n::text)::uuid, n, '*' from generate_series(1, 7) n").await;
        assert_eq!(refusal(&world, &draft).await, None);
        let pipeline = world.pipeline(&draft).await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 7, "{}", draft.name);
        world
            .sql("delete from content.film where score in (2, 5); update content.film set score = 70 where score = 7")
            .await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 1, "{}", draft.name);
        world.assert_same(source, mart).await;
    }
    world.sql("insert into analytics.by_text values ('stale')").await;
    let merged = world.pipeline(&draft("again", Mode::Full, query, "analytics.by_text", 2)).await;
    let compare = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::Differing };
    let found = world.report(merged, &compare).await;
    assert_eq!((&found["extra"], &found["repaired"]["removed"]), (&json!(1), &json!(1)), "{found}");
    world.assert_same(source, mart).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_a_row_are_told_apart_as_the_mart_tells_them_apart() {
    let world = World::with_worker().await;
    world
        .sql("create table content.version (id integer primary key, k numeric not null, modified timestamptz not null)")
        .await;
    world
        .sql("insert into content.version values (1, 1.0, '2026-01-01'), (2, 1.00, '2026-01-02'), (3, 2, '2026-01-03')")
        .await;
    world.target("by_digits", "k text, modified timestamptz", &["k"]).await;
    let query = "select id, k, modified from content.version";
    let pipeline = world.pipeline(&draft("digits", Mode::Incremental, query, "analytics.by_digits", 10)).await;
    world.succeeds(pipeline).await;
    world.assert_same("select k::text from content.version", "(select k from analytics.by_digits) as m").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_written_otherwise_is_written_otherwise_in_the_mart() {
    let world = World::with_worker().await;
    world.sql("create table content.priced (k numeric primary key, note text); insert into content.priced values (1.0, 'a'), (2, 'b')").await;
    world.target("priced", "k numeric, note text", &["k"]).await;
    let query = "select k, note from content.priced";
    for strategy in [FullStrategy::Merge, FullStrategy::Swap] {
        let draft = with_strategy(draft(strategy.as_str(), Mode::Full, query, "analytics.priced", 2), Some(strategy));
        let pipeline = world.pipeline(&draft).await;
        world.succeeds(pipeline).await;
        world.sql("update content.priced set k = case scale(k) when 1 then 1.00 else 1.000 end where k = 1").await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 1, "{strategy}");
        assert_eq!(world.succeeds(pipeline).await.rows_written, 0, "{strategy}");
        world.assert_same("select k::text from content.priced", "(select k::text from analytics.priced) as m").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_which_two_could_become_one_are_refused() {
    let world = World::new().await;
    world
        .sql("create collation content.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        .await;
    world
        .sql(
            "create table content.wide (id integer primary key, n numeric, t text, at timestamptz, v varchar(30),
                                        folded text collate content.any_case, modified timestamptz not null)",
        )
        .await;
    let marts = [
        ("n", "integer", "numeric in the query and integer"),
        ("n", "numeric(10, 2)", "numeric in the query and numeric(10,2)"),
        ("at", "date", "timestamp with time zone in the query and date"),
        ("at", "timestamptz(0)", "timestamp(0) with time zone"),
        ("t", "varchar(20)", "cast it in the query (`t::character varying(20)`)"),
        ("v", "varchar(20)", "character varying(30) in the query and character varying(20)"),
        ("t", "text collate content.any_case", "takes different texts for equal"),
        ("folded", "text", "write `folded collate \"C\"` in the query"),
    ];
    for (place, (key, of, sentence)) in marts.into_iter().enumerate() {
        let table = format!("narrow_{place}");
        world.target(&table, &format!("{key} {of}, id integer"), &[key]).await;
        let query = format!("select id, {key}, modified from content.wide");
        for mode in [Mode::Full, Mode::Incremental] {
            let refused = refusal(&world, &draft("narrow", mode, &query, &format!("analytics.{table}"), 10)).await;
            let refused = refused.unwrap_or_else(|| panic!("{key} as {of} is accepted"));
            assert!(refused.contains(sentence), "{key} as {of}: {refused}");
        }
    }
    // With the cast that the sentence asks for it is the query that makes one of two.
    let query = "select id, t::varchar(20) as t from content.wide";
    assert_eq!(refusal(&world, &draft("cast", Mode::Full, query, "analytics.narrow_4", 10)).await, None);

    world.sql("insert into etl.etl_targets (target, key) values ('es:folded', '{folded}'), ('es:items', '{id}')").await;
    let query = "select id, folded, modified from content.wide";
    let refused = refusal(&world, &draft("index", Mode::Full, query, "es:folded", 10)).await.unwrap();
    assert!(refused.contains("takes different texts for equal"), "{refused}");
    let mut walked = draft("walked", Mode::Incremental, query, "es:items", 10);
    walked.incremental_id_key = Some("folded".to_owned());
    let refused = refusal(&world, &walked).await.unwrap();
    assert!(refused.contains("takes different texts for equal"), "{refused}");
    walked.incremental_id_key = Some("modified".to_owned());
    let refused = refusal(&world, &walked).await.unwrap();
    assert!(refused.contains("it is another column than incremental_key"), "{refused}");
}

/// Before PostgreSQL 18 it would execute with the rights of the service.
#[tokio::test(flavor = "multi_thread")]
async fn a_mart_whose_trigger_is_executed_at_the_commit_is_refused() {
    let world = World::new().await;
    world
        .sql(
            "create table analytics.late (id bigint primary key, name text, modified timestamptz);
             create function public.nothing() returns trigger language plpgsql as 'begin return null; end';
             create constraint trigger at_the_end after insert on analytics.late deferrable initially deferred
                 for each row execute function public.nothing();
             insert into etl.etl_targets (target, key) values ('analytics.late', '{id}')",
        )
        .await;
    let draft = draft("late", Mode::Full, "select id, name, modified from content.item", "analytics.late", 10);
    let refused = refusal(&world, &draft).await.unwrap_or_default();
    assert!(refused.contains("has the trigger `at_the_end`, which is deferrable"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlogged_mart_is_refused() {
    let world = World::new().await;
    world.sql("create unlogged table analytics.gone (id bigint primary key, name text, modified timestamptz)").await;
    world
        .sql(
            "create table analytics.parts (id bigint primary key, name text, modified timestamptz) partition by range (id);
             create unlogged table analytics.part partition of analytics.parts for values from (0) to (1000)",
        )
        .await;
    for table in ["gone", "parts"] {
        world.sql(&format!("insert into etl.etl_targets (target, key) values ('analytics.{table}', '{{id}}')")).await;
        let query = "select id, name, modified from content.item";
        let draft = draft(table, Mode::Full, query, &format!("analytics.{table}"), 10);
        let refused = refusal(&world, &draft).await.unwrap_or_default();
        assert!(refused.contains("is unlogged: a crash of the server empties it"), "{table}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_shares_rows_by_inheritance_is_refused_and_no_row_of_the_other_table_is_removed() {
    let mut world = World::new().await;
    world.items(1, 50).await;
    let mart = "id bigint primary key, name text, modified timestamptz";
    world
        .sql(&format!(
            "create schema private;
             create table analytics.parent ({mart});
             create table analytics.child (primary key (id)) inherits (analytics.parent);
             create table analytics.later ({mart});
             create table analytics.divided ({mart}) partition by range (id);
             create table analytics.division partition of analytics.divided for values from (0) to (1000);
             insert into etl.etl_targets (target, key)
             select 'analytics.' || name, '{{id}}' from unnest('{{parent,child,later,divided,division}}'::text[]) name"
        ))
        .await;
    let query = "select id, name, modified from content.item";
    let of = |table: &str| draft(table, Mode::Full, query, &format!("analytics.{table}"), 10);
    for table in ["parent", "child"] {
        let refused = refusal(&world, &of(table)).await.unwrap_or_default();
        assert!(refused.contains("shares its rows with another table by inheritance"), "{table}: {refused}");
    }
    for table in ["later", "divided", "division"] {
        assert_eq!(refusal(&world, &of(table)).await, None, "{table}");
    }
    let pipeline = world.pipeline(&of("later")).await;
    world.sql("create table private.payroll (secret text) inherits (analytics.later)").await;
    world.sql("insert into private.payroll select n, 'n', now(), 's' from generate_series(1001, 1020) n").await;
    world.start_worker(&[]);
    let error = world.fails(pipeline).await.error.unwrap();
    assert!(error.contains("no inherit"), "{error}");
    assert_eq!(world.number("select count(*) from private.payroll").await, 20);
}

/// Films whose slug is unique besides their key.
async fn with_slugs(world: &World) {
    world.sql("create table content.page (id integer primary key, slug text, note text); insert into content.page select n, 'slug ' || n, '*' from generate_series(1, 9) n").await;
    world.target("page", "id integer, slug text unique, note text", &["id"]).await;
}

const PAGES: &str = "select id, slug, note from content.page";

/// The server compares no two texts of different collations by itself.
#[tokio::test(flavor = "multi_thread")]
async fn stale_rows_go_though_the_mart_orders_its_key_otherwise_than_the_source() {
    let world = World::with_worker().await;
    world.sql(r#"create domain content.code as text collate "C"; grant usage on type content.code to public"#).await;
    for (n, from) in [r#"text collate "C""#, "content.code", "name"].into_iter().enumerate() {
        world.sql(&format!("create table content.coded{n} (k {from} primary key, v int not null)")).await;
        world.sql(&format!("insert into content.coded{n} select 'k' || n, n from generate_series(1, 20) n")).await;
        world.target(&format!("coded{n}"), r#"k text collate "POSIX" not null, v int"#, &["k"]).await;
        let query = format!("select k, v from content.coded{n}");
        let target = format!("analytics.coded{n}");
        let pipeline = world.pipeline(&draft(&format!("coded{n}"), Mode::Full, &query, &target, 7)).await;
        world.succeeds(pipeline).await;
        world.sql(&format!("delete from content.coded{n} where v = 5")).await;

        assert_eq!(world.succeeds(pipeline).await.rows_removed, 1, "{from}");
        assert_eq!(world.number(&format!("select count(*) from {target} where v <> 5")).await, 19, "{from}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_value_passes_from_one_row_to_another() {
    let world = World::with_worker().await;
    with_slugs(&world).await;
    let pages = |name: &str| draft(name, Mode::Full, PAGES, "analytics.page", 2);
    for draft in [pages("plain"), with_strategy(pages("swap"), Some(FullStrategy::Swap)), with_mask(pages("streamed"))]
    {
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
    let merged = with_strategy(pages("merged"), Some(FullStrategy::Merge));
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
    let refused = refusal(&world, &with_strategy(pages, Some(FullStrategy::Merge))).await.unwrap_or_default();
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

/// Whoever puts rows aside gets to know which, though the mart looks at them when the transaction ends.
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

/// An upsert would take the deferrable one for meant too.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_unique_twice_and_once_deferrable_is_refused() {
    let world = World::new().await;
    with_slugs(&world).await;
    world.target("twice", "id integer, slug text, note text, unique (id) deferrable", &["id"]).await;
    let refused = refusal(&world, &draft("twice", Mode::Full, PAGES, "analytics.twice", 2)).await.unwrap_or_default();
    assert!(refused.contains("deferrable"), "{refused}");
}

/// The repair compares keys as runs do.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_finds_rows_whose_key_the_mart_orders_otherwise_than_the_source() {
    let world = World::with_worker().await;
    world.sql("create table content.coded (k text primary key, slug text); insert into content.coded select 'k' || n, 's' || n from generate_series(1, 9) n").await;
    world.target("coded", r#"k text collate "POSIX", slug text unique"#, &["k"]).await;
    let query = "select k, slug from content.coded";
    let pipeline = world.pipeline(&draft("coded", Mode::Full, query, "analytics.coded", 20)).await;
    world.succeeds(pipeline).await;
    world.sql("delete from content.coded where k = 'k1'; update content.coded set slug = 's1' where k = 'k2'").await;
    let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
    assert_eq!(world.report(pipeline, &repair).await["repaired"], json!({"written": 1, "removed": 1}));
    world.assert_same(query, "analytics.coded").await;
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
