//! Incremental and full runs: afterwards the mart equals the source.

use vitrina_shared::domain::{Mode, RunStatus, Task, TaskKind};

use crate::support::{ITEMS, World, draft, eventually, items};

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_run_copies_everything_in_pages_and_a_second_one_writes_nothing() {
    let world = World::with_worker().await;
    world.items(1, 1050).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;

    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.batches), (1050, 1050, 11));
    assert_eq!(run.checkpoint_to.unwrap().id.as_deref(), Some("1050"));
    world.assert_same(ITEMS, "analytics.item").await;

    let again = world.succeeds(pipeline).await;
    assert_eq!((again.rows_read, again.rows_written), (0, 0));
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_run_reads_only_what_changed() {
    let world = World::with_worker().await;
    world.items(1, 500).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 100)).await;
    world.succeeds(pipeline).await;

    world.sql("update content.item set name = 'changed', modified = '2026-02-01' where id % 100 = 0").await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written), (5, 5));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_source_makes_an_empty_mart() {
    let world = World::with_worker().await;
    let incremental = world.pipeline(&items("incremental", Mode::Incremental, 100)).await;
    let run = world.succeeds(incremental).await;
    assert_eq!((run.rows_read, run.batches, run.checkpoint_to), (0, 1, None));

    world.sql("insert into analytics.item values (1, 'stale', now())").await;
    let full = world.pipeline(&items("full", Mode::Full, 100)).await;
    world.succeeds(full).await;
    assert_eq!(world.number("select count(*) from analytics.item").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_rows_with_one_timestamp_are_told_apart_by_their_id() {
    let world = World::with_worker().await;
    world
        .sql("insert into content.item select n, 'n', '2026-01-01 00:00:00.000001' from generate_series(1, 3000) n")
        .await;
    world
        .sql("insert into content.item select n, 'n', '2026-01-01 00:00:00.000002' from generate_series(3001, 6000) n")
        .await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 271)).await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written), (6000, 6000));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_page_cannot_tell_apart_are_never_cut_apart() {
    let world = World::with_worker().await;
    world.sql("create table content.version (id int not null, part int not null, modified timestamptz not null)").await;
    world.sql("insert into content.version select n / 7, n, '2026-01-01' from generate_series(1, 1000) n").await;
    world.target("version", "id int not null, part int not null, modified timestamptz", &["id", "part"]).await;
    let query = "select id, part, modified from content.version";
    let pipeline = world.pipeline(&draft("versions", Mode::Incremental, query, "analytics.version", 10)).await;
    assert_eq!(world.succeeds(pipeline).await.rows_read, 1000);
    world.assert_same(query, "analytics.version").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn composite_keys_work_in_both_modes() {
    let world = World::with_worker().await;
    world.sql("create table content.link (film int, person int, role text not null, modified timestamptz not null, id int not null)").await;
    world.sql("insert into content.link select n % 17, n % 29, 'r' || n, '2026-01-01'::timestamptz + n % 5 * interval '1 s', n
               from generate_series(1, 493) n").await;
    let columns = "film int, person int, role text, modified timestamptz, id int";
    world.target("link", columns, &["person", "film"]).await;
    world.target("link_full", columns, &["film", "person"]).await;
    let query = "select film, person, role, modified, id from content.link";
    let incremental = world.pipeline(&draft("i", Mode::Incremental, query, "analytics.link", 40)).await;
    let full = world.pipeline(&draft("f", Mode::Full, query, "analytics.link_full", 40)).await;
    for _ in 0..2 {
        world.succeeds(incremental).await;
        world.succeeds(full).await;
        world.assert_same(query, "analytics.link").await;
        world.assert_same(query, "analytics.link_full").await;
        world.sql("update content.link set role = role || '!', modified = '2026-03-01' where id % 10 = 0").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_whose_key_goes_backwards_is_read_by_a_lookback_or_after_a_reset() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let plain = world.pipeline(&items("plain", Mode::Incremental, 30)).await;
    world.succeeds(plain).await;

    // Ten seconds before the checkpoint.
    world.sql("update content.item set name = 'older', modified = '2026-01-01 00:01:30' where id = 100").await;
    assert_eq!(world.succeeds(plain).await.rows_read, 0);

    let mut looking_back = items("back", Mode::Incremental, 30);
    looking_back.options.lookback_seconds = Some(20);
    let looking_back = world.pipeline(&looking_back).await;
    world
        .sql(
            "insert into etl.etl_state select p.id, s.checkpoint_key, s.checkpoint_id, s.run_id, s.batch, now()
               from etl.etl_state s, etl.etl_pipelines p where p.name = 'back'",
        )
        .await;
    let run = world.succeeds(looking_back).await;
    assert_eq!((run.rows_read, run.rows_written), (21, 1));
    world.assert_same(ITEMS, "analytics.item").await;

    world.sql("update content.item set name = 'oldest', modified = '2020-01-01' where id = 1").await;
    world.reset(plain).await.unwrap();
    let run = world.succeeds(plain).await;
    assert_eq!((run.rows_read, run.rows_written), (100, 1));
    world.assert_same(ITEMS, "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_of_several_rows_for_one_key_wins() {
    let world = World::with_worker().await;
    world.sql("create table content.event (id int not null, item int not null, name text not null, modified timestamptz not null)").await;
    world
        .sql(
            "insert into content.event select n, n % 10, 'v' || n, '2026-01-01'::timestamptz + n / 3 * interval '1 s'
               from generate_series(1, 200) n",
        )
        .await;
    world.target("latest", "item int, name text", &["item"]).await;
    let query = "select item, name, id, modified from content.event";
    for batch_size in [1000, 7] {
        world.sql("truncate analytics.latest").await;
        let name = format!("latest{batch_size}");
        let pipeline = world.pipeline(&draft(&name, Mode::Incremental, query, "analytics.latest", batch_size)).await;
        world.succeeds(pipeline).await;
        world
            .assert_same(
                "select distinct on (item) item, name from content.event order by item, id desc",
                "analytics.latest",
            )
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_of_key_is_walked_exactly() {
    let world = World::with_worker().await;
    let kinds = [
        ("timestamptz", "'2026-01-01'::timestamptz + n / 3 * interval '1 microsecond'"),
        ("date", "'2026-01-01'::date + n / 3"),
        ("smallint", "n / 3"),
        ("int", "n / 3 - 100"),
        ("bigint", "9007199254740993 + n / 3"),
        ("numeric", "123456789012345678901234567890.000000000000000000001 + n / 3"),
        ("uuid", "md5((n / 3)::text)::uuid"),
        ("text", "E'k\\'\\\\é ' || n / 3"),
        ("varchar(40)", "'k' || n / 3"),
        ("timestamptz(3)", "'2026-01-01'::timestamptz + n / 3 * interval '1 millisecond'"),
        ("numeric(30,10)", "n / 3.0"),
        // Its order is another than the database's own.
        (r#"text collate "und-x-icu""#, "case n % 2 when 0 then upper(md5((n / 3)::text)) else md5((n / 3)::text) end"),
    ];
    for (place, (kind, value)) in kinds.iter().enumerate() {
        let ids = if place % 2 == 0 { ("uuid", "md5('id' || n)::uuid") } else { ("text", "'i' || n") };
        world
            .sql(&format!(
                "create table content.k{place} (id {id} not null primary key, name text, modified {kind} not null);
             insert into content.k{place} select {id_value}, 'n' || n, {value} from generate_series(1, 300) n",
                id = ids.0,
                id_value = ids.1,
            ))
            .await;
        world.target(&format!("k{place}"), &format!("id {}, name text, modified {kind}", ids.0), &["id"]).await;
        let query = format!("select id, name, modified from content.k{place}");
        let table = format!("analytics.k{place}");
        let pipeline = world.pipeline(&draft(&format!("k{place}"), Mode::Incremental, &query, &table, 23)).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written), (300, 300), "{kind}");
        world.assert_same(&query, &table).await;
        // Of keys that the user answers for, those that are equal to the last one are read again.
        let ties = if kind.starts_with("timestamptz") || *kind == "date" { 0..=0 } else { 1..=3 };
        let again = world.succeeds(pipeline).await;
        assert!(ties.contains(&again.rows_read) && again.rows_written == 0, "{kind}: {again:?}");
        let full = world.pipeline(&draft(&format!("f{place}"), Mode::Full, &query, &table, 23)).await;
        assert_eq!(world.succeeds(full).await.rows_written, 0, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_with_one_query_wins_over_the_pipelines_own() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let mut planned = items("planned", Mode::Full, 7);
    planned.source_query = Some("select id, 'wrong' as name, modified from content.item".to_owned());
    planned.tasks = vec![Task {
        order_index: 1,
        task_type: TaskKind::Sql,
        body: ITEMS.to_owned(),
        target_table: None,
        options: serde_json::Map::new(),
    }];
    let pipeline = world.pipeline(&planned).await;
    world.succeeds(pipeline).await;
    world.assert_same(ITEMS, "analytics.item").await;
}

/// Films whose ratings changed, recomputed and nothing else.
/// The demo's `film_rating_agg`.
const SELF_PAGING: &str = "
    with changed as (
        select r.film_id, r.modified, r.id from ugc.ratings r
        where (:after_key::timestamptz is null or (r.modified, r.id) > (:after_key, :after_id)) and r.modified < :upper
        order by r.modified, r.id limit :limit
    ), film as (
        select distinct on (c.film_id) c.film_id, c.modified, c.id as rating_id from changed c
        order by c.film_id, c.modified desc, c.id desc
    ), due as (
        select f.* from film f
        where not exists (
            select from ugc.ratings later
            where later.film_id = f.film_id and (later.modified, later.id) > (f.modified, f.rating_id)
              and later.modified < :upper
        ) or f.rating_id = (select c.id from changed c order by c.modified desc, c.id desc limit 1)
    )
    select d.film_id, a.avg_rating, a.rating_count, d.modified, d.rating_id
    from due d cross join lateral (
        select round(avg(r.score), 2) as avg_rating, count(*) as rating_count from ugc.ratings r where r.film_id = d.film_id
    ) a";

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_pages_by_itself_recomputes_what_changed() {
    let world = World::with_worker().await;
    world
        .sql(
            "create table ugc.ratings (id bigint primary key generated by default as identity, film_id uuid not null,
                   score int not null, modified timestamptz not null default now());
               insert into ugc.ratings (film_id, score, modified)
               select md5((n % 97)::text)::uuid, n % 10 + 1, '2026-01-01'::timestamptz + n / 4 * interval '1 s'
               from generate_series(1, 5000) n",
        )
        .await;
    let mut ratings = draft("ratings", Mode::Incremental, SELF_PAGING, "analytics.film_rating_agg", 100);
    ratings.incremental_id_key = Some("rating_id".to_owned());
    let pipeline = world.pipeline(&ratings).await;
    let run = world.succeeds(pipeline).await;
    // Every film once, and besides the last one of each of the 50 pages.
    assert_eq!(run.batches, 51);
    assert!((97..97 + 50).contains(&run.rows_read), "{} films were computed", run.rows_read);
    let all = "select film_id, round(avg(score), 2)::numeric(4, 2), count(*) from ugc.ratings group by film_id";
    world.assert_same(all, "analytics.film_rating_agg").await;

    world
        .sql(
            "insert into ugc.ratings (film_id, score) select md5((n % 3)::text)::uuid, 1 from generate_series(1, 30) n",
        )
        .await;
    let run = world.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written), (3, 3));
    world.assert_same(all, "analytics.film_rating_agg").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_somebody_set_by_hand_is_picked_up() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 7)).await;
    world.sql("update etl.etl_pipelines set status = 'RUN_REQUESTED' where name = 'items'").await;
    let run = crate::support::eventually("a run", || async {
        world.text("select id from etl.etl_runs where status = 'SUCCESS'").await
    });
    run.await;
    world.reaches(pipeline, vitrina_shared::domain::Status::Idle).await;
    world.assert_same(ITEMS, "analytics.item").await;
    assert_eq!(world.text("select trigger from etl.etl_runs").await.as_deref(), Some("RECOVERY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_fill_themselves_are_left_alone() {
    let world = World::with_worker().await;
    world.items(1, 50).await;
    world.target(
        "rich",
        "no bigint generated always as identity, id bigint, name text, loud text generated always as (upper(name)) stored,
         seen int not null default 7, nothing text",
        &["id"],
    )
    .await;
    // `modified` is only for walking.
    for mode in [Mode::Incremental, Mode::Full] {
        world.sql("truncate analytics.rich").await;
        let query = if mode == Mode::Incremental { ITEMS } else { "select id, name from content.item" };
        let pipeline = world.pipeline(&draft(mode.as_str(), mode, query, "analytics.rich", 20)).await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 50);
        let expected = "select id, name, upper(name), 7, null::text from content.item";
        world.assert_same(expected, "(select id, name, loud, seen, nothing from analytics.rich) as r").await;
        world
            .sql("update content.item set name = name || '!', modified = modified + interval '1 h' where id > 45")
            .await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 5);
        world.assert_same(expected, "(select id, name, loud, seen, nothing from analytics.rich) as r").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn run_again_repeats_a_run_from_where_it_began() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    let pipeline = world.pipeline(&items("items", Mode::Incremental, 30)).await;
    let first = world.succeeds(pipeline).await;
    world.sql("delete from analytics.item where id % 2 = 0").await;
    let cause = crate::support::TESTER;
    let again = vitrina_shared::lifecycle::run_again(world.db.pool(), first.id, cause).await.unwrap();
    let again = world.succeeded(again.run.id).await;
    assert_eq!((again.status, again.rows_read, again.rows_written), (RunStatus::Success, 100, 50));
    world.assert_same(ITEMS, "analytics.item").await;
}

/// A run keeps its plan while it goes on; meanwhile the columns of its source may have changed their places.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_bound_by_name_though_the_table_has_changed_since_it_was_looked_at() {
    let world = World::with_worker().await;
    world.sql("create table content.s (id int primary key, a text, b text)").await;
    world.sql("insert into content.s select n, 'a' || n, 'b' || n from generate_series(1, 4000) n").await;
    world.target("s", "id int, a text, b text", &["id"]).await;
    let pipeline = world.pipeline(&draft("s", Mode::Full, "select * from content.s", "analytics.s", 5)).await;
    let run = world.run(pipeline).await;
    eventually("some batches", || async { (world.find(run).await.batches > 3).then_some(()) }).await;
    world
        .sql(
            "begin; alter table content.s add a2 text; update content.s set a2 = a; alter table content.s drop a;
             alter table content.s rename a2 to a; alter table content.s add c text default 'new'; commit",
        )
        .await;
    assert!(!world.find(run).await.status.is_final(), "the run was over too soon to show anything");
    world.succeeded(run).await;
    world.assert_same("select id, a, b from content.s", "analytics.s").await;
    // A type that has changed is looked at again.
    world.sql("alter table content.s drop c, alter b type varchar(40)").await;
    world.succeeds(pipeline).await;
    world.assert_same("select id, a, b from content.s", "analytics.s").await;
}
