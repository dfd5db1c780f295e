//! Reports: queued by the API, made by a worker, waited for by a client.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use vitrina_shared::domain::report::{
    BothValues, Depth, Difference, DifferenceKind, Preview, PreviewColumn, Reconciliation, Repaired, Replay,
    ReplayOutcome, ReplayedLetter, Verdict,
};

use crate::support::{Api, eventually, expect, expect_problem, messages};

/// Does what a worker would: ends the one unfinished report once it is there.
async fn simulate_worker(api: &Api, end: &str) {
    eventually("a report", async || {
        let ended = sqlx::query(AssertSqlSafe(end.to_owned())).execute(api.db.pool()).await.unwrap();
        (ended.rows_affected() == 1).then_some(())
    })
    .await;
}

const DONE: &str = r#"update etl.etl_reports set status = 'DONE', finished_at = now(),
    result = '{"columns": [{"name": "id", "type": "numeric"}], "rows": [{"id": 12345678901234567890.12}],
               "omitted": 0, "took_ms": 3}'
    where status = 'QUEUED'"#;
const FAILED: &str = "update etl.etl_reports set status = 'FAILED', finished_at = now(), error = 'no column `x`',
    error_class = 'Fatal' where status = 'QUEUED'";
const TIMED_OUT: &str = "update etl.etl_reports set status = 'FAILED', finished_at = now(), error = 'time-out',
    error_class = 'Transient' where status = 'QUEUED'";

fn preview(api: &Api, wait: u32) -> RequestBuilder {
    api.post(&format!("/pipelines/genres/preview?wait={wait}"))
}

#[tokio::test]
async fn a_client_that_does_not_wait_is_told_where_the_report_will_be() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let response = preview(&api, 0).json(&json!({"rows": 3})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let place = response.headers()["location"].to_str().unwrap().to_owned();
    let report: Value = response.json().await.unwrap();
    assert_eq!(place, format!("/api/v1/reports/{}", report["id"].as_str().unwrap()));
    assert_eq!(
        (&report["status"], &report["kind"], &report["pipeline"]),
        (&json!("QUEUED"), &json!("preview"), &json!("genres"))
    );
    assert_eq!(report["request"], json!({"rows": 3}));
    assert_eq!(api.show(place.trim_start_matches("/api/v1")).await, report);
    assert_eq!(api.count("select count(*) from apalis.jobs where job_type = 'vitrina:batches'").await, 1);
}

#[tokio::test]
async fn a_client_that_waits_gets_the_result_the_moment_it_is_there() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let (answer, ()) = tokio::join!(expect(preview(&api, 15), StatusCode::OK), simulate_worker(&api, DONE));
    assert_eq!(answer["columns"][0]["type"], "numeric");
    let id =
        api.count("select count(*) from etl.etl_reports where request = '{\"kind\": \"preview\", \"rows\": 10}'").await;
    assert_eq!(id, 1, "without a body there are ten rows");
    let shown = preview(&api, 0).send().await.unwrap();
    assert_eq!(shown.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn numbers_keep_all_their_digits_on_the_way() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let (answer, ()) = tokio::join!(preview(&api, 15).send(), simulate_worker(&api, DONE));
    let text = answer.unwrap().text().await.unwrap();
    assert!(text.contains("12345678901234567890.12"), "{text}");
}

#[tokio::test]
async fn a_report_that_fails_is_a_problem_and_stays_to_be_looked_at() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let (problem, ()) =
        tokio::join!(expect_problem(preview(&api, 15), 422, "report-failed"), simulate_worker(&api, FAILED));
    assert_eq!(problem["detail"], "no column `x`");
    tokio::join!(expect_problem(preview(&api, 15), 503, "report-failed"), simulate_worker(&api, TIMED_OUT));
    assert_eq!(api.count("select count(*) from etl.etl_reports where status = 'FAILED'").await, 2);
}

#[tokio::test]
async fn a_wait_ends_with_its_time_or_with_the_server() {
    let mut api = Api::start().await;
    api.create_genres("genres").await;
    let response = preview(&api, 1).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let waiting = tokio::spawn(preview(&api, 60).send());
    eventually("the report", async || (api.count("select count(*) from etl.etl_reports").await == 2).then_some(()))
        .await;
    api.stop();
    assert_eq!(waiting.await.unwrap().unwrap().status(), StatusCode::ACCEPTED);
    api.ended().await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let cases = [
        (json!({"rows": 0}), "rows", "from 1 to 100"),
        (json!({"rows": 101}), "rows", "from 1 to 100"),
        (json!({"rows": "many"}), "rows", "invalid type"),
        (json!({"lines": 3}), "lines", "unknown field"),
    ];
    for (body, field, message) in cases {
        let problem = expect_problem(preview(&api, 0).json(&body), 422, "invalid").await;
        assert!(messages(&problem, field).concat().contains(message), "{problem}");
    }
    for wait in ["61", "-1", "soon"] {
        let problem = expect_problem(api.post(&format!("/pipelines/genres/preview?wait={wait}")), 422, "invalid").await;
        assert_eq!(messages(&problem, "wait"), ["takes a whole number from 0 to 60"]);
    }
    expect_problem(preview(&api, 0).body("{").header("content-type", "application/json"), 400, "not-json").await;
    expect_problem(preview(&api, 0).body("{}"), 415, "not-json-type").await;
    expect_problem(api.post("/pipelines/nope/preview?wait=0"), 404, "not-found").await;
    for id in ["nope", "01a1e344-bb6d-7549-9210-f4b021e6b1a9"] {
        expect_problem(api.get(&format!("/reports/{id}")), 404, "not-found").await;
    }
    assert_eq!(api.count("select count(*) from etl.etl_reports").await, 0);
}

#[tokio::test]
async fn reports_go_with_their_pipeline_and_too_many_are_refused() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let report = expect(preview(&api, 0), StatusCode::ACCEPTED).await;
    let fill = async |requester: &str, count: i32| {
        sqlx::query(
            "insert into etl.etl_reports (id, pipeline_id, request, requested_by, correlation_id)
             select gen_random_uuid(), r.pipeline_id, r.request, coalesce(nullif($2, 'own'), r.requested_by), 'x'
             from etl.etl_reports r, generate_series(1, $3)
             where r.id = $1::uuid",
        )
        .bind(report["id"].as_str())
        .bind(requester)
        .bind(count)
        .execute(api.db.pool())
        .await
        .unwrap();
    };
    fill("own", 48).await;
    expect(preview(&api, 0), StatusCode::ACCEPTED).await;
    // Half of the places are one requester's at most.
    expect_problem(preview(&api, 0), 429, "too-many").await;
    sqlx::query("update etl.etl_reports set requested_by = 'other'").execute(api.db.pool()).await.unwrap();
    expect(preview(&api, 0), StatusCode::ACCEPTED).await;
    fill("other", 49).await;
    expect_problem(preview(&api, 0), 429, "too-many").await;
    api.delete("/pipelines/genres").send().await.unwrap().error_for_status().unwrap();
    expect_problem(api.get(&format!("/reports/{}", report["id"].as_str().unwrap())), 404, "not-found").await;
}

const RECONCILED: &str = r#"update etl.etl_reports set status = 'DONE', finished_at = now(),
    result = '{"depth": "rows", "source_rows": 3, "target_rows": 2, "missing": 1, "extra": 0, "different": 0,
               "in_flight": 0, "control_column": "modified", "source_min": "a", "source_max": "b", "target_min": "a",
               "target_max": "b", "verdict": "drift", "took_ms": 5, "repaired": null,
               "sample": [{"kind": "missing", "key": {"genre_id": "1"}, "columns": {}}]}'
    where status = 'QUEUED'"#;

#[tokio::test]
async fn a_reconciliation_has_every_field_of_the_contract() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let request = api.post("/pipelines/genres/reconcile?wait=15").json(&json!({"depth": "rows", "repair": "all"}));
    let (found, ()) = tokio::join!(expect(request, StatusCode::OK), simulate_worker(&api, RECONCILED));
    let fields = "source_rows target_rows missing extra different control_column source_min source_max target_min \
                  target_max verdict sample took_ms";
    for field in fields.split_whitespace() {
        assert!(found.get(field).is_some_and(|value| !value.is_null()), "{field} in {found}");
    }
    let asked = "select count(*) from etl.etl_reports
                 where request = '{\"kind\": \"reconcile\", \"depth\": \"rows\", \"repair\": \"all\"}'";
    assert_eq!(api.count(asked).await, 1);
}

fn reconciliation() -> Reconciliation {
    let both = BothValues { source: Some("a".to_owned()), target: Some("b".to_owned()) };
    let sample = Difference {
        kind: DifferenceKind::Different,
        key: [("id".to_owned(), Some("1".to_owned()))].into(),
        columns: [("name".to_owned(), both)].into(),
    };
    Reconciliation {
        depth: Depth::Rows,
        source_rows: 1,
        target_rows: 2,
        missing: Some(3),
        extra: Some(4),
        different: Some(5),
        in_flight: 6,
        control_column: "modified".to_owned(),
        source_min: Some("c".to_owned()),
        source_max: Some("d".to_owned()),
        target_min: Some("e".to_owned()),
        target_max: Some("f".to_owned()),
        verdict: Verdict::Drift,
        sample: vec![sample],
        note: Some("g".to_owned()),
        repaired: Some(Repaired { written: 7, removed: 8 }),
        took_ms: 9,
    }
}

fn replay() -> Replay {
    let mut replay = Replay { left: 1, took_ms: 2, ..Replay::default() };
    replay.note(ReplayedLetter { id: 3, outcome: ReplayOutcome::Refused, error: Some("no".to_owned()) });
    replay
}

fn rows() -> Preview {
    Preview {
        columns: vec![PreviewColumn { name: "id".to_owned(), type_name: "bigint".to_owned() }],
        rows: vec![serde_json::value::to_raw_value(&json!({"id": 1})).unwrap()],
        omitted: 2,
        refused: vec!["no".to_owned()],
        took_ms: 3,
    }
}

/// Answers have a description of their own, and no field that a worker writes may be lost between the two.
#[tokio::test]
async fn every_field_that_a_worker_writes_is_in_the_answer() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    for (path, written) in [
        ("reconcile", serde_json::to_value(reconciliation()).unwrap()),
        ("dead-letters/replay", serde_json::to_value(replay()).unwrap()),
        ("preview", serde_json::to_value(rows()).unwrap()),
    ] {
        let end = format!(
            "update etl.etl_reports set status = 'DONE', finished_at = now(), result = '{written}' where status = 'QUEUED'"
        );
        let request = api.post(&format!("/pipelines/genres/{path}?wait=15"));
        let (answer, ()) = tokio::join!(expect(request, StatusCode::OK), simulate_worker(&api, &end));
        assert_eq!(answer, written, "{path}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_comparison_is_said_before_it_is_queued() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let reconcile = || api.post("/pipelines/genres/reconcile?wait=0");
    let cases = [
        (json!({"depth": "deep"}), "depth", "unknown variant"),
        (json!({"depth": "rows", "repair": "some"}), "repair", "takes true, false or \"all\""),
        (json!({"depth": "counts", "repair": true}), "repair", "needs the depth keys or rows"),
        (json!({"deep": true}), "deep", "unknown field"),
    ];
    for (body, field, message) in cases {
        let problem = expect_problem(reconcile().json(&body), 422, "invalid").await;
        assert!(messages(&problem, field).concat().contains(message), "{problem}");
    }
    expect_problem(api.post("/pipelines/nope/reconcile?wait=0"), 404, "not-found").await;
    api.run("genres").await;
    let problem =
        expect_problem(reconcile().json(&json!({"depth": "rows", "repair": true})), 409, "illegal-state").await;
    assert!(problem["detail"].as_str().unwrap().contains("while it is RUN_REQUESTED"), "{problem}");
    assert_eq!(api.count("select count(*) from etl.etl_reports").await, 0);
    expect(reconcile(), StatusCode::ACCEPTED).await;
}

fn masked(name: &str, target: &str) -> Value {
    json!({
        "name": name, "mode": "full", "target_table": target, "type": "RUST",
        "tasks": [
            {"order_index": 1, "task_type": "SQL", "body": "select id as genre_id, name, description, modified from content.genre"},
            {"order_index": 2, "task_type": "RUST", "body": "mask", "options": {"columns": ["description"]}},
        ],
    })
}

#[tokio::test]
async fn transforms_keep_the_rows_of_a_mart_from_being_compared_but_not_those_of_an_index() {
    let api = Api::start().await;
    expect(api.post("/targets").json(&json!({"target": "es:genres", "key": ["genre_id"]})), StatusCode::CREATED).await;
    api.create(&masked("mart", "analytics.genre_dim")).await;
    api.create(&masked("index", "es:genres")).await;
    let rows = json!({"depth": "rows", "repair": true});
    let problem = expect_problem(api.post("/pipelines/mart/reconcile?wait=0").json(&rows), 422, "invalid").await;
    assert!(messages(&problem, "depth").concat().contains("reset it"), "{problem}");
    let keys = json!({"depth": "keys", "repair": true});
    let problem = expect_problem(api.post("/pipelines/mart/reconcile?wait=0").json(&keys), 422, "invalid").await;
    assert!(messages(&problem, "repair").concat().contains("a run repairs them"), "{problem}");

    expect(api.post("/pipelines/index/reconcile?wait=0").json(&rows), StatusCode::ACCEPTED).await;
    expect(api.post("/pipelines/index/dead-letters/replay?wait=0"), StatusCode::ACCEPTED).await;
}
