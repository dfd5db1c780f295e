//! What one request leaves behind: one trace, and lines with its id in the logs of every process that worked on it.

use std::path::{Path, PathBuf};

use opentelemetry_proto::tonic::trace::v1::Span;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use vitrina_shared::{migrate, testing::TestDatabase};

use crate::{
    collector::{Collector, hex},
    scene::{Service, eventually},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// What no log may show.
const PASSWORD: &str = "password-of-the-database";
const TOKEN: &str = "token-of-the-operator";
const VALUE: &str = "value-of-a-row";

const TABLES: &str = "
    create schema content;
    create table content.item (id bigint primary key, name text, modified timestamptz not null);
    insert into content.item select n, 'value-of-a-row', '2026-01-01'::timestamptz + n * interval '1 s' from generate_series(1, 35) n;
    create table analytics.item (id bigint primary key, name text, modified timestamptz);
    create table analytics.number (id bigint primary key, number integer, modified timestamptz);
    insert into etl.etl_targets (target, key) values ('analytics.item', '{id}'), ('analytics.number', '{id}');
";

struct Stage {
    api: Service,
    logs: [PathBuf; 2],
    client: reqwest::Client,
    collector: Collector,
    _worker: Service,
    _directory: tempfile::TempDir,
    db: TestDatabase,
}

impl Stage {
    async fn start() -> Self {
        let db = TestDatabase::create().await;
        sqlx::raw_sql(TABLES).execute(db.admin()).await.unwrap();
        migrate::migrate(db.admin(), &["content".to_owned()]).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let collector = Collector::start().await;
        let url = db.url().replace("vitrina_app@", &format!("vitrina_app:{PASSWORD}@"));
        let tokens = format!("anna:admin:{TOKEN}");
        let logs = ["api", "worker"].map(|name| directory.path().join(format!("{name}.log")));
        let start = |command: &str, variable: &str, log: &Path| {
            let settings = [
                ("VITRINA_TOKENS", tokens.as_str()),
                ("VITRINA_LOG", "debug"),
                ("VITRINA_LOG_FORMAT", "json"),
                ("VITRINA_LOG_FILE", log.to_str().unwrap()),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
                ("OTEL_BSP_SCHEDULE_DELAY", "100"),
            ];
            Service::start_with(command, &url, variable, &settings)
        };
        let api = start("api", "VITRINA_ADDR", &logs[0]);
        let worker = start("worker", "VITRINA_METRICS_ADDR", &logs[1]);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let stage = Self { api, logs, client, collector, _worker: worker, _directory: directory, db };
        eventually("the API", async || stage.request(Method::GET, "/targets").send().await.ok()).await;
        stage
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("http://{}/api/v1{path}", self.api.addr)).bearer_auth(TOKEN)
    }

    async fn create(&self, name: &str, query: &str, target: &str) {
        let pipeline = json!({"name": name, "mode": "incremental", "batch_size": 10, "target_table": target, "source_query": query,
                              "incremental_key": "modified", "incremental_id_key": "id"});
        let answer = self.request(Method::POST, "/pipelines").json(&pipeline).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED, "{}", answer.text().await.unwrap());
    }

    /// Runs a pipeline as part of a caller's trace and returns how many batches it took.
    async fn run(&self, name: &str, request_id: &str) -> i64 {
        let request = self.request(Method::POST, &format!("/pipelines/{name}/run")).header("X-Request-Id", request_id);
        let answer = request.header("traceparent", format!("00-{TRACE}-{CALLER}-01")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        eventually("the run's end", async || {
            sqlx::query_scalar("select batches from etl.etl_runs where correlation_id = $1 and finished_at is not null")
                .bind(request_id)
                .fetch_optional(self.db.pool())
                .await
                .unwrap()
        })
        .await
    }

    /// Asks for a preview that fails.
    async fn preview(&self, name: &str, request_id: &str) {
        let request = self.request(Method::POST, &format!("/pipelines/{name}/preview?wait=30"));
        let answer = request.header("X-Request-Id", request_id).json(&json!({"rows": 5})).send().await.unwrap();
        let told = answer.text().await.unwrap();
        assert!(told.contains(VALUE), "a role that may read rows sees what is wrong: {told}");
    }

    /// Everything that was logged so far.
    fn logged(&self) -> String {
        self.logs.iter().map(|log| std::fs::read_to_string(log).unwrap()).collect()
    }

    /// The lines that have this request's id.
    fn lines(&self, request_id: &str) -> Vec<Value> {
        let text = self.logged();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
        lines.filter(|line: &Value| line["correlation_id"] == request_id).collect()
    }
}

/// Wants a line with this message that has all these fields.
fn find<'a>(lines: &'a [Value], message: &str, has: &[&str]) -> Vec<&'a Value> {
    let found: Vec<&Value> = lines.iter().filter(|line| line["msg"] == message).collect();
    assert!(!found.is_empty(), "no line says {message}");
    for line in &found {
        for field in ["ts", "level", "pipeline", "pipeline_id", "run_id"].iter().chain(has) {
            assert!(line.get(field).is_some_and(|value| !value.is_null()), "{field} is missing in {line}");
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_one_trace_and_one_id_in_the_logs_down_to_its_last_batch() {
    let stage = Stage::start().await;
    stage.create("items", "select id, name, modified from content.item", "analytics.item").await;
    let batches = stage.run("items", "request-of-items").await;
    assert_eq!(batches, 4, "35 rows by ten");

    the_log_tells_start_batches_transitions_and_end(&stage, batches).await;
    the_trace_reaches_from_the_caller_to_the_last_batch(&stage, batches).await;

    // A row that cannot be written: the server's message quotes its value.
    stage.create("numbers", "select id, name::integer as number, modified from content.item", "analytics.number").await;
    stage.run("numbers", "request-of-numbers").await;
    stage.preview("numbers", "request-of-a-preview").await;
    the_log_tells_the_error_and_nothing_that_is_secret(&stage).await;
}

async fn the_log_tells_start_batches_transitions_and_end(stage: &Stage, batches: i64) {
    let lines = eventually("the last line", async || {
        let lines = stage.lines("request-of-items");
        lines.iter().any(|line| line["msg"] == "run finished").then_some(lines)
    })
    .await;
    let transitions: Vec<String> = find(&lines, "transition", &["actor", "reason"])
        .iter()
        .map(|line| format!("{} {}", line["from"].as_str().unwrap(), line["to"].as_str().unwrap()))
        .collect();
    assert_eq!(transitions, ["IDLE RUN_REQUESTED", "RUN_REQUESTED RUNNING", "RUNNING IDLE"]);
    let committed =
        find(&lines, "batch committed", &["batch", "job_id", "worker", "rows_read", "rows_written", "duration_ms"]);
    assert_eq!(committed.len() as i64, batches);
    find(&lines, "run finished", &["worker", "rows_read", "rows_written", "batches", "duration_ms"]);
}

async fn the_trace_reaches_from_the_caller_to_the_last_batch(stage: &Stage, batches: i64) {
    let committed = |spans: &[(String, Span)]| {
        let events = spans.iter().filter(|(_, span)| span.name == "batch").flat_map(|(_, span)| &span.events);
        events.filter(|event| event.name == "batch committed").count() as i64
    };
    let spans = eventually("the last batch's span", async || {
        let spans = stage.collector.trace(TRACE);
        (committed(&spans) >= batches && spans.iter().any(|(_, span)| span.name == "request")).then_some(spans)
    })
    .await;
    let (service, request) = spans.iter().find(|(_, span)| span.name == "request").unwrap();
    assert_eq!(hex(&request.parent_span_id), CALLER);
    assert!(service.contains("vitrina-api"), "{service}");
    for (service, span) in spans.iter().filter(|(_, span)| span.name == "batch") {
        assert_eq!(span.parent_span_id, request.span_id, "{span:?}");
        assert!(service.contains("vitrina-worker"), "{service}");
    }
    assert_eq!(committed(&spans), batches);
}

async fn the_log_tells_the_error_and_nothing_that_is_secret(stage: &Stage) {
    let lines = eventually("the error's line", async || {
        let lines = stage.lines("request-of-numbers");
        lines.iter().any(|line| line["msg"] == "run failed").then_some(lines)
    })
    .await;
    let failed = lines.iter().find(|line| line["msg"] == "run failed").unwrap();
    for field in ["job_id", "batch", "error_class", "run_id", "worker"] {
        assert!(!failed[field].is_null(), "{field} is missing in {failed}");
    }
    let error = failed["error"].as_str().unwrap();
    assert!(error.starts_with("invalid input syntax for type integer: \"…\""), "{error}");
    let error = eventually("the report's line", async || {
        let lines = stage.lines("request-of-a-preview");
        lines.iter().find(|line| line["msg"] == "report failed").map(|line| line["error"].to_string())
    })
    .await;
    assert!(error.contains("invalid input syntax for type integer: \\\"…\\\""), "{error}");
    let logged = stage.logged();
    for secret in [PASSWORD, TOKEN, VALUE] {
        let line = logged.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in the log");
    }
}
