//! How many event streams there may be.

use reqwest::StatusCode;

use crate::support::{Api, eventually, expect_problem};

#[tokio::test]
async fn streams_beyond_the_limit_are_429_until_one_ends() {
    let api = Api::start_with(&[("VITRINA_MAX_EVENT_STREAMS", "2")]).await;
    let first = api.events("", None).await;
    let _second = api.events("", None).await;

    let problem = expect_problem(api.get("/events"), 429, "too-many").await;
    assert_eq!(problem["detail"], "all event streams are taken: try again in a second");

    drop(first);
    eventually("room for another stream", async || {
        let response = api.event_request("", None).send().await.unwrap();
        (response.status() == StatusCode::OK).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_token_cannot_take_the_streams_of_all() {
    let tokens = "vera:viewer:vera-secret-12345,oleg:operator:oleg-secret-12345";
    let api = Api::start_with(&[("VITRINA_TOKENS", tokens), ("VITRINA_MAX_EVENT_STREAMS", "8")]).await;
    let open = |secret: &'static str| api.get("/events").bearer_auth(secret).send();
    let mut streams = Vec::new();
    for _ in 0..2 {
        let stream = open("vera-secret-12345").await.unwrap();
        assert_eq!(stream.status(), StatusCode::OK);
        streams.push(stream);
    }
    let problem = expect_problem(api.get("/events").bearer_auth("vera-secret-12345"), 429, "too-many").await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("this token has all event streams that one may have"), "{detail}");
    assert_eq!(open("oleg-secret-12345").await.unwrap().status(), StatusCode::OK);

    streams.clear();
    eventually("room for another stream", async || {
        let response = open("vera-secret-12345").await.unwrap();
        (response.status() == StatusCode::OK).then_some(())
    })
    .await;
}
