//! Every error of the contract, as a problem.

use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::support::{Api, expect, expect_problem, genres, problem};

#[tokio::test]
async fn a_body_that_is_not_json_is_400() {
    let api = Api::start().await;
    for body in ["", "{", "{\"name\": }", "{} {}", "{\"name\": 5", "\u{feff}{}", "[1,", "nul"] {
        let request = api.post("/pipelines").header(header::CONTENT_TYPE, "application/json").body(body);
        let problem = expect_problem(request, 400, "not-json").await;
        assert!(problem["detail"].as_str().unwrap().starts_with("the body is not JSON"), "{problem}");
    }
    for (deep, status, kind) in [("[".repeat(10_000), 400, "not-json"), (nested(10_000), 422, "invalid")] {
        let request = api.post("/pipelines").header(header::CONTENT_TYPE, "application/json");
        expect_problem(request.body(format!("{{\"tasks\": {deep}}}")), status, kind).await;
    }
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test]
async fn a_header_that_is_no_text_is_400() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let strange = header::HeaderValue::from_bytes(b"\xff").unwrap();
    let request = api.post("/pipelines/genres/run").header("Idempotency-Key", strange);
    expect_problem(request, 400, "bad-request").await;
}

#[tokio::test]
async fn what_does_not_exist_is_404_on_every_route() {
    let api = Api::start().await;
    let nobody = "0198e9d6-0000-7000-8000-000000000000";
    for p in ["nobody", nobody, "%D1%84", "a%2Fb", "%20"] {
        for (method, path) in [
            ("GET", ""),
            ("PATCH", ""),
            ("DELETE", ""),
            ("POST", "/run"),
            ("POST", "/pause"),
            ("POST", "/cancel"),
            ("POST", "/reset"),
            ("GET", "/status"),
            ("GET", "/state"),
            ("GET", "/runs"),
        ] {
            let request = api.request(method.parse().unwrap(), &format!("/pipelines/{p}{path}"));
            expect_problem(request.json(&json!({})), 404, "not-found").await;
        }
    }
    for id in ["nothing", nobody] {
        expect_problem(api.get(&format!("/runs/{id}")), 404, "not-found").await;
        expect_problem(api.post(&format!("/runs/{id}/again")), 404, "not-found").await;
    }
    let problem = expect_problem(api.get("/pipelines/nobody"), 404, "not-found").await;
    assert_eq!(problem["detail"], "there is no pipeline `nobody`");
}

#[tokio::test]
async fn a_path_that_no_route_has_is_404_and_a_wrong_method_405() {
    let api = Api::start().await;
    for path in ["/", "/nothing", "/api/v1", "/api/v1/nothing", "/api/v2/pipelines", "/api/v1/pipelines/a/b/c"] {
        let problem = expect_problem(api.raw(Method::GET, path), 404, "no-route").await;
        assert_eq!(problem["detail"], "no route has this path; /docs lists them all");
    }
    for (method, path, allow) in [
        (Method::PUT, "/api/v1/pipelines", "GET, POST"),
        (Method::GET, "/api/v1/pipelines/a/run", "POST"),
        (Method::POST, "/api/v1/runs/a", "GET"),
        (Method::DELETE, "/health", "GET"),
    ] {
        let response = api.raw(method, path).send().await.unwrap();
        assert_eq!(response.headers()[header::ALLOW], allow, "{path}");
        problem(response, 405, "method-not-allowed").await;
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let api = Api::start_with(&[("VITRINA_MAX_BODY_BYTES", "2048")]).await;
    let mut large = genres("genres");
    large["description"] = json!("d".repeat(3000));

    let problem = expect_problem(api.post("/pipelines").json(&large), 413, "too-large").await;
    assert_eq!(problem["detail"], "the body has more than 2048 bytes");

    let unannounced = reqwest::Body::wrap_stream(futures_util::stream::iter(
        (0..10).map(|_| Ok::<_, std::io::Error>("x".repeat(500))),
    ));
    let request = api.post("/pipelines").header(header::CONTENT_TYPE, "application/json").body(unannounced);
    expect_problem(request, 413, "too-large").await;
}

#[tokio::test]
async fn a_body_that_is_not_declared_as_json_is_415() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let body = "{\"batch_size\": 1}";
    for request in [
        api.post("/pipelines").body(body),
        api.post("/pipelines").header(header::CONTENT_TYPE, "text/plain").body(body),
        api.post("/pipelines/validate").header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body),
        api.patch("/pipelines/genres").header(header::CONTENT_TYPE, "application/yaml").body(body),
        api.post("/targets").header(header::CONTENT_TYPE, "nonsense").body(body),
    ] {
        expect_problem(request, 415, "not-json-type").await;
    }
    let patched =
        api.patch("/pipelines/genres").header(header::CONTENT_TYPE, "application/merge-patch+json").body(body);
    expect(patched, StatusCode::OK).await;
}

#[tokio::test]
async fn requests_beyond_the_limit_are_429_and_the_service_still_says_that_it_lives() {
    let api = Api::start_with(&[("VITRINA_MAX_IN_FLIGHT", "1")]).await;
    api.create_genres("genres").await;
    let mut lock = api.db.admin().begin().await.unwrap();
    sqlx::query("select from etl.etl_pipelines for update").execute(&mut *lock).await.unwrap();
    let blocked = tokio::spawn(api.post("/pipelines/genres/run").send());

    api.until_something_waits_for_a_lock().await;

    let response = api.get("/targets").send().await.unwrap();

    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    problem(response, 429, "too-many").await;
    expect(api.raw(Method::GET, "/health"), StatusCode::OK).await;
    lock.rollback().await.unwrap();
    assert_eq!(blocked.await.unwrap().unwrap().status(), StatusCode::ACCEPTED);
    expect(api.get("/targets"), StatusCode::OK).await;
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_503_and_changes_nothing() {
    let api = Api::start_with(&[("VITRINA_REQUEST_TIMEOUT_SECONDS", "1")]).await;
    api.create_genres("genres").await;
    let mut lock = api.db.admin().begin().await.unwrap();
    sqlx::query("select from etl.etl_pipelines for update").execute(&mut *lock).await.unwrap();

    let problem = expect_problem(api.post("/pipelines/genres/run"), 503, "timed-out").await;

    assert_eq!(problem["detail"], "the answer took longer than 1 seconds");
    lock.rollback().await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), api.run("genres")).await.unwrap();
    assert_eq!(api.count("select count(*) from etl.etl_runs").await, 1);
}

#[tokio::test]
async fn a_failure_of_ours_is_500_without_its_details() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    sqlx::raw_sql("alter table etl.etl_run_ranges rename column job_id to something")
        .execute(api.db.admin())
        .await
        .unwrap();

    let problem = expect_problem(api.post("/pipelines/genres/run"), 500, "internal").await;

    assert!(!problem.to_string().contains("job_id"), "{problem}");
    assert_eq!(api.count("select count(*) from etl.etl_runs").await, 0);
}
