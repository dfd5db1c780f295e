//! The service itself: probes, request ids, limits, a database that goes away, and stopping.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
};
use vitrina_shared::{
    lifecycle::{self, Cause},
    testing::TestDatabase,
};

use crate::support::{Api, Proxy, SOON, eventually, expect, expect_problem, within};

#[tokio::test]
async fn the_probes_answer_at_the_root_and_under_the_api() {
    let api = Api::start().await;
    for base in ["", "/api/v1"] {
        let health = expect(api.raw(Method::GET, &format!("{base}/health")), StatusCode::OK).await;
        assert_eq!(health["status"], "ok");
        let ready = expect(api.raw(Method::GET, &format!("{base}/ready")), StatusCode::OK).await;
        assert_eq!(ready["status"], "ready");
    }
}

#[tokio::test]
async fn a_database_without_all_migrations_is_not_ready() {
    let api = Api::start().await;
    sqlx::query("delete from etl._sqlx_migrations where version = 1").execute(api.db.admin()).await.unwrap();

    let problem = expect_problem(api.raw(Method::GET, "/ready"), 503, "not-migrated").await;

    assert_eq!(problem["detail"], "the database lacks migrations (1): run `vitrina migrate`");
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_read_and_said_to_be_so() {
    let writable = Api::start().await;
    writable.create_genres("genres").await;
    let url = format!("{}?options=-c%20default_transaction_read_only%3Don", writable.db.url());
    let api = Api::start_at(TestDatabase::create().await, &url, &[]).await;

    assert_eq!(api.show("/pipelines/genres").await["name"], "genres");
    let refused = [
        api.raw(Method::GET, "/ready"),
        api.post("/pipelines/genres/run"),
        api.patch("/pipelines/genres").json(&json!({"batch_size": 5})),
        api.post("/pipelines").json(&crate::support::genres("others")),
    ];
    for request in refused {
        let problem = expect_problem(request, 503, "database-read-only").await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("the database takes no writes: the server is a standby, or"), "{detail}");
    }
}

#[tokio::test]
async fn metrics_count_answers_by_route_and_never_by_id() {
    let api = Api::start().await;
    let id = api.create_genres("genres").await["id"].as_str().unwrap().to_owned();
    api.show(&format!("/pipelines/{id}")).await;
    expect_problem(api.raw(Method::GET, "/no/such/route"), 404, "no-route").await;
    expect_problem(api.raw("BREW".parse().unwrap(), "/health"), 405, "method-not-allowed").await;

    let response = api.raw(Method::GET, "/metrics").send().await.unwrap();

    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.text().await.unwrap();
    for part in [
        "vitrina_http_requests_total{method=\"POST\",route=\"api/v1/pipelines\",status=\"201\"}",
        "vitrina_http_requests_total{method=\"GET\",route=\"api/v1/pipelines/{p}\",status=\"200\"}",
        "vitrina_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"}",
        "vitrina_http_requests_total{method=\"OTHER\",route=\"unmatched\",status=\"405\"}",
        "vitrina_http_request_duration_seconds_bucket{method=\"POST\",route=\"api/v1/pipelines\",le=\"0.001\"}",
        "vitrina_build_info{version=\"",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains(&id) && !text.contains("no/such"));
}

// --- request ids and limits

#[tokio::test]
async fn every_answer_carries_the_request_s_id() {
    let api = Api::start().await;
    for (method, path) in [
        (Method::GET, "/health"),
        (Method::GET, "/api/v1/pipelines"),
        (Method::GET, "/api/v1/pipelines/nobody"),
        (Method::GET, "/no/such/route"),
        (Method::PUT, "/api/v1/pipelines"),
        (Method::POST, "/api/v1/pipelines"),
        (Method::GET, "/openapi.json"),
        (Method::GET, "/docs/"),
        (Method::GET, "/api/v1/events"),
    ] {
        let named = api.raw(method.clone(), path).header("X-Request-Id", "airflow/run:42").send().await.unwrap();
        assert_eq!(named.headers()["x-request-id"], "airflow/run:42", "{path}");
        let first = api.raw(method.clone(), path).send().await.unwrap();
        let second = api.raw(method, path).send().await.unwrap();
        assert_ne!(first.headers()["x-request-id"], second.headers()["x-request-id"], "{path}");
    }
    for strange in ["two words", "", &"x".repeat(129), "<script>"] {
        let response = api.raw(Method::GET, "/health").header("X-Request-Id", strange).send().await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap();
        assert!(id != strange && id.len() == 36, "{strange} became {id}");
    }
}

/// What the server answers to this text.
async fn raw_answer(addr: SocketAddr, request: &str) -> String {
    let mut connection = TcpStream::connect(addr).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within(SOON, connection.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn headers_that_are_too_large_or_too_many_are_refused() {
    let api = Api::start().await;
    let large = format!("X-Large: {}\r\n", "x".repeat(100_000));
    let many: String = (0..100).map(|number| format!("X-{number}: x\r\n")).collect();
    for headers in [large, many] {
        let request = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
        let answer = raw_answer(api.addr(), &request).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    let honest: String = (0..30).map(|number| format!("X-{number}: {}\r\n", "x".repeat(500))).collect();
    let request = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{honest}\r\n");
    assert!(raw_answer(api.addr(), &request).await.starts_with("HTTP/1.1 200 "));
}

// --- a database that goes away

/// An API whose way to its database can be cut.
pub async fn behind_a_proxy() -> (Api, Proxy) {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let Api { db, .. } = api;
    restart_behind_a_proxy(db).await
}

async fn restart_behind_a_proxy(db: TestDatabase) -> (Api, Proxy) {
    let url = reqwest::Url::parse(&db.url()).unwrap();
    let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let server = tokio::net::lookup_host(server).await.unwrap().next().unwrap();
    let proxy = Proxy::start(server).await;
    let mut through = url;
    through.set_host(Some("127.0.0.1")).unwrap();
    through.set_port(Some(proxy.addr().port())).unwrap();
    let api = Api::start_at(db, through.as_str(), &[]).await;
    (api, proxy)
}

#[tokio::test]
async fn while_the_database_is_away_answers_are_503_and_afterwards_everything_works() {
    let (api, proxy) = behind_a_proxy().await;
    api.show("/pipelines/genres").await;

    proxy.cut();
    let problem = expect_problem(api.get("/pipelines/genres"), 503, "database-away").await;
    assert_eq!(problem["detail"], "the database is away; try again in a moment");
    expect_problem(api.post("/pipelines/genres/run"), 503, "database-away").await;
    expect_problem(api.get("/events"), 503, "database-away").await;
    expect_problem(api.raw(Method::GET, "/ready"), 503, "database-away").await;
    expect(api.raw(Method::GET, "/health"), StatusCode::OK).await;

    proxy.restore();
    eventually("readiness", async || {
        let response = api.raw(Method::GET, "/ready").send().await.unwrap();
        (response.status() == StatusCode::OK).then_some(())
    })
    .await;
    assert_eq!(api.run("genres").await["already_active"], json!(false));
}

#[tokio::test]
async fn a_stream_that_was_open_goes_on_where_it_was_when_the_database_is_back() {
    let (api, proxy) = behind_a_proxy().await;
    let mut events = api.events("", Some(0)).await;
    api.run("genres").await;
    events.transition().await;

    proxy.cut();
    let cause = Cause { actor: "elsewhere", correlation_id: "x" };
    let Ok(genres) = "genres".parse();
    lifecycle::request_pause(api.db.pool(), &genres, cause).await.unwrap();
    lifecycle::cancel(api.db.pool(), &genres, cause).await.unwrap();
    expect_problem(api.raw(Method::GET, "/ready"), 503, "database-away").await;
    proxy.restore();

    let missed = events.transitions(2).await;
    assert_eq!((&missed[0].1["to"], &missed[1].1["to"]), (&json!("PAUSE_REQUESTED"), &json!("IDLE")));
}

#[tokio::test]
async fn an_api_that_starts_before_its_database_waits_for_it() {
    let (api, proxy) = behind_a_proxy().await;
    proxy.cut();
    let Api { db, .. } = api;
    let (api, proxy) = {
        let (api, proxy) = restart_behind_a_proxy(db).await;
        proxy.cut();
        (api, proxy)
    };
    expect_problem(api.raw(Method::GET, "/ready"), 503, "database-away").await;
    proxy.restore();
    eventually("readiness", async || {
        let response = api.raw(Method::GET, "/ready").send().await.unwrap();
        (response.status() == StatusCode::OK).then_some(())
    })
    .await;
}

// --- stopping

#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_server_ends() {
    let mut api = Api::start().await;
    api.create_genres("genres").await;
    let mut lock = api.db.admin().begin().await.unwrap();
    sqlx::query("select from etl.etl_pipelines for update").execute(&mut *lock).await.unwrap();
    let blocked = tokio::spawn(api.post("/pipelines/genres/run").send());
    api.until_something_waits_for_a_lock().await;

    let mut idle = TcpStream::connect(api.addr()).await.unwrap();
    idle.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    api.stop();
    // An idle connection is closed as soon as the server knows that it stops.
    within(SOON, idle.read_to_end(&mut Vec::new())).await.unwrap();
    lock.rollback().await.unwrap();

    let answer = blocked.await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    assert_eq!(answer.json::<Value>().await.unwrap()["status"], "RUN_REQUESTED");
    api.ended().await.unwrap();
}

/// The program on this database, and the address it listens on.
async fn start_program(db: &TestDatabase) -> (Child, SocketAddr) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_vitrina-api"))
        .env_clear()
        .env("DATABASE_URL", db.url())
        .env("VITRINA_ADDR", "127.0.0.1:0")
        .env("VITRINA_LOG_FORMAT", "json")
        .current_dir(std::env::temp_dir())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let listening = async {
        loop {
            let line: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            if line["msg"] == "api listening" {
                return line["addr"].as_str().unwrap().parse().unwrap();
            }
        }
    };
    let addr = within(SOON, listening).await;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (program, addr)
}

#[tokio::test]
async fn the_program_ends_well_on_sigterm_even_with_an_open_stream() {
    let db = TestDatabase::create().await;
    let (mut program, addr) = start_program(&db).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let stream = client.get(format!("http://{addr}/api/v1/events")).send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);

    let pid = program.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());

    let status = within(Duration::from_secs(8), program.wait()).await.unwrap();
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn the_program_says_what_is_wrong_with_its_settings() {
    let output = Command::new(env!("CARGO_BIN_EXE_vitrina-api"))
        .env_clear()
        .env("VITRINA_ADDR", "everywhere")
        .current_dir(std::env::temp_dir())
        .output()
        .await
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("DATABASE_URL is not set") && text.contains("VITRINA_ADDR is \"everywhere\""), "{text}");
}

// --- docs

#[tokio::test]
async fn the_docs_page_needs_nothing_from_elsewhere() {
    let api = Api::start().await;
    for path in ["/docs", "/docs/", "/api/v1/docs"] {
        let page = api.raw(Method::GET, path).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        assert!(page.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/html"));
        let (url, html) = (page.url().clone(), page.text().await.unwrap());
        assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
        assert!(html.contains("\"validatorUrl\":\"none\""), "{html}");
        let assets = ["href=\"", "src=\""].into_iter().flat_map(|mark| html.split(mark).skip(1));
        let assets: Vec<&str> = assets.map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(assets.len() >= 3, "{assets:?}");
        for asset in assets.into_iter().chain(["/openapi.json"]) {
            let asset = url.join(asset).unwrap();
            let answer = api.raw(Method::GET, asset.path()).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{asset}");
        }
    }
}

#[tokio::test]
async fn an_installation_tells_its_id_and_its_source_schemas() {
    let api = Api::start_with(&[("VITRINA_SOURCE_SCHEMAS", "content,shop")]).await;
    let told = expect(api.get("/installation"), StatusCode::OK).await;
    let id: String =
        sqlx::query_scalar("select id::text from etl.etl_installation").fetch_one(api.db.admin()).await.unwrap();
    assert_eq!(told, serde_json::json!({"id": id, "source_schemas": ["content", "shop"]}));
}
