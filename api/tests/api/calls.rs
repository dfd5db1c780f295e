//! Limits of calls to services, their keys, and the calls that are remembered.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, genres, messages};

/// A pipeline of genres whose descriptions a service gives, within a limit.
fn described(name: &str, limit: &str) -> Value {
    let mut pipeline = genres(name);
    let query = pipeline["source_query"].take();
    pipeline.as_object_mut().unwrap().remove("source_query");
    pipeline["tasks"] = json!([
        {"order_index": 1, "task_type": "SQL", "body": query},
        {"order_index": 2, "task_type": "RUST", "body": "http", "options": {
            "url": "https://api.example.org/{{ name | urlencode }}", "limit": limit,
            "columns": {"description": {"path": "/text", "type": "text"}},
        }},
    ]);
    pipeline
}

async fn put(api: &Api, name: &str, body: &Value, status: StatusCode) -> Value {
    expect(api.request(Method::PUT, &format!("/limits/{name}")).json(body), status).await
}

/// Does what a worker would: notes calls of a pipeline in these states, the first one as the oldest.
async fn note(api: &Api, pipeline: &str, states: &[&str]) {
    sqlx::query(
        "insert into etl.etl_calls (pipeline_id, step, call_key, input, state, idempotency_key, together, run_id, external_id,
                                    status, answer, error, attempts, created_at, answered_at)
         select p.id, 'http', sha256(n::text::bytea), sha256(n::text::bytea), state, gen_random_uuid(), 1, gen_random_uuid(),
                'job of anna@example.org', 422, '{}', 'answers 422: who is anna@example.org', n, now() + n * interval '1 s', now()
         from etl.etl_pipelines p, unnest($2::text[]) with ordinality as given (state, n) where p.name = $1",
    )
    .bind(pipeline)
    .bind(states)
    .execute(api.db.pool())
    .await
    .unwrap();
}

fn attempts(page: &Value) -> Vec<i64> {
    page["items"].as_array().unwrap().iter().map(|call| call["attempts"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_limit_is_made_changed_listed_and_removed() {
    let api = Api::start().await;
    assert_eq!(api.show("/limits").await, json!({"items": [], "keys": []}));
    let made = put(&api, "texts", &json!({"tokens": 10}), StatusCode::CREATED).await;
    let expected = json!({
        "name": "texts", "tokens": 10, "period_seconds": 1.0, "burst": 1, "free_at": null, "rests_until": null,
    });
    assert_eq!(made, expected);
    let body = json!({"tokens": 2, "period_seconds": 0.5, "burst": 3});
    let changed = put(&api, "texts", &body, StatusCode::OK).await;
    assert_eq!(
        (&changed["tokens"], &changed["period_seconds"], &changed["burst"]),
        (&2.into(), &0.5.into(), &3.into())
    );
    assert_eq!(api.show("/limits").await["items"], json!([changed]));
    assert_eq!(api.delete("/limits/texts").send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let problem = expect_problem(api.delete("/limits/texts"), 404, "not-found").await;
    assert_eq!(problem["detail"], "there is no limit `texts`");
}

#[tokio::test]
async fn what_is_wrong_with_a_limit_is_said_of_all_fields_at_once() {
    let api = Api::start().await;
    for (name, body, fields) in [
        (
            "1st",
            json!({"tokens": 0, "period_seconds": 0, "burst": 1_000_001}),
            vec!["name", "tokens", "burst", "period_seconds"],
        ),
        ("texts", json!({"tokens": 1_000_001, "period_seconds": 86_401}), vec!["tokens", "period_seconds"]),
        ("texts", json!({"tokens": "ten"}), vec!["tokens"]),
        ("texts", json!({"tokens": 1, "each": 1}), vec!["each"]),
    ] {
        let request = api.request(Method::PUT, &format!("/limits/{name}")).json(&body);
        let problem = expect_problem(request, 422, "invalid").await;
        let found: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
        assert_eq!(found, fields, "{problem}");
    }
    let request = || api.request(Method::PUT, "/limits/texts");
    expect_problem(request().body("{}"), 415, "not-json-type").await;
    expect_problem(request().header("content-type", "application/json").body("{"), 400, "not-json").await;
    assert_eq!(api.count("select count(*) from etl.etl_limits").await, 0);
}

#[tokio::test]
async fn what_was_taken_of_a_limit_counts_by_the_new_rate_and_no_longer_than_a_full_bucket() {
    let api = Api::start().await;
    let ahead = async || {
        api.count(
            "select round(1000 * extract(epoch from spent_until - clock_timestamp()))::bigint from etl.etl_limits",
        )
        .await
    };
    put(&api, "texts", &json!({"tokens": 1, "period_seconds": 86_400}), StatusCode::CREATED).await;
    let spend = "update etl.etl_limits set spent_until = clock_timestamp() + interval '1 day'";
    sqlx::raw_sql(spend).execute(api.db.admin()).await.unwrap();
    put(&api, "texts", &json!({"tokens": 1, "period_seconds": 43_200}), StatusCode::OK).await;
    assert!((43_000_000..=43_200_000).contains(&ahead().await), "half a day: {}", ahead().await);
    put(&api, "texts", &json!({"tokens": 10}), StatusCode::OK).await;
    assert!(ahead().await <= 100, "one token of ten in a second: {}", ahead().await);
    sqlx::raw_sql(spend).execute(api.db.admin()).await.unwrap();
    put(&api, "texts", &json!({"tokens": 10, "burst": 5}), StatusCode::OK).await;
    assert!(ahead().await <= 1_500, "a full bucket and a second: {}", ahead().await);
}

#[tokio::test]
async fn a_limit_that_a_plan_names_stays_and_one_that_is_not_there_is_said_by_validate_alone() {
    let api = Api::start().await;
    let draft = described("texts_of_genres", "texts");
    let found = expect(api.post("/pipelines/validate").json(&draft), StatusCode::OK).await;
    let problem = &found["problems"][0];
    assert_eq!(
        (&problem["field"], &problem["kind"]),
        (&"tasks[1].options.limit".into(), &"no-limit".into()),
        "{found}"
    );
    assert!(problem["message"].as_str().unwrap().contains("`vitrina limits set texts --tokens 10"), "{found}");
    api.create(&draft).await;

    put(&api, "texts", &json!({"tokens": 10}), StatusCode::CREATED).await;
    put(&api, "other", &json!({"tokens": 10}), StatusCode::CREATED).await;
    let found = expect(api.post("/pipelines/validate").json(&draft), StatusCode::OK).await;
    assert_eq!(found["problems"], json!([]));
    let problem = expect_problem(api.delete("/limits/texts"), 409, "conflict").await;
    assert_eq!(problem["detail"], "limit `texts` is named by `texts_of_genres`: change or delete that first");
    assert_eq!(api.delete("/limits/other").send().await.unwrap().status(), StatusCode::NO_CONTENT);
    api.delete("/pipelines/texts_of_genres").send().await.unwrap();
    assert_eq!(api.delete("/limits/texts").send().await.unwrap().status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn keys_that_rest_or_were_refused_are_listed_and_tried_again() {
    let api = Api::start().await;
    sqlx::raw_sql(
        "insert into etl.etl_pool_keys (pool, fingerprint, rests_until, strikes, refused_at, refused_reason) values
         ('TEXTS', '0123456789abcdef', now() + interval '1 hour', 3, null, null),
         ('TEXTS', '123456789abcdef0', null, 0, now(), '401'), ('OTHER', '0123456789abcdef', null, 0, now(), '403')",
    )
    .execute(api.db.admin())
    .await
    .unwrap();
    let keys = api.show("/limits").await["keys"].clone();
    let pools: Vec<_> = keys.as_array().unwrap().iter().map(|key| (&key["pool"], &key["refused_reason"])).collect();
    assert_eq!(
        pools,
        [(&json!("OTHER"), &json!("403")), (&json!("TEXTS"), &Value::Null), (&json!("TEXTS"), &json!("401"))]
    );
    assert!(keys[1]["rests_until"].is_string() && keys[2]["refused_at"].is_string(), "{keys}");
    assert_eq!(expect(api.delete("/limits/keys/TEXTS"), StatusCode::OK).await, json!({"forgotten": 2}));
    assert_eq!(
        api.count(
            "select count(*) from etl.etl_pool_keys where coalesce(rests_until, refused_at) is null and strikes = 0"
        )
        .await,
        2
    );
    for pool in ["NONE", "texts", "%00"] {
        expect_problem(api.delete(&format!("/limits/keys/{pool}")), 404, "not-found").await;
    }
}

#[tokio::test]
async fn calls_are_listed_newest_first_page_by_page_and_by_pipeline_and_state() {
    let api = Api::start().await;
    put(&api, "texts", &json!({"tokens": 10}), StatusCode::CREATED).await;
    api.create(&described("one", "texts")).await;
    api.create(&described("two", "texts")).await;
    assert_eq!(api.show("/calls").await, json!({"items": [], "next_cursor": null}));
    note(&api, "one", &["DONE", "REFUSED", "SENDING", "DONE", "FAILED"]).await;
    sqlx::raw_sql("update etl.etl_calls set created_at = '2026-01-01' where attempts < 4")
        .execute(api.db.admin())
        .await
        .unwrap();
    note(&api, "two", &["SUBMITTED"]).await;

    assert_eq!(attempts(&api.show("/calls?pipeline=two").await), [1]);
    let all = api.show("/calls?pipeline=one").await;
    assert_eq!(attempts(&all)[..2], [5, 4]);
    // Calls of one moment have an order too.
    let (mut found, mut path) = (Vec::new(), "/calls?pipeline=one&limit=2".to_owned());
    loop {
        let page = api.show(&path).await;
        found.extend(attempts(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/calls?pipeline=one&limit=2&cursor={cursor}");
    }
    assert_eq!(found, attempts(&all));
    assert_eq!(attempts(&api.show("/calls?pipeline=one&state=DONE").await), [4, 1]);
    let call = &api.show("/calls?state=REFUSED").await["items"][0];
    assert_eq!((&call["pipeline"], &call["step"], &call["status"]), (&"one".into(), &"http".into(), &422.into()));
    assert!(call["error"].as_str().unwrap().contains("answers 422") && call.get("answer").is_none(), "{call}");

    for (query, field) in [
        ("state=OPEN", "state"),
        ("cursor=1", "cursor"),
        ("cursor=1.zz", "cursor"),
        ("limit=0", "limit"),
        ("open=1", "open"),
    ] {
        let problem = expect_problem(api.get(&format!("/calls?{query}")), 422, "invalid").await;
        assert_eq!(messages(&problem, field).len(), 1, "{problem}");
    }
    expect_problem(api.get("/calls?pipeline=nope"), 404, "not-found").await;
}

#[tokio::test]
async fn calls_are_forgotten_but_for_those_under_way() {
    let api = Api::start().await;
    put(&api, "texts", &json!({"tokens": 10}), StatusCode::CREATED).await;
    api.create(&described("one", "texts")).await;
    api.create(&described("two", "texts")).await;
    for pipeline in ["one", "two"] {
        note(&api, pipeline, &["DONE", "REFUSED", "SENDING", "SUBMITTED", "WAITING"]).await;
    }
    let forget = async |query: &str| expect(api.delete(&format!("/calls?{query}")), StatusCode::OK).await;
    assert_eq!(forget("pipeline=one&state=REFUSED").await, json!({"forgotten": 1}));
    assert_eq!(forget("pipeline=one").await, json!({"forgotten": 2}));
    assert_eq!(attempts(&api.show("/calls?pipeline=one").await), [4, 3]);
    assert_eq!(attempts(&api.show("/calls?pipeline=two").await).len(), 5);
    for (query, field) in [("", "pipeline"), ("pipeline=one&state=SENDING", "state"), ("pipeline=one&state=x", "state")]
    {
        let problem = expect_problem(api.delete(&format!("/calls?{query}")), 422, "invalid").await;
        assert_eq!(messages(&problem, field).len(), 1, "{problem}");
    }
    expect_problem(api.delete("/calls?pipeline=nope"), 404, "not-found").await;
}

/// What a service says may quote a row, and so may the name that it gives a job.
#[tokio::test]
async fn a_viewer_sees_calls_without_the_service_s_words_and_changes_nothing() {
    const TOKENS: &str = "vera:viewer:vera-secret-12345,oleg:operator:oleg-secret-12345";
    for (more, shown) in [("false", false), ("true", true)] {
        let api = Api::start_with(&[("VITRINA_TOKENS", TOKENS), ("VITRINA_VIEWERS_SEE_VALUES", more)]).await;
        let as_one = |method: Method, path: &str, token| api.request(method, path).bearer_auth(token);
        let body = json!({"tokens": 10});
        let (oleg, vera) = ("oleg-secret-12345", "vera-secret-12345");
        expect(as_one(Method::PUT, "/limits/texts", oleg).json(&body), StatusCode::CREATED).await;
        let created = as_one(Method::POST, "/pipelines", oleg).json(&described("one", "texts"));
        expect(created, StatusCode::CREATED).await;
        note(&api, "one", &["REFUSED"]).await;
        let page = expect(as_one(Method::GET, "/calls", vera), StatusCode::OK).await;
        assert_eq!(page.to_string().contains("anna@example.org"), shown, "{page}");
        assert_eq!((&page["items"][0]["state"], &page["items"][0]["status"]), (&"REFUSED".into(), &422.into()));
        let page = expect(as_one(Method::GET, "/calls", oleg), StatusCode::OK).await;
        assert!(page["items"][0]["error"].as_str().unwrap().contains("anna@example.org"), "{page}");
        expect(as_one(Method::GET, "/limits", vera), StatusCode::OK).await;
        expect_problem(as_one(Method::PUT, "/limits/texts", vera).json(&body), 403, "forbidden").await;
        for path in ["/limits/texts", "/limits/keys/TEXTS", "/calls?pipeline=one"] {
            expect_problem(as_one(Method::DELETE, path, vera), 403, "forbidden").await;
        }
    }
}
