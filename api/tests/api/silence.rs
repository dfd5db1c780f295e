//! Connections to the database that fall silent without being closed.

use reqwest::StatusCode;
use serde_json::{Value, json};
use vitrina_shared::{
    domain::Trigger,
    lifecycle::{self, Cause, WantedRun},
    testing::TestDatabase,
};

use crate::{
    service::behind_a_proxy,
    support::{Api, Proxy, eventually, genres},
};

/// Returns once so many sessions wait for a lock.
async fn sessions_wait_for_a_lock(api: &Api, count: i64) {
    eventually("sessions that wait for a lock", async || {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
        .fetch_one(api.db.admin())
        .await
        .unwrap();
        (waiting == count).then_some(())
    })
    .await;
}

/// An API with all of its eight connections open, and idle.
async fn with_open_connections() -> (Api, Proxy) {
    let db = TestDatabase::create().await;
    let server = db.url().split('@').nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    let proxy = Proxy::start(server).await;
    let url = db.url().replace(&server.to_string(), &proxy.addr().to_string());
    let api = Api::start_at(db, &url, &[("VITRINA_REQUEST_TIMEOUT_SECONDS", "5")]).await;
    let mut lock = api.db.admin().begin().await.unwrap();
    sqlx::query("lock table etl.etl_pipelines in access exclusive mode").execute(&mut *lock).await.unwrap();
    let requests: Vec<_> = (0..8).map(|_| tokio::spawn(api.get("/pipelines").send())).collect();
    sessions_wait_for_a_lock(&api, 8).await;
    lock.rollback().await.unwrap();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    (api, proxy)
}

#[tokio::test]
async fn an_api_whose_connections_fell_silent_needs_one_of_them_to_know_it() {
    let (api, proxy) = with_open_connections().await;
    proxy.freeze();
    let mut failed = 0;
    while !api.get("/pipelines").send().await.unwrap().status().is_success() {
        failed += 1;
        assert!(failed < 8, "each of the eight connections failed a request of its own");
    }
    assert!(failed <= 3, "{failed} requests failed");
}

/// The server has not even heard the question: neither is the query to blame, nor does its author wait for the server.
#[tokio::test]
async fn a_query_is_described_again_after_its_connection_fell_silent() {
    let (api, proxy) = behind_a_proxy().await;
    let validate = async || api.post("/pipelines/validate").json(&genres("genres")).send().await.unwrap();
    assert_eq!(validate().await.status(), StatusCode::OK);
    proxy.freeze();
    for attempt in 0.. {
        let answer = validate().await;
        if answer.status() == StatusCode::OK {
            let found: Value = answer.json().await.unwrap();
            assert_eq!(found["problems"], json!([]));
            break;
        }
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(attempt < 4, "its author is kept waiting");
    }
}

#[tokio::test]
async fn a_stream_of_events_goes_on_after_the_connections_fell_silent() {
    let (api, proxy) = behind_a_proxy().await;
    let mut events = api.events("", None).await;
    proxy.freeze();
    let Ok(genres) = "genres".parse();
    let cause = Cause { actor: "test", correlation_id: "test" };
    lifecycle::request_run(api.db.pool(), &genres, WantedRun::by(Trigger::Api), cause).await.unwrap();
    let (_, first) = events.transition().await;
    assert_eq!(first["to"], "RUN_REQUESTED");
    lifecycle::cancel(api.db.pool(), &genres, cause).await.unwrap();
    let (_, second) = events.transition().await;
    assert_eq!(second["to"], "IDLE");
}

#[tokio::test]
async fn a_stream_of_events_goes_on_after_its_connection_fell_silent_while_it_was_read() {
    let (api, proxy) = behind_a_proxy().await;
    let mut lock = api.db.admin().begin().await.unwrap();
    sqlx::query("lock table etl.etl_transitions in access exclusive mode").execute(&mut *lock).await.unwrap();
    let mut events = api.events("", Some(0)).await;
    sessions_wait_for_a_lock(&api, 1).await;
    proxy.freeze();
    lock.rollback().await.unwrap();
    let Ok(genres) = "genres".parse();
    let cause = Cause { actor: "test", correlation_id: "test" };
    lifecycle::request_run(api.db.pool(), &genres, WantedRun::by(Trigger::Api), cause).await.unwrap();
    let (_, first) = events.transition().await;
    assert_eq!(first["to"], "RUN_REQUESTED");
}
