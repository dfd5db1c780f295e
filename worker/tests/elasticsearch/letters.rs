//! Dead letters of an index, tried again.

use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, PipelineId, ReportRequest};

use crate::{
    films::{FILMS, Films, many},
    support::Corner,
};

async fn replay(films: &Films, pipeline: PipelineId) -> Value {
    films.world.report(pipeline, &ReportRequest::Replay { ids: None }).await
}

fn outcomes(replay: &Value) -> Vec<&str> {
    replay["letters"].as_array().unwrap().iter().map(|letter| letter["outcome"].as_str().unwrap()).collect()
}

/// A letter about a film, as a run would have left it.
async fn put_aside(films: &Films, pipeline: PipelineId, film: i64) {
    let letter = format!(
        r#"insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class)
           values ('{pipeline}', '{pipeline}', 0, jsonb_build_object('film_id', md5('{film}')::uuid), '{{}}', 'x', 'Row')"#
    );
    films.world.sql(&letter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_document_is_replayed_after_the_mapping_is_corrected() {
    let Some(mut films) = Films::new(many()).await else { return };
    films.start_worker();
    films.world.sql("update content.film set creation_date = 'infinity' where id = md5('77')::uuid").await;
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Full, 1_000, 5)).await;
    assert_eq!(films.succeeds(pipeline).await.rows_rejected, 1);

    films.world.sql("update content.film set title = 'newer' where id = md5('77')::uuid").await;
    let refused = replay(&films, pipeline).await;
    assert_eq!((outcomes(&refused), &refused["left"]), (vec!["refused"], &json!(1)));
    let error = refused["letters"][0]["error"].as_str().unwrap();
    assert!(error.contains("failed to parse field [creation_date]"), "{error}");
    let title = "select row ->> 'title' from etl.etl_dead_letters where replayed_at is null";
    assert_eq!(films.world.text(title).await.as_deref(), Some("newer"), "the letter tells of the row of now");

    let corrected = json!({"properties": {"creation_date": {
        "type": "date", "format": "strict_date_optional_time", "ignore_malformed": true
    }}});
    films.corner.put(reqwest::Method::PUT, &format!("{}/_mapping", films.corner.name), &corrected).await;
    let written = replay(&films, pipeline).await;
    assert_eq!((outcomes(&written), &written["left"]), (vec!["written"], &json!(0)));
    assert_eq!(outcomes(&replay(&films, pipeline).await), Vec::<&str>::new());
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_finds_what_is_there_and_writes_what_the_source_has_now() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 20, json!({"write": "index"})).await;
    films.start_worker();
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 10, 5)).await;
    films.succeeds(pipeline).await;
    let id = films.world.text("select md5('3')::uuid").await.unwrap();
    // Another program wrote it, with a version above all of ours.
    let newer = json!({"film_id": id, "title": "foreign", "genres": [], "modified": "2050-01-01T00:00:00+00:00"});
    let place = format!("{}/_doc/{id}?version=4000000000000000000&version_type=external", films.corner.name);
    films.corner.put(reqwest::Method::PUT, &place, &newer).await;

    // The first is as a worker left it that died before it could close its letter.
    for film in [2, 3, 4, 5] {
        put_aside(&films, pipeline, film).await;
    }
    films.world.sql("delete from content.film where id = md5('4')::uuid").await;
    let gone = format!("{}/_doc/{}", films.corner.name, films.world.text("select md5('5')::uuid").await.unwrap());
    films.corner.put(reqwest::Method::DELETE, &gone, &Value::Null).await;
    films.world.sql("update content.film set modified = '2026-06-01' where id = md5('5')::uuid").await;
    let replayed = replay(&films, pipeline).await;
    // The foreign version cost an attempt, which wrote the last one.
    assert_eq!(outcomes(&replayed), ["unchanged", "written", "gone", "unchanged"], "{replayed}");
    let documents = films.corner.documents().await;
    let title = films.world.text("select title from content.film where id = md5('3')::uuid").await.unwrap();
    assert_eq!((documents.len(), &documents[&id]["title"]), (20, &json!(title)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_with_what_no_jsonb_can_hold_is_put_aside_like_any_other() {
    let Some(mut films) = Films::new(50).await else { return };
    films.start_worker();
    films
        .world
        .sql(
            r#"alter table content.film add raw json;
               update content.film set creation_date = 'infinity', raw = '{"zero": "\u0000", "half": "\ud800", "text": "\\u0000"}'
               where id = md5('7')::uuid"#,
        )
        .await;
    let mut draft = films.tolerant(Mode::Full, 20, 5);
    let query = "select id as film_id, creation_date, raw from content.film";
    draft.source_query = Some(query.to_owned());
    let pipeline = films.world.pipeline(&draft).await;
    assert_eq!(films.succeeds(pipeline).await.rows_rejected, 1);
    let raw = "select row -> 'raw' from etl.etl_dead_letters where key ->> 'film_id' = md5('7')::uuid::text";
    let shown = json!({"zero": "\\u0000", "half": "\\ud800", "text": "\\u0000"});
    let raw: Value = serde_json::from_str(&films.world.text(raw).await.unwrap()).unwrap();
    assert_eq!(raw, shown, "as the text that it is");
    assert_eq!(outcomes(&replay(&films, pipeline).await), ["refused"]);
    films.world.sql("update content.film set creation_date = '2000-01-01' where not isfinite(creation_date)").await;
    assert_eq!(outcomes(&replay(&films, pipeline).await), ["written"]);
}
