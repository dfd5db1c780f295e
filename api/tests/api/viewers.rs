//! What a viewer sees of rows: nothing, unless the deployment allows it.
//!
//! Every answer is searched for the one value that stands in all of them.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, expect, genres};

const TOKENS: (&str, &str) = ("VITRINA_TOKENS", "vera:viewer:vera-secret-12345,oleg:operator:oleg-secret-12345");
const VERA: &str = "vera-secret-12345";
const OLEG: &str = "oleg-secret-12345";
const VALUE: &str = "anna@example.org";

/// Does what workers would: a run that failed on a row, its log, a dead letter and a report of each kind.
const ROWS_EVERYWHERE: &str = r#"
    update etl.etl_runs set error = 'invalid input syntax for type integer: "anna@example.org" (SQLSTATE 22P02)',
        error_class = 'Fatal', started_at = now();
    insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
    select id, name, 'RUNNING', 'FAILED', 'worker', 'row anna@example.org: column `mail` is no text' from etl.etl_pipelines;
    insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class)
    select id, gen_random_uuid(), 3, '{"mail": "anna@example.org"}', '{"mail": "anna@example.org"}',
        'Key (mail)=(anna@example.org) already exists. (SQLSTATE 23505)', 'Row' from etl.etl_pipelines;
    insert into etl.etl_reports (id, pipeline_id, request, requested_by, correlation_id, status, finished_at, result, error)
    select gen_random_uuid(), p.id, r.request::jsonb, 'oleg', 'x', 'DONE', now(), r.result::jsonb,
        'Elasticsearch refuses document `anna@example.org`: too old'
    from etl.etl_pipelines p, (values
        ('{"kind": "preview", "rows": 2}', '{"columns": [{"name": "mail", "type": "text"}],
          "rows": [{"mail": "anna@example.org"}, {"mail": "x"}], "omitted": 1,
          "refused": ["For input string: \"anna@example.org\"", "anna@example.org earns too much (SQLSTATE 23514)"], "took_ms": 3}'),
        ('{"kind": "reconcile", "depth": "rows", "repair": "nothing"}', '{"depth": "rows", "source_rows": 5, "target_rows": 4,
          "missing": 1, "extra": 0, "different": 0, "in_flight": 0, "control_column": "mail", "source_min": "anna@example.org",
          "source_max": "x", "target_min": "anna@example.org", "target_max": "x", "verdict": "drift",
          "sample": [{"kind": "missing", "key": {"mail": "anna@example.org"}, "columns": {}}], "repaired": null, "took_ms": 4}'),
        ('{"kind": "replay", "ids": null}', '{"letters": [{"id": 7, "outcome": "refused", "error": "anna@example.org earns too much (SQLSTATE 23514)"},
          {"id": 8, "outcome": "refused", "error": "document_parsing_exception: anna@example.org earns too much"}],
          "written": 0, "unchanged": 0, "gone": 0, "refused": 2, "not_open": 0, "left": 1, "took_ms": 5}')
    ) as r (request, result);"#;

async fn start(settings: &[(&str, &str)]) -> Api {
    let api = Api::start_with(settings).await;
    let created = api.post("/pipelines").bearer_auth(OLEG).json(&genres("genres"));
    expect(created, StatusCode::CREATED).await;
    expect(api.post("/pipelines/genres/run").bearer_auth(OLEG), StatusCode::ACCEPTED).await;
    sqlx::raw_sql(ROWS_EVERYWHERE).execute(api.db.admin()).await.unwrap();
    api
}

/// Everything that may hold values, as the bearer of this token sees it.
async fn seen(api: &Api, token: &str) -> Vec<(String, String)> {
    let run: String = sqlx::query_scalar("select id::text from etl.etl_runs").fetch_one(api.db.pool()).await.unwrap();
    let reports: Vec<String> =
        sqlx::query_scalar("select id::text from etl.etl_reports").fetch_all(api.db.pool()).await.unwrap();
    assert_eq!(reports.len(), 3);
    let mut paths: Vec<String> =
        ["runs", "status", "dead-letters"].map(|part| format!("/pipelines/genres/{part}")).into();
    paths.push(format!("/runs/{run}"));
    paths.extend(reports.iter().map(|id| format!("/reports/{id}")));
    paths.push("/events?last=10&follow=false".to_owned());
    let mut seen = Vec::new();
    for path in paths {
        let response = api.request(Method::GET, &path).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        seen.push((path, response.text().await.unwrap()));
    }
    seen
}

fn report(seen: &[(String, String)], kind: &str) -> Value {
    let reports = seen.iter().filter(|(path, _)| path.starts_with("/reports/"));
    let mut reports = reports.map(|(_, text)| serde_json::from_str::<Value>(text).unwrap());
    reports.find(|report| report["kind"] == kind).unwrap()
}

#[tokio::test]
async fn a_viewer_sees_what_went_wrong_and_no_value_of_a_row() {
    let api = start(&[TOKENS]).await;
    let seen = seen(&api, VERA).await;
    for (path, text) in &seen {
        assert!(!text.contains(VALUE), "{path}: {text}");
    }
    let runs: Value = serde_json::from_str(&seen[0].1).unwrap();
    assert_eq!(runs["items"][0]["error"], "the database refused it (SQLSTATE 22P02); an operator sees its message");
    assert_eq!(runs["items"][0]["error_class"], "Fatal");
    let letters: Value = serde_json::from_str(&seen[2].1).unwrap();
    let letter = &letters["items"][0];
    assert_eq!((&letter["key"], &letter["row"]), (&Value::Null, &Value::Null));
    assert_eq!(letter["error"], "the database refused it (SQLSTATE 23505); an operator sees its message");
    assert_eq!((&letter["batch"], &letter["error_class"]), (&json!(3), &json!("Row")));
    assert!(letter["id"].is_i64() && letter["created_at"].is_string(), "{letter}");
    assert!(seen.last().unwrap().1.contains("row …: column `mail` is no text"));

    let preview = report(&seen, "preview");
    assert_eq!(preview["error"], "Elasticsearch refused it; an operator sees its message");
    let result = &preview["result"];
    assert_eq!((&result["rows"], &result["omitted"]), (&json!([]), &json!(3)));
    assert_eq!(result["columns"], json!([{"name": "mail", "type": "text"}]));
    let reconcile = report(&seen, "reconcile");
    let result = &reconcile["result"];
    assert_eq!(
        (&result["sample"], &result["source_min"], &result["target_max"]),
        (&json!([]), &Value::Null, &Value::Null)
    );
    assert_eq!((&result["missing"], &result["verdict"]), (&json!(1), &json!("drift")));
    let replay = report(&seen, "replay");
    assert_eq!(
        replay["result"]["letters"],
        json!([
            {"id": 7, "outcome": "refused", "error": "the database refused it (SQLSTATE 23514); an operator sees its message"},
            {"id": 8, "outcome": "refused", "error": "Elasticsearch refused it (document_parsing_exception); an operator sees its message"},
        ])
    );
}

#[tokio::test]
async fn operators_see_every_value_and_so_do_viewers_where_that_is_allowed() {
    let api = start(&[TOKENS]).await;
    for (path, text) in seen(&api, OLEG).await {
        assert!(text.contains(VALUE), "{path}: {text}");
    }
    let api = start(&[TOKENS, ("VITRINA_VIEWERS_SEE_VALUES", "true")]).await;
    for (path, text) in seen(&api, VERA).await {
        assert!(text.contains(VALUE), "{path}: {text}");
    }
}

#[tokio::test]
async fn without_tokens_everyone_is_local_and_sees_every_value() {
    let api = start(&[]).await;
    for (path, text) in seen(&api, "none is asked for").await {
        assert!(text.contains(VALUE), "{path}: {text}");
    }
}
