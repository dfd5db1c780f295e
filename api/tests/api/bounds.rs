//! Everything that a client may send as a list or an object has an end, and what is beyond it is 422 by field.

use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::support::{Api, expect, expect_problem, genres_but, messages};

const SQL: &str = "select id as genre_id, name, description, modified from content.genre";

/// A plan that reads the genres, with these options, and goes on with these transforms.
fn plan(options: Value, transforms: Vec<(&str, Value)>) -> Value {
    let mut steps = vec![json!({"order_index": 1, "task_type": "SQL", "body": SQL, "options": options})];
    for (name, options) in transforms {
        let place = steps.len() + 1;
        steps.push(json!({"order_index": place, "task_type": "RUST", "body": name, "options": options}));
    }
    json!({ "tasks": steps })
}

fn masks(count: usize) -> Value {
    masks_of("description", count)
}

fn masks_of(column: &str, count: usize) -> Value {
    plan(json!({}), vec![("mask", json!({ "columns": [column] })); count])
}

fn renames(count: usize) -> Value {
    let columns: Map<String, Value> = (0..count).map(|n| (format!("a{n}"), json!(format!("b{n}")))).collect();
    plan(json!({}), vec![("rename", json!({ "columns": columns }))])
}

fn masked(columns: Value) -> Value {
    plan(json!({}), vec![("mask", json!({ "columns": columns }))])
}

fn deep(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

#[tokio::test]
async fn a_pipeline_with_too_much_of_anything_is_refused_by_field() {
    let api = Api::start().await;
    api.create(&genres_but(&json!({"name": "here"}))).await;
    let large = json!({"note": "x".repeat(64 * 1024)});
    for (changes, field, reason) in [
        (masks(32), "tasks", "a plan has at most 32 steps, this one has 33"),
        // Each of these steps is wrong by itself too: it changes the target's key.
        (masks_of("genre_id", 3000), "tasks", "a plan has at most 32 steps, this one has 3001"),
        (plan(large.clone(), vec![]), "tasks[0].options", "at most 65536 bytes"),
        (plan(json!({}), vec![("mask", large)]), "tasks[1].options", "at most 65536 bytes"),
        (plan(deep(17), vec![]), "tasks[0].options", "nested at most 16 deep"),
        (masked(json!(vec!["name"; 201])), "tasks[1].options", "columns: at most 200 columns"),
        (masked(json!(["x".repeat(64)])), "tasks[1].options", "columns: a column's name has 1 to 63 bytes"),
        (renames(201), "tasks[1].options", "columns: at most 200 columns"),
        (json!({"description": "x".repeat(2001)}), "description", "at most 2000 characters"),
        (json!({"incremental_key": "x".repeat(64)}), "incremental_key", "1 to 63 bytes"),
        (json!({"source_query": format!("{SQL} -- {}", "x".repeat(64 * 1024))}), "source_query", "65536"),
    ] {
        let posted = api.post("/pipelines").json(&genres_but(&changes));
        let patched = api.patch("/pipelines/here").json(&changes);
        for request in [posted, patched] {
            let problem = expect_problem(request, 422, "invalid").await;
            let found = messages(&problem, field);
            assert!(found.iter().any(|message| message.contains(reason)), "{field}: {problem}");
            assert!(problem["errors"].as_array().unwrap().len() < 10, "{problem}");
        }
        let found = expect(api.post("/pipelines/validate").json(&genres_but(&changes)), StatusCode::OK).await;
        assert!(messages(&found, field).iter().any(|message| message.contains(reason)), "{field}: {found}");
    }
    // A query that a plan has taken the place of is stored all the same.
    let mut unused = masks(1);
    unused["source_query"] = json!("x".repeat(64 * 1024 + 1));
    let problem = expect_problem(api.post("/pipelines").json(&genres_but(&unused)), 422, "invalid").await;
    assert_eq!(messages(&problem, "source_query"), ["a query has at most 65536 bytes"]);
}

#[tokio::test]
async fn a_pipeline_at_its_bounds_is_stored() {
    let api = Api::start().await;
    for (name, changes) in [("steps", masks(31)), ("deep", plan(deep(16), vec![]))] {
        let mut pipeline = genres_but(&changes);
        pipeline["name"] = json!(name);
        api.create(&pipeline).await;
    }
}

#[tokio::test]
async fn a_target_with_too_much_of_anything_is_refused_by_field() {
    let api = Api::start_with(&[("VITRINA_CREATE_TARGETS", "true")]).await;
    let many: Vec<String> = (0..3000).map(|n| format!("column_{n}")).collect();
    let large = json!({"settings": {"note": "x".repeat(64 * 1024)}});
    for target in ["analytics.genre_dim", "es:genres", "analytics.new"] {
        for (changes, field, reason) in [
            (json!({ "key": many }), "key", "1 to 16 columns"),
            (json!({ "options": large }), "options", "at most 65536 bytes"),
            (json!({"options": {"mappings": deep(16)}}), "options", "nested at most 16 deep"),
            (
                json!({"create": {"source_query": format!("{SQL} -- {}", "x".repeat(64 * 1024))}}),
                "create.source_query",
                "65536",
            ),
        ] {
            if field == "create.source_query" && target != "analytics.new" {
                continue;
            }
            let mut wanted = json!({"target": target, "key": ["genre_id"]});
            wanted.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            for path in ["/targets", "/targets?dry_run=true"] {
                let problem = expect_problem(api.post(path).json(&wanted), 422, "invalid").await;
                assert!(messages(&problem, field).concat().contains(reason), "{target} {field}: {problem}");
                assert!(problem["errors"].as_array().unwrap().len() < 10, "{problem}");
            }
        }
    }
}
