//! What is wrong with an index is not laid to its documents: no row is put aside, and no checkpoint moves.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_util::task::AbortOnDropHandle;
use vitrina_shared::domain::{ErrorClass, Mode, PipelineId, Run, RunStatus};

use crate::{
    films::{FILMS, Films},
    proxy::{Fault, Proxy},
    support::{Corner, INSTALLATION, client, eventually_within, items, run},
};

/// Films in an index, and more to come, by a pipeline that puts refused rows aside.
async fn filled() -> Option<(Films, PipelineId)> {
    let mut films = Films::new(50).await?;
    films.start_worker();
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 100, 1_000)).await;
    films.succeeds(pipeline).await;
    films.add(51, 60).await;
    Some((films, pipeline))
}

async fn fails_and_puts_nothing_aside(films: &Films, pipeline: PipelineId, help: &str) -> Run {
    let before = films.world.text("select checkpoint_key from etl.etl_state").await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)), "{:?}", run.error);
    assert!(run.error.as_deref().is_some_and(|error| error.contains(help)), "{:?}", run.error);
    assert_eq!(films.world.number("select count(*) from etl.etl_dead_letters").await, 0);
    assert_eq!(films.world.text("select checkpoint_key from etl.etl_state").await, before);
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_index_fails_the_run_and_puts_no_row_aside() {
    let Some((films, pipeline)) = filled().await else { return };
    films.corner.put(reqwest::Method::POST, &format!("{}/_close", films.corner.name), &Value::Null).await;
    fails_and_puts_nothing_aside(&films, pipeline, "/_open").await;
    films.corner.put(reqwest::Method::POST, &format!("{}/_open", films.corner.name), &Value::Null).await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 10);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_closed_in_the_middle_of_a_run_fails_it_and_puts_no_row_aside() {
    let Some(corner) = Corner::new() else { return };
    let films = Films::at(corner, 300, json!({})).await;
    let held = Arc::new(tokio::sync::Semaphore::new(1));
    let permits = held.clone();
    let proxy = Proxy::start(&films.corner.node, move |_| Fault::Held(permits.clone())).await;
    let _worker = films.world.worker(&[("ELASTICSEARCH_URL", &proxy.url), ("VITRINA_HEARTBEAT_SECONDS", "5")]);
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 100, 1_000)).await;
    let run = films.world.run(pipeline).await;
    films.progresses(run, 1).await;
    films.corner.put(reqwest::Method::POST, &format!("{}/_close", films.corner.name), &Value::Null).await;
    held.add_permits(1_000);
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)), "{:?}", run.error);
    assert!(run.error.as_deref().is_some_and(|error| error.contains("index_closed_exception")), "{:?}", run.error);
    assert_eq!((run.rows_read, run.rows_rejected), (100, 0));
    films.corner.put(reqwest::Method::POST, &format!("{}/_open", films.corner.name), &Value::Null).await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 200);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_ingest_pipeline_fails_the_run_and_puts_no_row_aside() {
    let Some((films, pipeline)) = filled().await else { return };
    let settings = format!("{}/_settings", films.corner.name);
    films.corner.put(reqwest::Method::PUT, &settings, &json!({"index.default_pipeline": "nowhere"})).await;
    fails_and_puts_nothing_aside(&films, pipeline, "ingest pipeline that is not there").await;
    films.corner.put(reqwest::Method::PUT, &settings, &json!({"index.default_pipeline": null})).await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 10);
    films.assert_same(FILMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_index_is_waited_for() {
    let Some(corner) = Corner::new() else { return };
    let films = Films::at(corner, 50, json!({})).await;
    let proxy = Proxy::start(&films.corner.node, |_| Fault::None).await;
    let _worker = films.world.worker(&[("ELASTICSEARCH_URL", &proxy.url), ("VITRINA_HEARTBEAT_SECONDS", "5")]);
    let pipeline = films.world.pipeline(&films.tolerant(Mode::Incremental, 100, 1_000)).await;
    films.succeeds(pipeline).await;
    films.add(51, 60).await;
    let settings = format!("{}/_settings", films.corner.name);
    films.corner.put(reqwest::Method::PUT, &settings, &json!({"index.blocks.write": true})).await;
    let before = proxy.bulks();
    let run = films.world.run(pipeline).await;
    let asked = || async { (proxy.bulks() >= before + 3).then_some(()) };
    eventually_within(Duration::from_secs(60), "the request is sent again", asked).await;
    assert!(!films.world.find(run).await.status.is_final());
    films.corner.put(reqwest::Method::PUT, &settings, &json!({"index.blocks.write": null})).await;
    let run = films.succeeded(run).await;
    assert_eq!((run.rows_read, run.rows_rejected), (10, 0));
    films.assert_same(FILMS).await;
}

#[tokio::test]
async fn what_stands_under_the_name_and_is_not_ours_is_told() {
    let Some(corner) = Corner::new() else { return };
    let (one, two) = (format!("{}-one", corner.name), format!("{}-two", corner.name));
    for index in [&one, &two] {
        let ours = json!({"_meta": {"vitrina": {"installation": INSTALLATION}}});
        corner.put(reqwest::Method::PUT, index, &json!({"aliases": {&corner.name: {}}, "mappings": ours})).await;
    }
    let index = corner.index(json!({}));
    let error = index.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("several indexes") && error.message.contains(&one), "{error}");
}

/// A server that says the same to everyone.
async fn saying(answer: &'static str) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn what_answers_and_is_not_elasticsearch_is_not_taken_for_an_empty_one() {
    let Some(corner) = Corner::new() else { return };
    let page =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: 15\r\n\r\n<html>hi</html>";
    let nothing = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 9\r\n\r\nnot found";
    for (answer, said) in [(page, "ELASTICSEARCH_URL"), (nothing, "may not be Elasticsearch")] {
        let (url, _server) = saying(answer).await;
        let error = client(&url, &[]).server().await.unwrap_err();
        assert!(error.class == ErrorClass::Transient && error.message.contains(said), "{error}");
        let index = corner.index_at(&url, &[], json!({}));
        let error = index.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err();
        assert!(error.class == ErrorClass::Transient && error.message.contains(said), "{error}");
    }
}
