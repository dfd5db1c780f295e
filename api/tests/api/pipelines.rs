//! Creating and showing pipelines, and what surrounds them.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, genres, genres_but};

#[tokio::test]
async fn a_created_pipeline_is_found_by_id_and_by_name() {
    let api = Api::start().await;

    let response = api.post("/pipelines").json(&genres("genres")).send().await.unwrap();

    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()[header::ETAG], "\"1\"");
    let location = response.headers()[header::LOCATION].to_str().unwrap().to_owned();
    let created: Value = response.json().await.unwrap();
    assert_eq!(location, format!("/api/v1/pipelines/{}", created["id"].as_str().unwrap()));
    let by_location: Value = expect(api.raw(Method::GET, &location), StatusCode::OK).await;
    assert_eq!(by_location, created);
    let by_name = api.get("/pipelines/genres").send().await.unwrap();
    assert_eq!(by_name.headers()[header::ETAG], "\"1\"");
    assert_eq!(by_name.json::<Value>().await.unwrap(), created);
}

#[tokio::test]
async fn a_pipeline_has_every_field_of_the_contract() {
    let api = Api::start().await;

    let created = api.create_genres("genres").await;

    let fields = [
        "id",
        "name",
        "description",
        "type",
        "mode",
        "source_query",
        "target_table",
        "batch_size",
        "incremental_key",
        "incremental_id_key",
        "enabled",
        "status",
        "tasks",
        "options",
        "version",
        "created_at",
        "updated_at",
    ];
    assert_eq!(names(&created), BTreeSet::from(fields.map(str::to_owned)));
    assert_eq!(created["type"], "SQL");
    assert_eq!((&created["status"], &created["enabled"]), (&json!("IDLE"), &json!(true)));
    assert_eq!((&created["tasks"], &created["options"]), (&json!([]), &json!({})));
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn what_is_left_out_has_a_default() {
    let api = Api::start().await;
    let small = json!({
        "name": "all-genres",
        "mode": "full",
        "source_query": "select id as genre_id, name, modified from content.genre",
        "target_table": "analytics.genre_dim",
    });

    let created = api.create(&small).await;

    assert_eq!((&created["batch_size"], &created["enabled"]), (&json!(1000), &json!(true)));
    assert_eq!((&created["description"], &created["incremental_key"]), (&json!(""), &Value::Null));
}

#[tokio::test]
async fn a_plan_of_one_sql_step_is_stored_and_shown_as_it_was_sent() {
    let api = Api::start().await;
    let step = json!({
        "order_index": 1,
        "task_type": "SQL",
        "body": "select id as genre_id, name, description, modified from content.genre",
        "target_table": "analytics.genre_dim",
        "options": {"note": [1, 2.5, "three"]},
    });
    let planned = genres_but(&json!({"source_query": null, "tasks": [step], "options": {"null_keys": "first"}}));

    let created = api.create(&planned).await;

    assert_eq!(created["tasks"], json!([step]));
    assert_eq!(created["options"], json!({"null_keys": "first"}));
    assert_eq!(created["source_query"], Value::Null);
    assert_eq!(api.show("/pipelines/genres").await, created);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.create_genres("other").await;

    let problem = expect_problem(api.post("/pipelines").json(&genres("genres")), 409, "conflict").await;
    assert_eq!(problem["detail"], "a pipeline named `genres` exists already");
    let renamed = api.patch("/pipelines/other").json(&json!({"name": "genres"}));
    expect_problem(renamed, 409, "conflict").await;
}

#[tokio::test]
async fn the_status_shows_the_unfinished_run_and_its_progress() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let idle = json!({"status": "IDLE", "enabled": true, "active_run": null, "progress": null});
    assert_eq!(api.show("/pipelines/genres/status").await, idle);

    let run = api.run("genres").await["run_id"].clone();
    let queued = api.show("/pipelines/genres/status").await;
    assert_eq!((&queued["status"], &queued["active_run"]["id"]), (&json!("RUN_REQUESTED"), &run));
    let nothing_yet = json!({"rows_read": 0, "rows_total": null, "rows_per_second": null, "eta_seconds": null});
    assert_eq!(queued["progress"], nothing_yet);

    api.simulate_worker("genres", "RUNNING", "RUNNING").await;
    sqlx::query("update etl.etl_runs set rows_read = 100, rows_total = 400, started_at = now() - interval '10 s'")
        .execute(api.db.pool())
        .await
        .unwrap();
    let running = api.show("/pipelines/genres/status").await;
    assert_eq!((&running["progress"]["rows_read"], &running["progress"]["rows_total"]), (&json!(100), &json!(400)));
    let (speed, eta) = (&running["progress"]["rows_per_second"], &running["progress"]["eta_seconds"]);
    assert!((5.0..=10.0).contains(&speed.as_f64().unwrap()), "{speed}");
    assert!((30.0..=60.0).contains(&eta.as_f64().unwrap()), "{eta}");
}

#[tokio::test]
async fn the_state_shows_the_checkpoint_as_the_server_wrote_it() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let nothing = json!({"checkpoint": null, "run_id": null, "batch": null, "updated_at": null});
    assert_eq!(api.show("/pipelines/genres/state").await, nothing);

    let run = api.run("genres").await["run_id"].clone();
    sqlx::query(
        "insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
         select pipeline_id, '2024-02-03 04:05:06.789012+00', '42', id, 3 from etl.etl_runs",
    )
    .execute(api.db.pool())
    .await
    .unwrap();

    let state = api.show("/pipelines/genres/state").await;
    assert_eq!(state["checkpoint"], json!({"key": "2024-02-03 04:05:06.789012+00", "id": "42"}));
    assert_eq!((&state["run_id"], &state["batch"]), (&run, &json!(3)));
    assert!(state["updated_at"].is_string());
}

#[tokio::test]
async fn a_query_that_returns_its_keys_as_another_type_forgets_the_checkpoint() {
    let api = Api::start().await;
    let placed_by = |place: &str| {
        let query = format!("select id as genre_id, name, description, modified, {place} as place from content.genre");
        json!({"source_query": query, "incremental_id_key": "place"})
    };
    api.create(&genres_but(&placed_by("42::bigint"))).await;
    sqlx::query(
        "insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
         select id, '2024-02-03 04:05:06+00', '42', gen_random_uuid(), 3 from etl.etl_pipelines",
    )
    .execute(api.db.pool())
    .await
    .unwrap();
    let checkpoint = async || api.show("/pipelines/genres/state").await["checkpoint"].clone();
    expect(api.patch("/pipelines/genres").json(&placed_by("41::bigint + 1")), StatusCode::OK).await;
    assert_eq!(checkpoint().await["id"], "42");

    expect(api.patch("/pipelines/genres").json(&placed_by("'42'::text")), StatusCode::OK).await;
    assert_eq!(checkpoint().await, json!(null));
}
