//! Pipelines into an index, from the request to the documents.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};
use tokio::sync::Semaphore;
use vitrina_shared::domain::{ErrorClass, Mode, RunStatus, Status};
use vitrina_worker::elasticsearch::sweep;

use crate::{
    films::{FILMS, Films, many},
    proxy::{Fault, Proxy},
    support::{Corner, client, eventually_within},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_pipeline_fills_and_keeps_an_index() {
    fills_and_keeps(json!({}), many()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incremental_pipeline_that_updates_writes_only_what_changed() {
    fills_and_keeps(json!({"write": "update"}), 0).await;
}

/// Fills an index, brings it what changed, and reads everything again: then this many documents are written.
async fn fills_and_keeps(options: Value, rewritten: i64) {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, many(), options).await;
    films.start_worker();
    let batch = i32::try_from(many() / 7).unwrap();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, batch)).await;
    let first = films.succeeds(pipeline).await;
    assert_eq!((first.rows_read, first.rows_written), (many(), many()));
    films.assert_same(FILMS).await;

    let again = films.succeeds(pipeline).await;
    assert_eq!((again.rows_read, again.rows_written), (0, 0));
    films.world.reset(pipeline).await.unwrap();
    let anew = films.succeeds(pipeline).await;
    assert_eq!((anew.rows_read, anew.rows_written), (many(), rewritten));

    films.add(many() + 1, many() + 10).await;
    films.world.sql("update content.film set title = 'changed', modified = '2026-06-01' where rating = 5.0").await;
    let changed = films.world.number("select count(*) from content.film where title = 'changed'").await;
    let third = films.succeeds(pipeline).await;
    assert_eq!(third.rows_written, changed + 10);
    films.assert_same(FILMS).await;
    let sinks = "select string_agg(distinct etl.sink_of(inputs), ',') from etl.etl_runs";
    assert_eq!(films.world.text(sinks).await.as_deref(), Some("elasticsearch"), "rows are counted under this name");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pipeline_makes_the_index_equal_to_the_query() {
    let Some(mut films) = Films::new(many()).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 1_000)).await;
    let first = films.succeeds(pipeline).await;
    assert_eq!((first.rows_read, first.rows_written), (many(), many()));
    films.assert_same(FILMS).await;
    films
        .world
        .sql("delete from content.film where rating < 5; update content.film set title = 'other' where rating = 7")
        .await;
    films.succeeds(pipeline).await;
    films.assert_same(FILMS).await;
    films.succeeds(pipeline).await;
    films.assert_same(FILMS).await;
    let removed = sweep(films.world.db.pool(), &client(&films.corner.node, &[]), Duration::ZERO).await.unwrap().removed;
    assert_eq!(removed.len(), 2, "{removed:?}");
    assert_eq!(films.corner.physical().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_page_is_read_while_the_last_request_of_one_is_under_way_and_every_page_once() {
    let Some(corner) = Corner::new() else { return };
    let films = Films::at(corner, 300, json!({"max_docs": 10, "concurrency": 2})).await;
    let count = "do $$ begin execute format('alter database %I set track_functions = pl', current_database()); end $$";
    films.world.sql(count).await;
    let held = Arc::new(Semaphore::new(0));
    let permits = held.clone();
    let proxy = Proxy::start(&films.corner.node, move |_| Fault::Held(permits.clone())).await;
    let worker = films.world.worker(&[("ELASTICSEARCH_URL", &proxy.url)]);
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    let run = films.world.run(pipeline).await;
    let first = || async { (proxy.bulks() > 0).then_some(()) };
    eventually_within(Duration::from_secs(60), "the first request of the first page", first).await;
    let tx = shut_before_the_second_page(&films, &held).await;
    assert_eq!(films.world.find(run).await.batches, 0, "the last request of the first page is held");
    tx.rollback().await.unwrap();
    held.add_permits(1_000);
    let run = films.succeeded(run).await;
    films.assert_same(FILMS).await;
    drop(worker);
    let calls =
        "select sum(calls)::bigint from pg_stat_user_functions where schemaname = 'etl_page' and funcname = 'read'";
    let once = || async { (films.world.number(calls).await == run.batches).then_some(()) };
    eventually_within(Duration::from_secs(60), "every page was read once", once).await;
}

/// Lets the first page send all but its last request, and stops the reading of the second one until the transaction ends.
async fn shut_before_the_second_page(films: &Films, held: &Semaphore) -> Transaction<'static, Postgres> {
    // The first page was read. A session that reads now has to wait, and can be seen.
    let mut tx = films.world.db.admin().begin().await.unwrap();
    sqlx::raw_sql("lock table content.film in access exclusive mode").execute(&mut *tx).await.unwrap();
    held.add_permits(9);
    let waiting = "select count(*) from pg_stat_activity where datname = current_database()
        and application_name like 'vitrina-worker %' and wait_event_type = 'Lock'";
    let second = || async { (films.world.number(waiting).await == 1).then_some(()) };
    eventually_within(Duration::from_secs(60), "the reading of the second page", second).await;
    tx
}

/// The same key may come in both pages. Into an index that is being built it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_sends_nothing_before_its_turn_except_to_an_index_that_is_being_built() {
    for (mode, requests) in [(Mode::Incremental, 10), (Mode::Full, 11)] {
        let Some(corner) = Corner::new() else { return };
        let films = Films::at(corner, 300, json!({"max_docs": 10, "concurrency": 2})).await;
        let held = Arc::new(Semaphore::new(0));
        let permits = held.clone();
        let proxy = Proxy::start(&films.corner.node, move |_| Fault::Held(permits.clone())).await;
        let _worker = films.world.worker(&[("ELASTICSEARCH_URL", &proxy.url)]);
        let pipeline = films.world.pipeline(&films.draft(mode, 100)).await;
        let run = films.world.run(pipeline).await;
        let first = || async { (proxy.bulks() > 0).then_some(()) };
        eventually_within(Duration::from_secs(60), "the first request of the first page", first).await;
        shut_before_the_second_page(&films, &held).await.rollback().await.unwrap();
        let reading = "select count(*) from pg_stat_activity where datname = current_database()
            and application_name like 'vitrina-worker %' and state = 'active'";
        let read = || async { (films.world.number(reading).await == 0 && proxy.bulks() >= requests).then_some(()) };
        eventually_within(
            Duration::from_secs(60),
            "the second page, read while one request of the first is held",
            read,
        )
        .await;
        assert_eq!(proxy.bulks(), requests, "{mode:?}");
        assert_eq!(films.world.find(run).await.batches, 0, "the last request of the first page is held");
        held.add_permits(1_000);
        let run = films.succeeded(run).await;
        assert_eq!((run.rows_read, run.rows_written), (300, 300));
        films.assert_same(FILMS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn short_codes_of_a_table_are_searched_as_a_whole() {
    let Some(mut films) = Films::new(3).await else { return };
    films.start_worker();
    films
        .world
        .sql("alter table content.film add code varchar(8), add note varchar(200), add sold numeric(12, 0)")
        .await;
    let query = "select id as film_id, code, note, sold, code || '' as made, modified from content.film";
    let pipeline = films.world.pipeline(&films.draft_of(Mode::Full, query, 100)).await;
    films.succeeds(pipeline).await;
    let found = films.corner.ask(&format!("{}/_mapping", films.corner.name)).await;
    let fields = &found.as_object().unwrap().values().next().unwrap()["mappings"]["properties"];
    for (name, kind) in [("code", "keyword"), ("note", "text"), ("sold", "long"), ("made", "text")] {
        assert_eq!(fields[name]["type"], kind, "{name}: {fields}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_replaced_and_not_merged() {
    let Some(mut films) = Films::new(50).await else { return };
    films.start_worker();
    let query = "select id as film_id, details, modified from content.film";
    let pipeline = films.world.pipeline(&films.draft_of(Mode::Incremental, query, 20)).await;
    films.succeeds(pipeline).await;
    films.world.sql(r#"update content.film set details = '{"only": "this"}', modified = '2026-06-01'"#).await;
    films.succeeds(pipeline).await;
    films.assert_same(query).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_document_among_many_goes_to_the_dead_letters_with_the_servers_reason() {
    let Some(mut films) = Films::new(many()).await else { return };
    films.start_worker();
    films.world.sql("update content.film set creation_date = 'infinity' where id = md5('77')::uuid").await;
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 1_000, 5)).await;
    let run = films.succeeds(pipeline).await;
    assert_eq!((run.rows_written, run.rows_rejected), (many() - 1, 1));
    films.assert_same(&format!("{FILMS} where isfinite(creation_date)")).await;
    let letter = "select error_class || ' ' || (key ->> 'film_id') || ' ' || error from etl.etl_dead_letters";
    let letter = films.world.text(letter).await.unwrap();
    let id = films.world.text("select md5('77')::uuid").await.unwrap();
    assert!(letter.starts_with(&format!("Row {id} ")), "{letter}");
    assert!(letter.contains("failed to parse field [creation_date] of type [date]"), "{letter}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_document_fails_the_run_where_that_is_wanted_and_the_checkpoint_stays() {
    let Some(mut films) = Films::new(300).await else { return };
    films.start_worker();
    films.world.sql("update content.film set creation_date = 'infinity' where id = md5('250')::uuid").await;
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Row)));
    let error = run.error.unwrap();
    assert!(error.contains("creation_date") && error.contains("infinity"), "{error}");
    assert_eq!(run.rows_read, 200, "two good batches");
    films.world.sql("update content.film set creation_date = '2000-01-01' where not isfinite(creation_date)").await;
    films.succeeds(pipeline).await;
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_full_run_leaves_the_old_index_serving_and_no_litter() {
    let Some(mut films) = Films::new(2_000).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 20)).await;
    films.succeeds(pipeline).await;
    films.world.sql("update content.film set title = 'new'").await;
    let run = films.world.run(pipeline).await;
    films.progresses(run, 2).await;
    films.world.cancel(pipeline).await.unwrap();
    films.world.reaches(pipeline, Status::Idle).await;
    let documents = films.corner.documents().await;
    assert_eq!(documents.len(), 2_000);
    assert!(documents.values().all(|document| document["title"] != "new"));
    let node = client(&films.corner.node, &[]);
    eventually_within(Duration::from_secs(30), "one index", || async {
        sweep(films.world.db.pool(), &node, Duration::ZERO).await.unwrap();
        (films.corner.physical().await.len() == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_repeats_a_key_does_not_take_over() {
    let Some(mut films) = Films::new(10).await else { return };
    films.start_worker();
    let query = "select f.id as film_id, g as genre from content.film f, unnest(f.genres) g";
    let pipeline = films.world.pipeline(&films.draft_of(Mode::Full, query, 100)).await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
    assert!(run.error.as_deref().is_some_and(|error| error.contains("each key once")), "{:?}", run.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn composite_keys_make_ids_that_tell_rows_apart() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 20, json!({"write": "index"})).await;
    films.start_worker();
    films.world.sql("update etl.etl_targets set key = '{film_id,genre}' where target like 'es:%'").await;
    let query = "select f.id as film_id, g as genre, f.modified from content.film f, unnest(f.genres) g";
    let mut draft = films.draft_of(Mode::Incremental, query, 7);
    draft.incremental_id_key = Some("film_id".to_owned());
    let pipeline = films.world.pipeline(&draft).await;
    films.succeeds(pipeline).await;
    let documents = films.corner.documents().await;
    assert_eq!(documents.len(), 40);
    let id = films.world.text("select md5('3')::uuid").await.unwrap();
    assert_eq!(documents[&format!("{id}|genre 3")]["genre"], "genre 3");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_address_a_run_says_which_variable_is_missing() {
    let Some(mut films) = Films::new(5).await else { return };
    films.world.start_worker(&[]);
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 100)).await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
    assert!(run.error.as_deref().is_some_and(|error| error.contains("ELASTICSEARCH_URL")), "{:?}", run.error);
}
