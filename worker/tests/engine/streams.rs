//! Rows that pass through the worker: transforms, and rows that the target refuses.

use serde_json::{Value, json};
use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{ErrorClass, FullStrategy, Mode, OnRowError, PipelineDraft, ReportRequest, Task, TaskKind},
};

use crate::{
    support::{ITEMS, TESTER, World, draft, eventually, items},
    types,
};

fn step(order_index: i32, task_type: TaskKind, body: &str, options: Value) -> Task {
    let Value::Object(options) = options else { panic!("options are an object") };
    Task { order_index, task_type, body: body.to_owned(), target_table: None, options }
}

/// A pipeline whose rows pass a transform.
fn with_transform(mut draft: PipelineDraft, transform: &str, options: Value) -> PipelineDraft {
    let query = draft.source_query.take().expect("a query");
    draft.tasks = vec![step(1, TaskKind::Sql, &query, json!({})), step(2, TaskKind::Rust, transform, options)];
    draft
}

fn dead_letters(mut draft: PipelineDraft, max_rejects: Option<u32>) -> PipelineDraft {
    draft.options.on_row_error = Some(OnRowError::DeadLetter);
    draft.options.max_rejects = max_rejects;
    draft
}

/// The repeated row is as the mart has it: nothing is written twice, and as many rows are read as the mart has.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_comes_twice_fails_a_full_run_that_has_nothing_to_write() {
    let world = World::with_worker().await;
    world.target("joined", "id bigint, name text, modified timestamptz", &["id"]).await;
    world.sql("create table content.genre (item bigint not null, suffix text not null)").await;
    let query =
        "select i.id, i.name || g.suffix as name, i.modified from content.item i join content.genre g on g.item = i.id";
    let joined = draft("pushed", Mode::Full, query, "analytics.joined", 2);
    let named = |name: &str| PipelineDraft { name: name.to_owned(), ..joined.clone() };
    for draft in [
        named("pushed"),
        dead_letters(named("put_aside"), None),
        with_transform(named("streamed"), "mask", json!({"columns": ["name"]})),
    ] {
        world.sql("truncate analytics.joined").await;
        let pipeline = world.pipeline(&draft).await;
        // The second row is the same, or another one.
        for suffix in ["", "!"] {
            let case = format!("{} {suffix}", draft.name);
            world.sql("truncate content.item, content.genre").await;
            world.items(1, 5).await;
            world.sql("insert into content.genre select id, '' from content.item").await;
            world.succeeds(pipeline).await;
            world.sql("delete from content.item where id = 5").await;
            world.sql(&format!("insert into content.genre values (3, '{suffix}')")).await;

            let run = world.fails(pipeline).await;

            assert_eq!(run.error_class, Some(ErrorClass::Fatal), "{case}");
            assert!(run.error.unwrap().starts_with("the query returns several rows for one key"), "{case}");
            world.sql("delete from content.genre where item = 3; insert into content.genre values (3, '')").await;
            assert_eq!(world.succeeds(pipeline).await.rows_removed, 1, "{case}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_with_transforms_writes_what_they_made_of_the_rows() {
    let world = World::with_worker().await;
    world.items(1, 250).await;
    world.target("masked", "id bigint, label text not null, modified timestamptz", &["id"]).await;
    let query = "select id, name, modified from content.item";
    for (name, mode) in [("incremental", Mode::Incremental), ("full", Mode::Full)] {
        let mut pipeline = with_transform(
            draft(name, mode, query, "analytics.masked", 40),
            "mask",
            json!({"columns": ["name"], "show_last": 1}),
        );
        pipeline.tasks.push(step(3, TaskKind::Rust, "rename", json!({"columns": {"name": "label"}})));
        world.sql("truncate analytics.masked").await;
        let pipeline = world.pipeline(&pipeline).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written, run.batches), (250, 250, 7), "{name}");
        let expected = "select id, repeat('*', length(name) - 1) || right(name, 1), modified from content.item";
        world.assert_same(expected, "analytics.masked").await;

        world.sql("update content.item set name = name || '!', modified = now() where id in (7, 77)").await;
        let again = world.succeeds(pipeline).await;
        assert_eq!(again.rows_written, 2, "{name}");
        world.assert_same(expected, "analytics.masked").await;
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_with_transforms_removes_what_is_gone_and_swaps_where_it_should() {
    let world = World::with_worker().await;
    for (name, strategy) in [("merged", FullStrategy::Merge), ("swapped", FullStrategy::Swap)] {
        world.sql("truncate content.item; truncate analytics.item").await;
        world.items(1, 100).await;
        let mut pipeline = with_transform(items(name, Mode::Full, 30), "mask", json!({"columns": ["name"]}));
        pipeline.options.full_strategy = Some(strategy);
        let pipeline = world.pipeline(&pipeline).await;
        world.succeeds(pipeline).await;
        world
            .sql("delete from content.item where id % 10 = 0; update content.item set name = 'other' where id = 1")
            .await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written), (90, 1), "{name}");
        let expected = "select id, repeat('*', length(name)), modified from content.item";
        world.assert_same(expected, "analytics.item").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_common_type_passes_a_transform_as_it_left() {
    let world = World::with_worker().await;
    types::create_every(&world).await;
    // JSON knows one null, which becomes NULL.
    world.sql("update content.every set a_json = null where a_json::text = 'null'").await;
    let every = draft("every", Mode::Full, "select * from content.every", "analytics.every", 2);
    let every = with_transform(every, "mask", json!({"columns": ["a_text"], "show_last": 1000000}));
    let pipeline = world.pipeline(&every).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 7);
    world.assert_same(types::AS_TEXT, types::WRITTEN).await;
    assert_eq!(world.succeeds(pipeline).await.rows_written, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_the_target_refuses_are_put_aside_and_all_others_are_written() {
    let world = World::with_worker().await;
    world.items(1, 1000).await;
    world.sql("alter table analytics.item add constraint short check (length(name) < 20)").await;
    world.sql("update content.item set name = repeat('x', 30) where id in (1, 500, 501, 1000)").await;
    for (name, mode, transforms) in
        [("pushed", Mode::Incremental, false), ("streamed", Mode::Incremental, true), ("full", Mode::Full, false)]
    {
        let mut pipeline = dead_letters(items(name, mode, 300), None);
        if transforms {
            pipeline = with_transform(pipeline, "mask", json!({"columns": ["name"], "show_last": 1000}));
        }
        world.sql("truncate analytics.item").await;
        let pipeline = world.pipeline(&pipeline).await;
        let run = world.succeeds(pipeline).await;
        assert_eq!((run.rows_read, run.rows_written, run.rows_rejected), (1000, 996, 4), "{name}");
        world.assert_same(&format!("{ITEMS} where length(name) < 20"), "analytics.item").await;
        let letters = format!(
            "select string_agg(key ->> 'id' || ' ' || (row ->> 'name' = repeat('x', 30)) || ' ' || error_class, ', ' order by id)
             from etl.etl_dead_letters where pipeline_id = '{pipeline}' and error like '%\"short\"%(SQLSTATE 23514)%'"
        );
        let expected = ["1 true Row", "500 true Row", "501 true Row", "1000 true Row"].join(", ");
        assert_eq!(world.text(&letters).await.as_deref(), Some(expected.as_str()), "{name}");

        // Refused again, a row keeps its one letter.
        world.reset(pipeline).await.unwrap();
        assert_eq!(world.succeeds(pipeline).await.rows_rejected, 4, "{name}");
        let count = format!("select count(*) from etl.etl_dead_letters where pipeline_id = '{pipeline}'");
        assert_eq!(world.number(&count).await, 4, "{name}");
    }
    world.assert_no_litter().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_refused_rows_than_allowed_fail_the_run_and_leave_its_last_good_batch() {
    let world = World::with_worker().await;
    world.items(1, 100).await;
    world.sql("alter table analytics.item add constraint short check (length(name) < 20)").await;
    world.sql("update content.item set name = repeat('x', 30) where id in (5, 15, 25, 35)").await;
    let pipeline = world.pipeline(&dead_letters(items("limited", Mode::Incremental, 10), Some(3))).await;
    let run = world.fails(pipeline).await;
    assert_eq!(run.error_class, Some(ErrorClass::Row));
    assert!(run.error.unwrap().contains("max_rejects"));
    assert_eq!((run.rows_read, run.rows_written, run.rows_rejected), (30, 27, 3));
    assert_eq!(world.number("select count(*) from analytics.item").await, 27);

    // Once the cause is gone, the run goes on where it stopped.
    world.sql("alter table analytics.item drop constraint short").await;
    let again = world.succeeds(pipeline).await;
    assert_eq!((again.rows_read, again.rows_rejected), (70, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_cannot_be_read_fails_also_where_rows_may_be_put_aside() {
    let world = World::with_worker().await;
    world.items(1, 10).await;
    let query = "select id, name || (1 / (id - 5))::text as name, modified from content.item";
    let pipeline = dead_letters(draft("broken", Mode::Incremental, query, "analytics.item", 3), None);
    let pipeline = world.pipeline(&pipeline).await;
    let run = world.fails(pipeline).await;
    assert!(run.error.as_deref().unwrap().contains("division by zero"), "{run:?}");
    assert_eq!(run.error_class, Some(ErrorClass::Fatal));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_run_survives_the_loss_of_its_connections() {
    let world = World::with_worker().await;
    world.items(1, 3000).await;
    let pipeline = with_transform(items("cut", Mode::Incremental, 50), "mask", json!({"columns": ["name"]}));
    let pipeline = world.pipeline(&pipeline).await;
    let run = world.run(pipeline).await;
    for _ in 0..5 {
        let before = world.find(run).await.batches;
        world.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'vitrina-worker%' and datname = current_database()").await;
        eventually("another batch", || async {
            let now = world.find(run).await;
            (now.batches > before || now.status.is_final()).then_some(())
        })
        .await;
    }
    let run = world.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_written, run.batches), (3000, 3000, 61));
    world.assert_same("select id, repeat('*', length(name)), modified from content.item", "analytics.item").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_trigger_says_of_a_row_keeps_its_code_so_that_viewers_are_not_shown_it() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world
        .sql(
            "create function analytics.look_at() returns trigger language plpgsql as $$
             begin
                 if new.id % 5 = 0 then raise exception '% earns too much%', new.name, repeat('!', 5000) using errcode = '23514'; end if;
                 return new;
             end $$;
             create trigger look before insert on analytics.item for each row execute function analytics.look_at()",
        )
        .await;
    let pipeline = world.pipeline(&dead_letters(items("watched", Mode::Full, 50), Some(1))).await;
    let error = world.fails(pipeline).await.error.unwrap();
    let begins = "more rows were refused than max_rejects allows; the last one: item 10 earns too much!!!";
    assert!(error.starts_with(begins) && error.ends_with("!!! (SQLSTATE 23514)"), "{error}");

    // So have a letter, a letter that was tried again, and a run that puts nothing aside.
    world.sql("truncate analytics.item").await;
    let pipeline = world.pipeline(&dead_letters(items("patient", Mode::Full, 50), None)).await;
    assert_eq!(world.succeeds(pipeline).await.rows_rejected, 4);
    let letters = "select count(*) from etl.etl_dead_letters where error like '%!!! (SQLSTATE 23514)'";
    assert_eq!(world.number(letters).await, 4);
    let replayed = world.report(pipeline, &ReportRequest::Replay { ids: None }).await;
    assert!(replayed["letters"][0]["error"].as_str().unwrap().ends_with("!!! (SQLSTATE 23514)"), "{replayed}");
    let pipeline = world.pipeline(&items("strict", Mode::Full, 50)).await;
    let error = world.fails(pipeline).await.error.unwrap();
    assert!(error.ends_with("!!! (SQLSTATE 23514)"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_options_of_a_transform_count_from_the_next_run_on() {
    let world = World::with_worker().await;
    world.items(1, 20).await;
    world.target("labels", "id bigint, label text, caption text", &["id"]).await;
    let renamed = |to: &str| {
        let plain = draft("labels", Mode::Full, "select id, name from content.item", "analytics.labels", 7);
        with_transform(plain, "rename", json!({"columns": {"name": to}}))
    };
    let pipeline = world.pipeline(&renamed("label")).await;
    world.succeeds(pipeline).await;
    // At once: whatever was found out about the pipeline is a moment old.
    let version = world.show(pipeline).await.version;
    let keep = OnCheckpoint::Keep;
    definitions::change(world.db.pool(), pipeline, version, &renamed("caption"), keep, TESTER).await.unwrap();
    assert_eq!(world.succeeds(pipeline).await.rows_written, 20);
    world.assert_same("select id, name, name from content.item", "analytics.labels").await;
}

/// A page names the types of its columns. What was judged is the type that had the name then.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_has_taken_the_name_of_a_judged_one_executes_nothing() {
    for passes_the_worker in [false, true] {
        let world = World::with_worker().await;
        world
            .sql(
                "create extension citext schema content;
                 create table content.person (id int primary key, mail content.citext not null, note text,
                                              modified timestamptz not null default now());
                 insert into content.person select n, 'user' || n, 'note' from generate_series(1, 10) n;
                 create sequence content.calls; grant usage on sequence content.calls to public",
            )
            .await;
        world.target("person", "id int, mail text, note text, modified timestamptz", &["id"]).await;
        let query = "select id, mail, note, modified from content.person";
        let person = draft("person", Mode::Incremental, query, "analytics.person", 5);
        let masked = json!({"columns": ["note"]});
        let person = if passes_the_worker { with_transform(person, "mask", masked) } else { person };
        let pipeline = world.pipeline(&person).await;
        world.succeeds(pipeline).await;

        // The same type once more is another one too: it is judged anew.
        world
            .sql(
                "drop extension citext cascade; create extension citext schema content;
                 alter table content.person add mail content.citext not null default 'again';
                 update content.person set modified = now()",
            )
            .await;
        assert_eq!(world.succeeds(pipeline).await.rows_written, 10);
        world
            .sql(
                "drop extension citext cascade; create type content.citext as enum ('x');
                 alter table content.person add mail content.citext not null default 'x';
                 create function content.called(content.citext) returns text language plpgsql as
                     $$ begin perform nextval('content.calls'); return 'called'; end $$;
                 create cast (content.citext as text) with function content.called(content.citext) as assignment;
                 alter type content.citext owner to pg_monitor;
                 update content.person set modified = now()",
            )
            .await;
        let run = world.fails(pipeline).await;

        assert!(run.error.as_ref().is_some_and(|error| error.contains("content.called is volatile")), "{run:?}");
        assert_eq!(world.text("select is_called from content.calls").await.as_deref(), Some("false"));
        assert_eq!(world.number("select count(*) from analytics.person where mail = 'again'").await, 10);
    }
}
