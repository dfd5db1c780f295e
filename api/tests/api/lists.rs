//! What is listed: pipelines page by page, transforms, workers.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, messages};

#[tokio::test]
async fn a_list_is_walked_page_by_page_without_loss() {
    let api = Api::start().await;
    let wanted: Vec<String> = (0..7).map(|number| format!("genres-{number}")).collect();
    for name in &wanted {
        api.create_genres(name).await;
    }

    let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = api.show(&format!("/pipelines?limit=3{cursor}")).await;
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        assert_eq!(items.len(), 3);
        cursor = format!("&cursor={next}");
    }

    assert_eq!((found, pages), (wanted, 3));
}

#[tokio::test]
async fn a_page_that_is_just_full_is_the_last_one() {
    let api = Api::start().await;
    api.create_genres("a").await;
    api.create_genres("b").await;
    assert_eq!(api.show("/pipelines?limit=2").await["next_cursor"], Value::Null);
}

#[tokio::test]
async fn a_list_is_filtered_by_status_and_by_enabled() {
    let api = Api::start().await;
    for name in ["a", "b", "c"] {
        api.create_genres(name).await;
    }
    api.run("a").await;
    expect(api.patch("/pipelines/c").json(&json!({"enabled": false})), StatusCode::OK).await;

    for (query, expected) in [
        ("", vec!["a", "b", "c"]),
        ("?status=RUN_REQUESTED", vec!["a"]),
        ("?status=IDLE", vec!["b", "c"]),
        ("?enabled=true", vec!["a", "b"]),
        ("?enabled=false", vec!["c"]),
        ("?status=IDLE&enabled=true", vec!["b"]),
        ("?status=FAILED", vec![]),
    ] {
        let list = api.show(&format!("/pipelines{query}")).await;
        let found: Vec<&str> =
            list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn a_wrong_parameter_is_named() {
    let api = Api::start().await;
    for (query, field) in [
        ("status=idle", "status"),
        ("enabled=yes", "enabled"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("limit=1&limit=2", "limit"),
        ("colour=red", "colour"),
        ("cursor=%00", "cursor"),
    ] {
        let problem = expect_problem(api.get(&format!("/pipelines?{query}")), 422, "invalid").await;
        assert_eq!(messages(&problem, field).len(), 1, "{query}: {problem}");
    }
}

#[tokio::test]
async fn transforms_are_listed_with_the_schema_of_their_options() {
    let api = Api::start().await;
    let items = api.show("/transforms").await["items"].clone();
    let names: Vec<_> = items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cast", "filter", "hash", "http", "json_extract", "mask", "rename", "select", "set", "trim"]);
    for item in items.as_array().unwrap() {
        let schema = &item["options_schema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{item}");
    }
    assert_eq!(items[5]["options_schema"]["required"], json!(["columns"]));
}

#[tokio::test]
async fn live_workers_are_shown_with_the_batches_in_their_hands() {
    let api = Api::start().await;
    assert_eq!(api.show("/workers").await, json!({"items": []}));
    api.create_genres("genres").await;
    api.run("genres").await;
    sqlx::raw_sql(
        "insert into apalis.workers (id, worker_type, storage_name, last_seen, started_at) values
             ('alive', 'vitrina:batches', 'test', now(), now() - interval '1 hour'),
             ('gone', 'vitrina:batches', 'test', now() - interval '1 hour', now()),
             ('other', 'another queue', 'test', now(), now());
         update apalis.jobs set status = 'Running', lock_by = 'alive'",
    )
    .execute(api.db.pool())
    .await
    .unwrap();

    let workers = api.show("/workers").await;

    let [alive] = &workers["items"].as_array().unwrap()[..] else { panic!("{workers}") };
    assert_eq!((&alive["name"], &alive["jobs"]), (&json!("alive"), &json!(1)));
    assert!(alive["last_heartbeat"].is_string() && alive["started_at"].is_string());
}
