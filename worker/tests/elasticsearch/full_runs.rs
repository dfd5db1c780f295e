//! Full runs into an index: of incremental pipelines too, and none that would make it much smaller unasked.

use serde_json::json;
use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{
        ErrorClass, Mode, ReportRequest, RunStatus,
        report::{Depth, Repair},
    },
};

use crate::{
    films::{FILMS, Films},
    support::Corner,
    world::TESTER,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_of_an_incremental_pipeline_builds_its_index_anew() {
    let Some(mut films) = Films::new(500).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 70)).await;
    films.succeeds(pipeline).await;
    let before = films.world.checkpoint(pipeline).await;
    // No incremental run would notice any of it.
    films.world.sql("delete from content.film where id in (select id from content.film order by id limit 40)").await;
    films.world.sql("update content.film set title = 'silently' where rating > 9").await;

    let run = films.world.run_as(pipeline, true, false).await.unwrap();
    let run = films.succeeded(run).await;

    assert_eq!((run.mode, run.rows_read, run.rows_removed), (Mode::Full, 460, 40));
    films.assert_same(FILMS).await;
    assert_eq!(films.world.checkpoint(pipeline).await, before);
    assert_eq!(films.succeeds(pipeline).await.rows_read, 0);
    films.add(1001, 1010).await;
    films.world.sql("update content.film set modified = now() where title = 'silently'").await;
    films.succeeds(pipeline).await;
    films.assert_same(FILMS).await;
}

/// The newest rating of a film may come in several pages of the walk.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_pages_by_itself_fills_the_new_index_in_the_order_of_its_pages() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 0, json!({"max_docs": 5, "concurrency": 4})).await;
    films.start_worker();
    films
        .world
        .sql(
            "create table content.rating (id int primary key, film int not null, score int not null, modified timestamptz not null);
             insert into content.rating select n, n % 20, n % 10, '2026-01-01'::timestamptz + n * interval '1 s'
             from generate_series(1, 300) n",
        )
        .await;
    let query = "
        select c.film as film_id, c.score, c.modified, c.id
        from content.rating c
        where (:after_key::timestamptz is null or (c.modified, c.id) > (:after_key, :after_id)) and c.modified < :upper
        order by c.modified, c.id limit :limit";
    let mut rated = films.draft_of(Mode::Incremental, query, 30);
    rated.incremental_id_key = Some("id".to_owned());
    let pipeline = films.world.pipeline(&rated).await;
    films.succeeds(pipeline).await;
    films.world.sql("delete from content.rating where film = 7").await;

    let run = films.world.run_as(pipeline, true, false).await.unwrap();
    let run = films.succeeded(run).await;

    assert_eq!((run.rows_read, run.rows_removed), (285, 1));
    let newest =
        "select distinct on (film) film as film_id, score, modified, id from content.rating order by film, id desc";
    films.assert_same(newest).await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 0);
}

/// What the other query has removed is behind the checkpoint, though the new index has as many documents.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_changed_after_it_removed_documents_reads_everything() {
    for by_repair in [false, true] {
        let Some(mut films) = Films::new(40).await else { return };
        films.start_worker();
        let of = |condition: &str| {
            let query = format!("{FILMS} where (details ->> 'n')::int {condition}");
            films.draft_of(Mode::Incremental, &query, 100)
        };
        let (first, second) = if by_repair { (of("<= 40"), of("<= 20")) } else { (of("<= 20"), of("> 20")) };
        let change = async |pipeline, draft| {
            let version = films.world.show(pipeline).await.version;
            let db = films.world.db.pool();
            definitions::change(db, pipeline, version, draft, OnCheckpoint::Keep, TESTER).await.unwrap();
        };
        let pipeline = films.world.pipeline(&first).await;
        films.succeeds(pipeline).await;
        change(pipeline, &second).await;
        if by_repair {
            let repair = ReportRequest::Reconcile { depth: Depth::Rows, repair: Repair::All };
            assert_eq!(films.world.report(pipeline, &repair).await["repaired"]["removed"], 20);
        } else {
            let run = films.world.run_as(pipeline, true, false).await.unwrap();
            assert_eq!(films.succeeded(run).await.rows_removed, 0);
        }
        change(pipeline, &first).await;
        films.succeeds(pipeline).await;
        assert_eq!(films.corner.documents().await.len(), 40, "{by_repair}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_would_lose_most_documents_does_not_take_over() {
    let Some(mut films) = Films::new(400).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 100)).await;
    films.succeeds(pipeline).await;
    films.world.sql("create table content.saved as table content.film; truncate content.film").await;

    let run = films.world.run(pipeline).await;
    let run = films.world.ended(run).await;

    let error = run.error.unwrap();
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)), "{error}");
    assert!(error.starts_with("400 of the 400 rows of `es:") && error.contains("--allow-removal"), "{error}");
    assert_eq!(films.corner.documents().await.len(), 400, "the old index serves");
    films.world.sql("insert into content.film select * from content.saved order by id limit 10").await;
    let run = films.world.run_as(pipeline, true, true).await.unwrap();
    assert_eq!(films.succeeded(run).await.rows_removed, 390);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_keeps_the_documents_of_rows_that_were_put_aside() {
    let Some(mut films) = Films::new(20).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Full, 8, 10)).await;
    films.succeeds(pipeline).await;
    let before = films.corner.documents().await;
    let bad = "id in (select md5(n::text)::uuid from generate_series(1, 3) n)";
    films.world.sql(&format!("update content.film set creation_date = 'infinity', title = 'new' where {bad}")).await;
    films.add(21, 21).await;
    films.world.sql("update content.film set creation_date = 'infinity' where id = md5('21')::uuid").await;
    assert_eq!(films.succeeds(pipeline).await.rows_rejected, 4);
    assert_eq!(films.corner.documents().await, before, "as they were, and the one that never was there is not");
    films.world.sql("update content.film set creation_date = '2000-01-01' where creation_date = 'infinity'").await;
    assert_eq!(films.succeeds(pipeline).await.rows_rejected, 0);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_run_does_not_lose_fields_that_others_write_where_they_are_to_be_kept() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 10, json!({"write": "update"})).await;
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 100)).await;
    films.succeeds(pipeline).await;
    films.world.succeeds_in_full(pipeline).await;
    films.assert_same(FILMS).await;
    let field = json!({"properties": {"likes": {"type": "long"}}});
    films.corner.put(reqwest::Method::PUT, &format!("{}/_mapping", films.corner.name), &field).await;
    let id = films.world.text("select md5('3')::uuid").await.unwrap();
    let path = format!("{}/_update/{id}", films.corner.name);
    films.corner.put(reqwest::Method::POST, &path, &json!({"doc": {"likes": 7}})).await;
    let run = films.world.run_as(pipeline, true, false).await.unwrap();
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
    let error = run.error.unwrap();
    assert!(error.contains("`likes`") && error.contains("others write"), "{error}");
    films.world.reset(pipeline).await.unwrap();
    assert_eq!(films.succeeds(pipeline).await.rows_read, 10);
    assert_eq!(films.corner.documents().await[&id]["likes"], 7);
}
