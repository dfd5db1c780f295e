//! Hooks of pipelines: stored, shown, and refused with what to do.

use salvo::http::StatusCode;
use serde_json::{Value, json};
use vitrina_shared::definitions::allow_function;

use crate::support::{Api, expect, expect_problem, genres, genres_but, messages};

async fn shop() -> Api {
    let api = Api::start().await;
    let functions = "create schema shop;
        create function shop.note(event jsonb) returns void language sql as '';
        create function shop.refund(event jsonb) returns void language sql as '';";
    sqlx::raw_sql(functions).execute(api.db.admin()).await.unwrap();
    let mut owner = api.db.admin().acquire().await.unwrap();
    for name in ["shop.note", "shop.refund"] {
        allow_function(&mut owner, name).await.unwrap();
    }
    api
}

fn hooked(hooks: &Value) -> Value {
    genres_but(&json!({"options": {"hooks": hooks}}))
}

#[tokio::test]
async fn hooks_are_stored_and_shown_and_taken_away_with_the_options() {
    let api = shop().await;
    let hooks = json!({"on_failure": ["shop.refund", "shop.note"], "after_batch": ["shop.note"]});
    let created = api.create(&hooked(&hooks)).await;
    assert_eq!(created["options"], json!({"hooks": hooks}));
    let path = format!("/pipelines/{}", created["name"].as_str().unwrap());
    assert_eq!(api.show(&path).await["options"]["hooks"], hooks);
    let changed = expect(api.patch(&path).json(&json!({"options": {}})), StatusCode::OK).await;
    assert_eq!(changed["options"], json!({}));
}

#[tokio::test]
async fn hooks_that_cannot_be_called_are_refused_with_the_field_and_what_to_do() {
    let api = shop().await;
    sqlx::raw_sql(
        "drop function shop.refund; create function shop.refund(event jsonb) returns void language sql as ''",
    )
    .execute(api.db.admin())
    .await
    .unwrap();
    let nine: Vec<_> = (0..9).map(|n| format!("shop.f{n}")).collect();
    for (hooks, field, reason) in [
        (
            json!({"on_sucess": ["shop.note"]}),
            "options.hooks.on_sucess",
            "unknown field `on_sucess`, expected one of `before_run`",
        ),
        (json!({"on_success": "shop.note"}), "options.hooks.on_success", "expected a sequence"),
        (
            json!({"on_success": ["shop.note", "shop.absent"]}),
            "options.hooks.on_success[1]",
            "`shop.absent` is not on the list of functions that hooks may call: the owner of the database puts it there as it is \
             now, with `vitrina hooks allow shop.absent`",
        ),
        (
            json!({"on_failure": ["shop.refund"]}),
            "options.hooks.on_failure[0]",
            "created anew since it was put on the list",
        ),
        (
            json!({"before_run": ["pg_catalog.pg_sleep(10)"]}),
            "options.hooks.before_run[0]",
            "the name of a function with its schema",
        ),
        (json!({"after_batch": ["shop.note", "shop.note"]}), "options.hooks.after_batch", "stands here twice"),
        (json!({"on_row_rejected": nine}), "options.hooks.on_row_rejected", "at most 8 hooks"),
    ] {
        let problem = expect_problem(api.post("/pipelines").json(&hooked(&hooks)), 422, "invalid").await;
        let found = messages(&problem, field);
        assert!(found.iter().any(|message| message.contains(reason)), "{hooks}: {reason} not in {problem}");
    }
    api.create(&genres("genres")).await;
    let change = json!({"options": {"hooks": {"before_run": ["shop.absent"]}}});
    let problem = expect_problem(api.patch("/pipelines/genres").json(&change), 422, "invalid").await;
    assert_eq!(messages(&problem, "options.hooks.before_run[0]").len(), 1, "{problem}");
}
