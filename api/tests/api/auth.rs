//! Tokens and what their roles may do.

use reqwest::{Method, StatusCode, header};
use serde_json::json;
use vitrina_shared::config::{ApiConfig, Env};

use crate::support::{Api, expect, expect_problem, genres, problem};

const TOKENS: (&str, &str) =
    ("VITRINA_TOKENS", "vera:viewer:vera-secret-12345,oleg:operator:oleg-secret-12345,anna:admin:anna-secret-12345");
const VERA: &str = "vera-secret-12345";
const OLEG: &str = "oleg-secret-12345";
const ANNA: &str = "anna-secret-12345";

#[tokio::test]
async fn without_a_known_token_everything_but_the_probes_is_401() {
    let api = Api::start_with(&[TOKENS]).await;
    for (method, path) in [
        (Method::GET, "/pipelines"),
        (Method::POST, "/pipelines"),
        (Method::POST, "/pipelines/genres/run"),
        (Method::POST, "/targets"),
        (Method::GET, "/workers"),
        (Method::GET, "/events"),
    ] {
        let response = api.request(method.clone(), path).send().await.unwrap();
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
        problem(response, 401, "unauthorized").await;
    }
    for wrong in ["Bearer nothing", "Bearer ", "Bearer", "Basic dmVyYTp2ZXJh", VERA, "Bearer vera-secret-1234"] {
        let request = api.get("/pipelines").header(header::AUTHORIZATION, wrong);
        expect_problem(request, 401, "unauthorized").await;
    }
    for open in ["/health", "/ready", "/metrics", "/openapi.json", "/docs/"] {
        assert_eq!(api.raw(Method::GET, open).send().await.unwrap().status(), StatusCode::OK, "{open}");
    }
}

#[tokio::test]
async fn a_viewer_looks_an_operator_acts_and_an_admin_allows_targets() {
    let api = Api::start_with(&[TOKENS]).await;
    expect(api.post("/pipelines").bearer_auth(OLEG).json(&genres("genres")), StatusCode::CREATED).await;

    for path in [
        "/pipelines",
        "/pipelines/genres",
        "/pipelines/genres/status",
        "/targets",
        "/transforms",
        "/workers",
        "/limits",
        "/calls",
    ] {
        for token in [VERA, OLEG, ANNA] {
            expect(api.get(path).bearer_auth(token), StatusCode::OK).await;
        }
    }
    for (method, path) in [
        (Method::POST, "/pipelines"),
        (Method::PATCH, "/pipelines/genres"),
        (Method::DELETE, "/pipelines/genres"),
        (Method::POST, "/pipelines/validate"),
        (Method::POST, "/pipelines/genres/run"),
        (Method::POST, "/pipelines/genres/pause"),
        (Method::POST, "/pipelines/genres/cancel"),
        (Method::POST, "/pipelines/genres/reset"),
        (Method::POST, "/pipelines/genres/reconcile"),
        (Method::POST, "/pipelines/genres/preview"),
        (Method::POST, "/pipelines/genres/dead-letters/replay"),
        (Method::POST, "/runs/0198e9d6-0000-7000-8000-000000000000/again"),
        (Method::PUT, "/limits/texts"),
        (Method::DELETE, "/limits/texts"),
        (Method::DELETE, "/limits/keys/TEXTS"),
        (Method::DELETE, "/calls?pipeline=genres"),
        (Method::POST, "/targets"),
        (Method::DELETE, "/targets/es:films"),
    ] {
        let problem = expect_problem(api.request(method, path).bearer_auth(VERA), 403, "forbidden").await;
        assert!(problem["detail"].as_str().unwrap().starts_with("token `vera` has the role viewer; this needs"));
    }
    expect(api.post("/pipelines/genres/run").bearer_auth(OLEG), StatusCode::ACCEPTED).await;
    let target = json!({"target": "es:films", "key": ["id"]});
    let refused = expect_problem(api.post("/targets").bearer_auth(OLEG).json(&target), 403, "forbidden").await;
    assert_eq!(refused["detail"], "token `oleg` has the role operator; this needs admin");
    expect(api.post("/targets").bearer_auth(ANNA).json(&target), StatusCode::CREATED).await;
    expect_problem(api.delete("/targets/es:films").bearer_auth(OLEG), 403, "forbidden").await;
    assert_eq!(
        api.delete("/targets/es:films").bearer_auth(ANNA).send().await.unwrap().status(),
        StatusCode::NO_CONTENT
    );
}

#[tokio::test]
async fn the_token_s_name_stands_in_the_log_of_transitions() {
    let api = Api::start_with(&[TOKENS]).await;
    expect(api.post("/pipelines").bearer_auth(ANNA).json(&genres("genres")), StatusCode::CREATED).await;

    let run = api.post("/pipelines/genres/run").bearer_auth(OLEG).header("X-Request-Id", "airflow/42");
    expect(run, StatusCode::ACCEPTED).await;

    let logged: (String, String) =
        sqlx::query_as("select actor, correlation_id from etl.etl_transitions").fetch_one(api.db.pool()).await.unwrap();
    assert_eq!(logged, ("oleg".to_owned(), "airflow/42".to_owned()));
}

#[tokio::test]
async fn without_tokens_every_client_of_this_machine_may_do_everything() {
    let api = Api::start().await;
    expect(api.post("/targets").json(&json!({"target": "es:films", "key": ["id"]})), StatusCode::CREATED).await;
    api.create_genres("genres").await;
    api.run("genres").await;
    assert_eq!(api.count("select count(*) from etl.etl_transitions where actor = 'local'").await, 1);
}

#[test]
fn the_configuration_keeps_no_secret() {
    let config: ApiConfig = Env::from_pairs([TOKENS]).read().unwrap();
    let shown = format!("{config:?}");
    assert!(shown.contains("vera") && !shown.contains("secret"), "{shown}");
    let world = [("VITRINA_ADDR", "0.0.0.0:8080")];
    assert!(Env::from_pairs(world).read::<ApiConfig>().is_err(), "without tokens only loopback is listened on");
}
