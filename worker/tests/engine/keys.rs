//! Keys: what the mart makes of them, and which ones are refused.

use serde_json::json;
use vitrina_shared::domain::{
    FullStrategy, Mode, ReportRequest,
    report::{Depth, Repair},
};

use crate::{
    samples::{refusal, with_mask, with_strategy},
    support::{World, draft},
};

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
        with_strategy(draft("swapped", Mode::Full, query, "analytics.by_text", 2), FullStrategy::Swap),
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
        let draft = with_strategy(draft(strategy.as_str(), Mode::Full, query, "analytics.priced", 2), strategy);
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
