//! Steps in Python: listed while a worker has them, and refused with what is missing.

use serde_json::{Value, json};
use sqlx::types::Json;

use crate::support::{Api, expect, expect_problem, genres_but, messages};

fn step(name: &str, columns: &Value) -> Value {
    json!({
        "name": name, "description": "Makes a slug", "per_row": true, "is_pure": true, "version": "0123456789abcdef",
        "options_schema": {"type": "object", "properties": {"sign": {"type": "string"}}},
        "columns": columns, "removes": [], "needs": ["name"],
    })
}

/// Does what a worker does that has these steps; `seen` is when it reported last.
async fn publish(api: &Api, worker: &str, seen: &str, steps: &[Value]) {
    sqlx::query(
        "with w as (insert into apalis.workers (id, worker_type, storage_name, last_seen, started_at)
                    values ($1, 'vitrina:batches', 'test', now() + $2::interval, now()))
         insert into etl.etl_worker_steps (worker, name, version, declaration)
         select $1, s ->> 'name', s ->> 'version', s from unnest($3::jsonb[]) as s",
    )
    .bind(worker)
    .bind(seen)
    .bind(steps.iter().map(Json).collect::<Vec<_>>())
    .execute(api.db.pool())
    .await
    .unwrap();
}

fn described() -> Value {
    json!([{"name": "description", "type_name": "text", "type_oid": 25}])
}

fn through(name: &str, options: &Value) -> Value {
    let query = "select id as genre_id, name, modified from content.genre";
    genres_but(&json!({
        "source_query": null, "type": "PYTHON",
        "tasks": [
            {"order_index": 1, "task_type": "SQL", "body": query},
            {"order_index": 2, "task_type": "PYTHON", "body": name, "options": options},
        ],
    }))
}

#[tokio::test]
async fn steps_of_live_workers_are_listed_beside_the_built_in_transforms() {
    let api = Api::start().await;
    publish(&api, "one", "0", &[step("slug", &described()), step("only_one", &json!([]))]).await;
    publish(&api, "two", "-10 s", &[step("slug", &described())]).await;
    publish(&api, "gone", "-5 min", &[step("lost", &json!([]))]).await;
    let items = api.show("/transforms").await["items"].clone();
    let listed = |kind: &str| -> Vec<String> {
        let items = items.as_array().unwrap().iter().filter(|item| item["kind"] == kind);
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed("PYTHON"), ["only_one", "slug"]);
    assert!(listed("RUST").contains(&"mask".to_owned()));
    let slug = items.as_array().unwrap().iter().find(|item| item["name"] == "slug").unwrap();
    assert_eq!((&slug["workers"], &slug["pure"]), (&json!(2), &json!(true)));
    assert_eq!(slug["columns"], json!({"description": "text"}));
    assert_eq!((&slug["version"], &slug["description"]), (&json!("0123456789abcdef"), &json!("Makes a slug")));
    assert_eq!(slug["options_schema"]["properties"]["sign"]["type"], "string");
}

/// As another version of Vitrina may write them while workers are renewed one after the other.
#[tokio::test]
async fn a_declaration_that_cannot_be_read_takes_no_other_step_away() {
    let api = Api::start().await;
    let but = |name: &str, field: &str| {
        let mut step = step(name, &described());
        step.as_object_mut().unwrap().remove(field);
        step
    };
    let newer = [but("slug", "columns"), but("strange", "columns"), but("plain", "is_pure")];
    publish(&api, "one", "0", &[step("slug", &described())]).await;
    publish(&api, "two", "0", &newer).await;
    let items = api.show("/transforms").await["items"].clone();
    let listed: Vec<_> = items.as_array().unwrap().iter().filter(|item| item["kind"] == "PYTHON").collect();
    assert_eq!(listed.iter().map(|item| item["name"].as_str().unwrap()).collect::<Vec<_>>(), ["plain", "slug"]);
    assert_eq!((&listed[0]["pure"], &listed[1]["workers"]), (&json!(false), &json!(2)));
    api.create(&through("slug", &json!({}))).await;
}

#[tokio::test]
async fn a_plan_with_a_step_that_no_live_worker_has_is_refused_with_what_would_be_right() {
    let api = Api::start().await;
    let refusal = async |pipeline: Value, field: &str| {
        let problem = expect_problem(api.post("/pipelines").json(&pipeline), 422, "invalid").await;
        messages(&problem, field).join("; ")
    };
    let none = refusal(through("slug", &json!({})), "tasks[1].body").await;
    assert_eq!(
        none,
        "no transform `slug` in Python is on a live worker: no live worker has steps in Python. Set VITRINA_PYTHON_PATH of a \
         worker to the directory of its code"
    );
    publish(&api, "gone", "-5 min", &[step("slug", &described())]).await;
    assert_eq!(refusal(through("slug", &json!({})), "tasks[1].body").await, none);

    let number = json!([{"name": "modified", "type_name": "integer", "type_oid": 23}]);
    let key = json!([{"name": "genre_id", "type_name": "uuid", "type_oid": 2950}]);
    let needy = json!({"needs": ["title"]});
    let mut needing = step("needs_title", &described());
    needing["needs"] = needy["needs"].clone();
    publish(&api, "one", "0", &[step("slug", &described()), step("counts", &number), step("rekeys", &key), needing])
        .await;
    for (name, options, field, expected) in [
        (
            "slugs",
            json!({}),
            "tasks[1].body",
            "is on a live worker: live workers have counts, needs_title, rekeys, slug",
        ),
        (
            "mask",
            json!({}),
            "tasks[1].body",
            "no transform `mask` is of type PYTHON: the step of this name is of type RUST",
        ),
        ("slug", json!({"sign": 1}), "tasks[1].options", "sign: is a string, not a number"),
        ("slug", json!({"colour": 1}), "tasks[1].options", "colour: there is no such option: the step has sign"),
        ("needs_title", json!({}), "tasks[1].options", "there is no column `title` at this step"),
        ("rekeys", json!({}), "tasks[1].options", "part of the target's key"),
        ("counts", json!({}), "tasks[0].body", "`modified`"),
    ] {
        let found = refusal(through(name, &options), field).await;
        assert!(found.contains(expected), "{name} {options}: {expected} is not in {found}");
    }
    let mut rust = through("slug", &json!({}));
    rust["tasks"][1]["task_type"] = json!("RUST");
    assert!(refusal(rust, "tasks[1].body").await.ends_with("the step of this name is of type PYTHON"));
    assert_eq!(api.show("/pipelines").await["items"], json!([]));
    api.create(&through("slug", &json!({"sign": "-"}))).await;
}

#[tokio::test]
async fn a_pipeline_can_be_switched_off_while_no_worker_has_its_step() {
    let api = Api::start().await;
    publish(&api, "one", "0", &[step("slug", &described())]).await;
    api.create(&through("slug", &json!({}))).await;
    sqlx::raw_sql("update apalis.workers set last_seen = 'epoch'").execute(api.db.pool()).await.unwrap();
    let off = expect(api.patch("/pipelines/genres").json(&json!({"enabled": false})), reqwest::StatusCode::OK).await;
    assert_eq!(off["enabled"], false);
    let changed = json!({"batch_size": 7});
    let problem = expect_problem(api.patch("/pipelines/genres").json(&changed), 422, "invalid").await;
    assert!(messages(&problem, "tasks[1].body")[0].contains("no live worker has steps in Python"), "{problem}");
}
