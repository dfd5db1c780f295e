//! Creating, showing, listing, changing and removing pipelines, and what surrounds them.

use std::{collections::BTreeSet, time::Duration};

use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, genres, genres_but, messages};

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

// --- lists

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

// --- change

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

// --- remove

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

// --- where it stands

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

// --- targets, transforms, workers

#[tokio::test]
async fn a_new_target_is_allowed_and_then_written_by_pipelines() {
    let api = Api::start().await;
    sqlx::raw_sql("create table analytics.titles (id uuid primary key, title text)")
        .execute(api.db.admin())
        .await
        .unwrap();
    let titles = json!({
        "name": "titles",
        "mode": "full",
        "source_query": "select id, title from content.film_work",
        "target_table": "analytics.titles",
    });
    let problem = expect_problem(api.post("/pipelines").json(&titles), 422, "invalid").await;
    assert!(messages(&problem, "target_table")[0].contains("is not in the whitelist"), "{problem}");
    assert_eq!(problem["errors"][0]["kind"], "target-not-allowed", "{problem}");

    let target = json!({"target": "analytics.titles", "key": ["id"]});
    let allowed = expect(api.post("/targets").json(&target), StatusCode::CREATED).await;

    assert_eq!((&allowed["target"], &allowed["key"]), (&target["target"], &target["key"]));
    let all = api.show("/targets").await;
    let listed = all["items"].as_array().unwrap().iter().find(|one| one["target"] == target["target"]).unwrap();
    assert_eq!((&listed["created_at"], &allowed["ddl"]), (&allowed["created_at"], &Value::Null), "{all}");
    api.create(&titles).await;
    let again = expect_problem(api.post("/targets").json(&target), 409, "conflict").await;
    assert_eq!(again["detail"], "target `analytics.titles` is in the whitelist already");
}

#[tokio::test]
async fn an_index_is_allowed_without_a_table() {
    let api = Api::start().await;
    let index = json!({"target": "es:film_dim", "key": ["film_id"], "options": {"refresh_interval": "5s"}});
    let allowed = expect(api.post("/targets").json(&index), StatusCode::CREATED).await;
    assert_eq!(allowed["options"], json!({"refresh_interval": "5s"}));
    let pipeline = json!({
        "name": "es_film_dim", "mode": "full", "target_table": "es:film_dim",
        "source_query": "select id as film_id, title, modified from content.film_work"
    });
    api.create(&pipeline).await;
}

#[tokio::test]
async fn what_an_index_cannot_have_is_refused_with_the_reason() {
    let api = Api::start().await;
    let wrong = json!({"target": "es:a", "key": ["id"], "options": {"shard": 3}});
    let problem = expect_problem(api.post("/targets").json(&wrong), 422, "invalid").await;
    assert!(
        messages(&problem, "options.shard").iter().any(|message| message.contains("expected one of `shards`")),
        "{problem}"
    );
    let wrong = json!({"target": "es:a", "key": ["id"], "options": {"replicas": 99}});
    let problem = expect_problem(api.post("/targets").json(&wrong), 422, "invalid").await;
    assert!(messages(&problem, "options.replicas").iter().any(|message| message.contains("0 to 32")), "{problem}");

    for (target, options) in
        [("es:plain", json!({})), ("es:u", json!({"write": "update"})), ("es:i", json!({"write": "index"}))]
    {
        let allow = json!({"target": target, "key": ["film_id"], "options": options});
        expect(api.post("/targets").json(&allow), StatusCode::CREATED).await;
    }
    let incremental = |target: &str, columns: &str, key: &str| {
        json!({
            "name": "films", "mode": "incremental", "target_table": target, "incremental_key": key,
            "incremental_id_key": "film_id", "source_query": format!("select id as film_id, {columns} from content.film_work")
        })
    };
    let mut swap = incremental("es:plain", "title, modified", "modified");
    swap["mode"] = json!("full");
    swap["options"] = json!({"full_strategy": "swap"});
    for (pipeline, field, reason) in [
        (incremental("es:plain", "title, modified, 1 as \"a.b\"", "modified"), "source_query", "has a dot"),
        (incremental("es:plain", "title, modified, 1 as _source", "modified"), "source_query", "keeps for itself"),
        (
            incremental("es:u", "modified, '{}'::jsonb as details", "modified"),
            "target_table",
            "would merge the objects",
        ),
        (swap, "options.full_strategy", "always built anew"),
    ] {
        let problem = expect_problem(api.post("/pipelines").json(&pipeline), 422, "invalid").await;
        assert!(messages(&problem, field).iter().any(|message| message.contains(reason)), "{pipeline}: {problem}");
    }
}

#[tokio::test]
async fn a_target_that_could_not_be_written_is_refused_with_the_reason() {
    let api = Api::start().await;
    sqlx::raw_sql(
        "create table analytics.heap (id int, part int);
         create table analytics.secret (id int primary key);
         revoke all on analytics.secret from vitrina_mart",
    )
    .execute(api.db.admin())
    .await
    .unwrap();
    for (target, key, field, reason) in [
        ("etl.etl_runs", json!(["id"]), "target", "is not a target"),
        ("content.film_work", json!(["id"]), "target", "is not a target"),
        ("analytics.nothing", json!(["id"]), "target", "there is no table"),
        ("analytics.heap", json!(["idd"]), "key", "has no column `idd`; it has id, part"),
        ("analytics.heap", json!(["id"]), "key", "has no unique index or primary key on exactly (id)"),
        ("analytics.genre_dim", json!(["genre_id", "name"]), "key", "on exactly (genre_id, name)"),
        ("analytics.heap", json!([]), "key", "a key has 1 to 16 columns"),
        ("es:films", json!(["id", "id"]), "key", "once"),
        ("analytics.secret", json!(["id"]), "target", "vitrina_mart cannot write"),
    ] {
        let request = api.post("/targets").json(&json!({"target": target, "key": key}));
        let problem = expect_problem(request, 422, "invalid").await;
        assert!(messages(&problem, field).iter().any(|message| message.contains(reason)), "{target}: {problem}");
    }
}

#[tokio::test]
async fn transforms_are_listed_with_the_schema_of_their_options() {
    let api = Api::start().await;
    let items = api.show("/transforms").await["items"].clone();
    let names: Vec<_> = items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mask", "rename"]);
    assert_eq!(items[0]["options_schema"]["required"], json!(["columns"]));
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
