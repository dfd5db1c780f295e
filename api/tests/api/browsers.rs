//! An API without tokens, and the websites that a browser of this machine shows.

use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::support::{Api, expect, expect_problem, genres};

/// A path of every kind, with each method that it takes and some that it does not.
const EVERYTHING: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/docs/"),
    ("GET", "/nothing"),
    ("GET", "/api/v1/health"),
    ("GET", "/api/v1/metrics"),
    ("GET", "/api/v1/events"),
    ("GET", "/api/v1/pipelines"),
    ("HEAD", "/api/v1/pipelines"),
    ("POST", "/api/v1/pipelines"),
    ("OPTIONS", "/api/v1/pipelines"),
    ("PATCH", "/api/v1/pipelines/genres"),
    ("DELETE", "/api/v1/pipelines/genres"),
    ("POST", "/api/v1/pipelines/genres/run"),
    ("POST", "/api/v1/pipelines/genres/preview"),
    ("POST", "/api/v1/targets"),
    ("PUT", "/api/v1/targets"),
];

/// What a website sends, and the header that gives it away.
fn from_websites(own: &str) -> Vec<(Vec<(&'static str, String)>, &'static str)> {
    let said =
        |pairs: &[(&'static str, &str)]| pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    vec![
        (said(&[("host", "rebound.example:8080")]), "`Host`"),
        (said(&[("host", "rebound.example:8080"), ("origin", "http://rebound.example:8080")]), "`Host`"),
        (said(&[("origin", "https://rebound.example")]), "`Origin`"),
        (said(&[("origin", "null")]), "`Origin`"),
        (said(&[("origin", "http://localhost:3000")]), "`Origin`"),
        (said(&[("sec-fetch-site", "cross-site")]), "`Sec-Fetch-Site`"),
        (said(&[("sec-fetch-site", "same-site"), ("origin", own)]), "`Sec-Fetch-Site`"),
    ]
}

#[tokio::test]
async fn another_website_gets_403_on_every_route_and_changes_nothing() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let own = format!("http://{}", api.addr());
    for (headers, culprit) in from_websites(&own) {
        for (method, path) in EVERYTHING {
            let request = || {
                let request = api.raw(method.parse().unwrap(), path);
                headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
            };
            if *method == "HEAD" {
                assert_eq!(request().send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path} {headers:?}");
                continue;
            }
            for request in [request(), request().json(&genres("other")), request().body("a=b")] {
                let problem = expect_problem(request, 403, "foreign").await;
                let detail = problem["detail"].as_str().unwrap();
                assert!(detail.starts_with(culprit) && detail.contains("VITRINA_TOKENS"), "{detail}");
                assert!(!detail.contains("rebound"), "what was sent is not repeated: {detail}");
            }
        }
    }
    assert_eq!(api.count("select count(*) from etl.etl_runs").await, 0);
    assert_eq!(api.count("select count(*) from etl.etl_pipelines").await, 1);
}

#[tokio::test]
async fn programs_and_the_page_of_the_api_itself_are_served() {
    let api = Api::start().await;
    let port = api.addr().port();
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        let host = format!("{name}:{port}");
        let program = api.get("/pipelines").header(header::HOST, &host);
        expect(program, StatusCode::OK).await;
        let typed = api.raw(Method::GET, "/docs/").header(header::HOST, &host).header("Sec-Fetch-Site", "none");
        assert_eq!(typed.send().await.unwrap().status(), StatusCode::OK);
        let page = api.raw(Method::GET, "/openapi.json").header(header::HOST, &host);
        expect(page.header("Sec-Fetch-Site", "same-origin"), StatusCode::OK).await;
        let tried = api.post("/pipelines/validate").header(header::HOST, &host).json(&genres("genres"));
        let tried = tried.header(header::ORIGIN, format!("http://{host}")).header("Sec-Fetch-Site", "same-origin");
        expect(tried, StatusCode::OK).await;
    }
}

#[tokio::test]
async fn with_tokens_a_browser_has_none_to_add_and_names_do_not_matter() {
    let api = Api::start_with(&[("VITRINA_TOKENS", "anna:admin:anna-secret-12345")]).await;
    let request = |path: &str| {
        let request = api.get(path).header(header::HOST, "vitrina.example").header("Sec-Fetch-Site", "cross-site");
        request.header(header::ORIGIN, "https://console.example")
    };
    expect_problem(request("/pipelines"), 401, "unauthorized").await;
    let answer = expect(request("/pipelines").bearer_auth("anna-secret-12345"), StatusCode::OK).await;
    assert_eq!(answer, json!({"items": [], "next_cursor": null}));
    expect(request("/health"), StatusCode::OK).await;
}

#[tokio::test]
async fn with_tokens_and_none_for_metrics_no_website_reads_the_metrics_of_this_machine() {
    let tokens = ("VITRINA_TOKENS", "oleg:operator:oleg-secret-12345");
    let api = Api::start_with(&[tokens]).await;
    let own = format!("http://{}", api.addr());
    for path in ["/metrics", "/api/v1/metrics"] {
        assert_eq!(api.raw(Method::GET, path).send().await.unwrap().status(), StatusCode::OK, "{path}");
        for (headers, culprit) in from_websites(&own) {
            let request = api.raw(Method::GET, path);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
            let problem = expect_problem(request, 403, "foreign").await;
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.starts_with(culprit) && detail.contains("VITRINA_METRICS_TOKEN"), "{detail}");
        }
    }
    // A request with a token may come by any name that a proxy has for the API.
    let health = api.raw(Method::GET, "/health").header(header::HOST, "vitrina.example.org");
    assert_eq!(health.send().await.unwrap().status(), StatusCode::OK);
    let named = Api::start_with(&[tokens, ("VITRINA_METRICS_TOKEN", "prometheus-secret-1")]).await;
    let asked = named.raw(Method::GET, "/metrics").header(header::HOST, "vitrina.example.org");
    let asked = asked.bearer_auth("prometheus-secret-1").send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::OK);
}
