//! Changing and removing pipelines.

use std::time::Duration;

use reqwest::{StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, genres_but, messages};

#[tokio::test]
async fn a_change_keeps_what_it_leaves_out_and_counts_the_version_up() {
    let api = Api::start().await;
    let created = api.create(&genres_but(&json!({"options": {"lookback_seconds": 60}}))).await;

    let change = api.patch("/pipelines/genres").json(&json!({"batch_size": 7, "description": "by hand"}));
    let response = change.send().await.unwrap();

    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[header::ETAG], "\"2\"");
    let changed: Value = response.json().await.unwrap();
    let mut expected = created;
    expected["batch_size"] = json!(7);
    expected["description"] = json!("by hand");
    expected["version"] = json!(2);
    expected["updated_at"] = changed["updated_at"].clone();
    assert_eq!(changed, expected);
    assert_eq!(api.show("/pipelines/genres").await, changed);
}

#[tokio::test]
async fn null_clears_what_may_be_empty() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let to_full = json!({"mode": "full", "incremental_key": null, "incremental_id_key": null});

    let changed = expect(api.patch("/pipelines/genres").json(&to_full), StatusCode::OK).await;

    assert_eq!((&changed["incremental_key"], &changed["incremental_id_key"]), (&Value::Null, &Value::Null));
    let cleared =
        expect_problem(api.patch("/pipelines/genres").json(&json!({"source_query": null})), 422, "invalid").await;
    assert_eq!(messages(&cleared, "source_query"), ["a pipeline needs a query here or a plan in `tasks`"]);
}

#[tokio::test]
async fn a_change_is_validated_as_a_whole() {
    let api = Api::start().await;
    api.create_genres("genres").await;

    let other_target = api.patch("/pipelines/genres").json(&json!({"target_table": "analytics.film_dim"}));
    let problem = expect_problem(other_target, 422, "invalid").await;

    assert!(messages(&problem, "target_table")[0].contains("the query lacks `film_id`"), "{problem}");
    assert_eq!(api.show("/pipelines/genres").await["version"], 1);
}

#[tokio::test]
async fn if_match_lets_a_change_through_only_at_the_version_it_is_based_on() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let change =
        |tag: &str| api.patch("/pipelines/genres").header(header::IF_MATCH, tag).json(&json!({"batch_size": 5}));

    expect(change("\"1\""), StatusCode::OK).await;
    let problem = expect_problem(change("\"1\""), 412, "stale-version").await;
    assert_eq!(problem["detail"], "the pipeline was changed meanwhile: it is at version 2 now");
    expect_problem(change("\"not-ours\""), 412, "stale-version").await;
    expect(change("\"7\", \"2\""), StatusCode::OK).await;
    expect(change("*"), StatusCode::OK).await;
    assert_eq!(api.show("/pipelines/genres").await["version"], 4);
    let twice = change("\"9\"").header(header::IF_MATCH, "\"4\"");
    expect(twice, StatusCode::OK).await;
}

#[tokio::test]
async fn a_weak_tag_never_matches_and_what_is_no_tag_is_malformed() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let requests = |tag: &'static str| {
        let change = api.patch("/pipelines/genres").json(&json!({"batch_size": 5}));
        [change, api.delete("/pipelines/genres")].map(|request| request.header(header::IF_MATCH, tag))
    };
    for tag in ["W/\"1\"", "W/\"1\", W/\"2\""] {
        for request in requests(tag) {
            let problem = expect_problem(request, 412, "stale-version").await;
            assert!(problem["detail"].as_str().unwrap().contains("without `W/`"), "{problem}");
        }
    }
    for tag in ["1", "\"1", "*, \"1\"", "\"1\" \"2\""] {
        for request in requests(tag) {
            let problem = expect_problem(request, 400, "bad-request").await;
            assert!(problem["detail"].as_str().unwrap().contains("`ETag`"), "{problem}");
        }
    }
    let pipeline = api.show("/pipelines/genres").await;
    assert_eq!((&pipeline["version"], &pipeline["batch_size"]), (&json!(1), &json!(100)));
}

#[tokio::test]
async fn changes_at_once_are_all_made_one_after_the_other() {
    let api = Api::start().await;
    api.create_genres("genres").await;

    let changes = [("batch_size", json!(5)), ("description", json!("five")), ("enabled", json!(false))];
    let requests = changes
        .clone()
        .map(|(field, value)| expect(api.patch("/pipelines/genres").json(&json!({field: value})), StatusCode::OK));
    futures_util::future::join_all(requests).await;

    let pipeline = api.show("/pipelines/genres").await;
    for (field, value) in changes {
        assert_eq!(pipeline[field], value);
    }
    assert_eq!(pipeline["version"], 4);
}

#[tokio::test]
async fn no_change_without_if_match_is_refused_because_others_change_the_pipeline_too() {
    // The machine may be busy: how long a change takes is not what is tried.
    let api = Api::start_with(&[("VITRINA_REQUEST_TIMEOUT_SECONDS", "60")]).await;
    api.create_genres("genres").await;
    let query =
        |n: i64| format!("select id as genre_id, name, description, modified from content.genre where {n} = {n}");
    let requests = (1..=12).map(|n| {
        let change = if n % 2 == 0 { json!({"batch_size": n}) } else { json!({"source_query": query(n)}) };
        api.patch("/pipelines/genres").timeout(Duration::from_secs(60)).json(&change).send()
    });
    let answers = futures_util::future::join_all(requests).await;
    let statuses: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
    assert_eq!(statuses, vec![200; 12]);
    assert_eq!(api.show("/pipelines/genres").await["version"], 13);
}

#[tokio::test]
async fn while_a_run_is_unfinished_what_it_stands_on_must_stay() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.run("genres").await;
    let plan = json!([{"order_index": 1, "task_type": "SQL", "body": "select id as genre_id, name, modified from content.genre"}]);
    let forbidden = [
        ("name", json!("other")),
        ("mode", json!("full")),
        ("source_query", json!("select id as genre_id, name, modified from content.genre")),
        ("target_table", json!("analytics.film_dim")),
        ("incremental_key", json!("genre_id")),
        ("incremental_id_key", json!("name")),
        ("options", json!({"null_keys": "first"})),
        ("tasks", plan),
    ];
    for (status, run) in
        [("RUN_REQUESTED", "QUEUED"), ("RUNNING", "RUNNING"), ("PAUSE_REQUESTED", "RUNNING"), ("PAUSED", "PAUSED")]
    {
        api.simulate_worker("genres", status, run).await;
        for (field, value) in &forbidden {
            let change = api.patch("/pipelines/genres").json(&json!({*field: value}));
            let problem = expect_problem(change, 409, "illegal-state").await;
            let sentence =
                format!("cannot change pipeline `genres` while it is {status}: {field} must stay until its run ends");
            assert_eq!(problem["detail"], sentence);
        }
        let allowed = json!({"batch_size": 9, "description": status, "name": "genres"});
        expect(api.patch("/pipelines/genres").json(&allowed), StatusCode::OK).await;
    }
}

#[tokio::test]
async fn disabling_a_running_pipeline_pauses_it_after_the_current_batch() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    api.run("genres").await;
    api.simulate_worker("genres", "RUNNING", "RUNNING").await;

    let disabled = expect(api.patch("/pipelines/genres").json(&json!({"enabled": false})), StatusCode::OK).await;

    assert_eq!((&disabled["status"], &disabled["enabled"]), (&json!("PAUSE_REQUESTED"), &json!(false)));
    expect_problem(api.post("/pipelines/genres/run"), 409, "illegal-state").await;
}

#[tokio::test]
async fn a_removed_pipeline_is_gone_and_its_log_stays() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let run = api.run("genres").await["run_id"].as_str().unwrap().to_owned();
    expect(api.post("/pipelines/genres/cancel"), StatusCode::ACCEPTED).await;

    let removed = api.delete("/pipelines/genres").send().await.unwrap();

    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    assert_eq!(removed.text().await.unwrap(), "");
    expect_problem(api.get("/pipelines/genres"), 404, "not-found").await;
    expect_problem(api.get(&format!("/runs/{run}")), 404, "not-found").await;
    expect_problem(api.delete("/pipelines/genres"), 404, "not-found").await;
    assert_eq!(api.count("select count(*) from etl.etl_transitions").await, 2);
    api.create_genres("genres").await;
}

#[tokio::test]
async fn an_active_pipeline_or_a_stale_version_is_not_removed() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let stale = api.delete("/pipelines/genres").header(header::IF_MATCH, "\"9\"");
    expect_problem(stale, 412, "stale-version").await;
    api.run("genres").await;

    let problem = expect_problem(api.delete("/pipelines/genres"), 409, "illegal-state").await;

    assert_eq!(problem["detail"], "cannot delete pipeline `genres` while it is RUN_REQUESTED: cancel its run first");
}
