//! Rows that could not be written: listed, and queued to be tried again.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, eventually, expect, expect_problem, messages};

/// Does what a worker would: puts rows of the pipeline aside. Odd ones were replayed.
async fn put_aside(api: &Api, rows: i64) {
    sqlx::query(
        "insert into etl.etl_dead_letters (pipeline_id, run_id, batch, key, row, error, error_class, replayed_at)
         select p.id, gen_random_uuid(), n, jsonb_build_object('genre_id', n),
                jsonb_build_object('genre_id', n, 'name', 'x', 'price', 12345678901234567890.5),
                'value too long', 'Row', case when n % 2 = 1 then now() end
         from etl.etl_pipelines p, generate_series(1, $1) as n where p.name = 'genres'",
    )
    .bind(rows)
    .execute(api.db.pool())
    .await
    .unwrap();
}

fn batches(page: &Value) -> Vec<i64> {
    page["items"].as_array().unwrap().iter().map(|letter| letter["batch"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn dead_letters_are_listed_newest_first_page_by_page_and_open_or_not() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    assert_eq!(api.show("/pipelines/genres/dead-letters").await, json!({"items": [], "next_cursor": null}));
    put_aside(&api, 5).await;
    let first = api.show("/pipelines/genres/dead-letters?limit=2").await;
    assert_eq!(batches(&first), [5, 4]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = api.show(&format!("/pipelines/genres/dead-letters?limit=3&cursor={cursor}")).await;
    assert_eq!((batches(&second), &second["next_cursor"]), (vec![3, 2, 1], &Value::Null));
    assert_eq!(batches(&api.show("/pipelines/genres/dead-letters?open=true").await), [4, 2]);
    assert_eq!(batches(&api.show("/pipelines/genres/dead-letters?open=false").await), [5, 3, 1]);

    let letter = &first["items"][1];
    for field in "id pipeline_id run_id batch key row error error_class created_at replayed_at".split(' ') {
        assert!(letter.get(field).is_some(), "{field} in {letter}");
    }
    assert_eq!((&letter["key"], &letter["error"]), (&json!({"genre_id": 4}), &json!("value too long")));
    let text = api.get("/pipelines/genres/dead-letters").send().await.unwrap().text().await.unwrap();
    assert!(text.contains("12345678901234567890.5"), "numbers keep their digits: {text}");
    for (query, field) in [("cursor=x", "cursor"), ("open=maybe", "open"), ("limit=0", "limit"), ("offset=1", "offset")]
    {
        let request = api.get(&format!("/pipelines/genres/dead-letters?{query}"));
        assert_eq!(messages(&expect_problem(request, 422, "invalid").await, field).len(), 1);
    }
    expect_problem(api.get("/pipelines/nope/dead-letters"), 404, "not-found").await;
}

#[tokio::test]
async fn a_replay_is_queued_once_for_the_letters_that_are_named() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let replay = || api.post("/pipelines/genres/dead-letters/replay?wait=15");
    let done = r#"update etl.etl_reports set status = 'DONE', finished_at = now(), result =
        '{"letters": [{"id": 3, "outcome": "refused", "error": "too long"}], "written": 0, "unchanged": 0, "gone": 0,
          "refused": 1, "not_open": 0, "left": 7, "took_ms": 4}'
        where status = 'QUEUED' and request = '{"kind": "replay", "ids": [1, 3]}'"#;
    let worker = eventually("the report", async || {
        let ended = sqlx::query(done).execute(api.db.pool()).await.unwrap();
        (ended.rows_affected() == 1).then_some(())
    });
    let (answer, ()) = tokio::join!(expect(replay().json(&json!({"ids": [3, 1, 3]})), StatusCode::OK), worker);
    assert_eq!(answer["letters"], json!([{"id": 3, "outcome": "refused", "error": "too long"}]));
    assert_eq!((&answer["refused"], &answer["left"]), (&json!(1), &json!(7)));
}

#[tokio::test]
async fn what_is_wrong_with_a_replay_is_said() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let replay = || api.post("/pipelines/genres/dead-letters/replay?wait=0");
    for (body, field) in [(json!({"ids": []}), "ids"), (json!({"ids": ["x"]}), "ids[0]"), (json!({"id": 1}), "id")] {
        let problem = expect_problem(replay().json(&body), 422, "invalid").await;
        assert_eq!(messages(&problem, field).len(), 1, "{problem}");
    }
    expect_problem(api.post("/pipelines/nope/dead-letters/replay?wait=0"), 404, "not-found").await;
    expect(replay(), StatusCode::ACCEPTED).await;
    api.run("genres").await;
    let problem = expect_problem(replay(), 409, "illegal-state").await;
    assert!(problem["detail"].as_str().unwrap().contains("let its run end first"), "{problem}");
}
