//! What is refused before it is stored, with the field and the reason.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, genres, genres_but, messages};

fn step(order: i32, kind: &str, body: &str) -> Value {
    json!({"order_index": order, "task_type": kind, "body": body})
}

fn plan(steps: Vec<Value>) -> Value {
    json!({"source_query": null, "tasks": steps})
}

/// A plan whose second step is the transform `mask`.
fn masked(sql: &str, options: Value) -> Value {
    let mut mask = step(2, "RUST", "mask");
    mask["options"] = options;
    plan(vec![step(1, "SQL", sql), mask])
}

/// Changes to a good pipeline that make it a bad one: the field that is blamed, and a telling part of the reason.
fn broken() -> Vec<(Value, &'static str, &'static str)> {
    let sql = "select id as genre_id, name, modified from content.genre";
    let mut early_target = step(1, "SQL", sql);
    early_target["target_table"] = json!("analytics.genre_dim");
    let mut foreign_target = step(1, "SQL", sql);
    foreign_target["target_table"] = json!("analytics.secrets");
    vec![
        // names and sizes
        (json!({"name": "1st"}), "name", "begins with a letter"),
        (json!({"name": ""}), "name", "1 to 100 letters"),
        (json!({"name": "a b"}), "name", "letters, digits"),
        (json!({"name": "a".repeat(101)}), "name", "1 to 100"),
        (json!({"name": "deadbeef-dead-4ead-8ead-deadbeefdead"}), "name", "must not look like an id"),
        (json!({"batch_size": 0}), "batch_size", "1 to 1000000"),
        (json!({"batch_size": 1_000_001}), "batch_size", "1 to 1000000"),
        (json!({"description": "d".repeat(2001)}), "description", "at most 2000"),
        (json!({"description": "\0"}), "description", "NUL"),
        // the query
        (json!({"source_query": null}), "source_query", "needs a query"),
        (json!({"source_query": "  "}), "source_query", "needs a query"),
        (json!({"source_query": "selec"}), "source_query", "starts with SELECT"),
        (json!({"source_query": "select 1; drop table content.genre"}), "source_query", "one statement"),
        (json!({"source_query": "select * from etl.etl_runs"}), "source_query", "out of reach"),
        (json!({"source_query": "select * from content.genres"}), "source_query", "does not exist"),
        (json!({"source_query": "select pg_sleep(1)"}), "source_query", "pg_sleep"),
        (
            json!({"source_query": "select id as genre_id, 1, name, modified from content.genre"}),
            "source_query",
            "column 2 of the query has no name: give it an alias",
        ),
        (
            json!({"source_query": format!("{sql} where modified > :after_key")}),
            "source_query",
            "needs all placeholders",
        ),
        // the target
        (json!({"target_table": "genre_dim"}), "target_table", "is not a target"),
        (json!({"target_table": "etl.etl_runs"}), "target_table", "is not a target"),
        (json!({"target_table": "analytics.unknown"}), "target_table", "is not in the whitelist"),
        (json!({"target_table": "es:unknown"}), "target_table", "is not in the whitelist"),
        // columns
        (
            json!({"source_query": "select id as genre_id, name, name as colour, modified from content.genre"}),
            "source_query",
            "`analytics.genre_dim` has no column `colour`; it has genre_id, name, description, modified",
        ),
        (
            json!({"source_query": "select name, modified from content.genre", "incremental_id_key": "name"}),
            "target_table",
            "the query lacks `genre_id`, which is part of the key",
        ),
        (
            json!({"source_query": "select id as genre_id, modified from content.genre"}),
            "source_query",
            "the query lacks `name`, which `analytics.genre_dim` declares not null without a default",
        ),
        (
            json!({"source_query": "select name as genre_id, name, modified from content.genre"}),
            "source_query",
            "column `genre_id` is text in the query and uuid in `analytics.genre_dim`: cast it",
        ),
        (
            json!({"source_query": "select id as genre_id, name, name as modified from content.genre"}),
            "source_query",
            "column `modified` is text in the query and timestamp with time zone",
        ),
        // the walk
        (json!({"incremental_key": null}), "incremental_key", "an incremental pipeline needs this column"),
        (json!({"incremental_id_key": null}), "incremental_id_key", "an incremental pipeline needs this column"),
        (
            json!({"incremental_key": "changed"}),
            "incremental_key",
            "the query has no column `changed`; it has genre_id",
        ),
        (json!({"incremental_key": "description"}), "incremental_key", "may be NULL"),
        (json!({"options": {"full_strategy": "swap"}}), "options.full_strategy", "only a pipeline in mode `full`"),
        // the plan
        (json!({"type": "RUST"}), "type", "needs a plan with a registered transform"),
        (plan(vec![step(2, "SQL", sql)]), "tasks[0].order_index", "expected 1, found 2"),
        (plan(vec![step(1, "SQL", sql), step(1, "RUST", "mask")]), "tasks[1].order_index", "each once"),
        (plan(vec![step(1, "RUST", "mask")]), "tasks[0].task_type", "the first step reads the source"),
        (plan(vec![step(1, "SQL", sql), step(2, "SQL", sql)]), "tasks[1].task_type", "only the first step is SQL"),
        (plan(vec![step(1, "SQL", " ")]), "tasks[0].body", "needs a body"),
        (plan(vec![step(1, "SQL", "select * from film")]), "tasks[0].body", "needs its schema"),
        (
            plan(vec![step(1, "SQL", sql), step(2, "RUST", "paint")]),
            "tasks[1].body",
            "no transform `paint` is registered in this deployment: it has cast, filter, hash, http, json_extract, mask, rename, select, set, trim",
        ),
        (masked(sql, json!({})), "tasks[1].options", "missing field `columns`"),
        (masked(sql, json!({"columns": ["name"], "colour": 1})), "tasks[1].options", "unknown field `colour`"),
        (masked(sql, json!({"columns": ["title"]})), "tasks[1].options", "no column `title` at this step; there is"),
        (masked(sql, json!({"columns": ["modified"]})), "tasks[1].options", "only text can be masked"),
        (masked(sql, json!({"columns": ["genre_id"]})), "tasks[1].options", "part of the target's key"),
        // refused rows
        (json!({"options": {"max_rejects": 3}}), "options.max_rejects", "only with on_row_error `dead_letter`"),
        (plan(vec![step(1, "SQL", sql), step(2, "PYTHON", "m.py")]), "tasks[1].body", "no transform `m.py`"),
        (plan(vec![early_target, step(2, "RUST", "mask")]), "tasks[0].target_table", "only the last step"),
        (plan(vec![foreign_target]), "tasks.target_table", "is not in the whitelist"),
    ]
}

#[tokio::test]
async fn a_broken_pipeline_is_refused_with_the_field_and_the_reason() {
    let api = Api::start().await;
    for (changes, field, reason) in broken() {
        let problem = expect_problem(api.post("/pipelines").json(&genres_but(&changes)), 422, "invalid").await;
        let found = messages(&problem, field);
        assert!(found.iter().any(|message| message.contains(reason)), "{changes}: {reason} not in {problem}");
    }
    assert_eq!(api.show("/pipelines").await["items"], json!([]));
}

#[tokio::test]
async fn validate_says_the_same_and_stores_nothing() {
    let api = Api::start().await;
    for (changes, field, reason) in broken() {
        let answer = expect(api.post("/pipelines/validate").json(&genres_but(&changes)), StatusCode::OK).await;
        let found = messages(&answer, field);
        assert!(found.iter().any(|message| message.contains(reason)), "{changes}: {reason} not in {answer}");
    }
    let good = expect(api.post("/pipelines/validate").json(&genres("genres")), StatusCode::OK).await;
    assert_eq!(good, json!({"problems": []}));
    assert_eq!(api.show("/pipelines").await["items"], json!([]));
}

#[tokio::test]
async fn all_problems_are_reported_at_once() {
    let api = Api::start().await;
    let bad = genres_but(&json!({"name": "1", "batch_size": 0, "target_table": "x", "incremental_key": "nothing"}));

    let problem = expect_problem(api.post("/pipelines").json(&bad), 422, "invalid").await;

    for field in ["name", "batch_size", "target_table", "incremental_key"] {
        assert_eq!(messages(&problem, field).len(), 1, "{field}: {problem}");
    }
    assert_eq!(problem["detail"], "wrong fields: 4");
}

/// Options of steps have any shape, and a number in them would be kept as its nearest double.
#[tokio::test]
async fn a_number_that_would_lose_digits_is_refused_by_its_field() {
    let api = Api::start().await;
    let mut set = step(2, "RUST", "set");
    set["options"] = json!({"columns": {"n": {"value": "HERE", "type": "numeric"}}});
    let body = genres_but(&plan(vec![step(1, "SQL", "select id as genre_id, name, modified from content.genre"), set]));
    for lost in ["12345678901234567890.123", "18446744073709551616", "1e400"] {
        let body = body.to_string().replace("\"HERE\"", lost);
        let request = || api.post("/pipelines").header("content-type", "application/json").body(body.clone());
        let problem = expect_problem(request(), 422, "invalid").await;
        let found = messages(&problem, "tasks[1].options.columns.n.value");
        assert!(found.iter().any(|message| message.contains("as a text, in quotes")), "{lost}: {problem}");
    }
}

#[tokio::test]
async fn json_of_another_shape_names_the_field() {
    let api = Api::start().await;
    let step = json!({"order_index": "one", "task_type": "SQL", "body": "select 1"});
    for (changes, field, reason) in [
        (json!({"mode": "sometimes"}), "mode", "unknown variant `sometimes`, expected `full` or `incremental`"),
        (json!({"type": "JAVA"}), "type", "unknown variant `JAVA`"),
        (json!({"batch_size": "many"}), "batch_size", "expected i32"),
        (json!({"batch_size": 1e300}), "batch_size", "expected i32"),
        (json!({"enabled": "yes"}), "enabled", "expected a boolean"),
        (json!({"colour": "red"}), "colour", "unknown field `colour`"),
        (json!({"options": {"null_keys": "last"}}), "options.null_keys", "unknown variant `last`"),
        (json!({"options": {"speed": 1}}), "options.speed", "unknown field `speed`"),
        (json!({"tasks": [step]}), "tasks[0].order_index", "expected i32"),
        (json!({"mode": null}), "", "missing field `mode`"),
    ] {
        let problem = expect_problem(api.post("/pipelines").json(&genres_but(&changes)), 422, "invalid").await;
        let found = messages(&problem, field);
        assert!(found.iter().any(|message| message.contains(reason)), "{changes}: {problem}");
    }
}

#[tokio::test]
async fn text_that_the_database_cannot_store_is_refused() {
    let api = Api::start().await;
    let sql = "select id as genre_id, name, modified from content.genre";
    let plan = |options: Value| json!([{"order_index": 1, "task_type": "SQL", "body": sql, "options": options}]);
    for changes in [
        json!({"source_query": "select '\0'"}),
        json!({"source_query": "\0", "tasks": plan(json!({}))}),
        json!({"tasks": plan(json!({"note": "a\0b"}))}),
    ] {
        expect_problem(api.post("/pipelines").json(&genres_but(&changes)), 422, "invalid").await;
    }
    let target = json!({"target": "es:films", "key": ["id"], "options": {"a": "\0"}});
    expect_problem(api.post("/targets").json(&target), 422, "invalid").await;
    for path in ["/pipelines/%00", "/pipelines/a%00b/runs", "/pipelines/%00/state"] {
        expect_problem(api.get(path), 404, "not-found").await;
    }
    expect_problem(api.post("/pipelines/%00/run"), 404, "not-found").await;
}

#[tokio::test]
async fn a_nullable_key_is_accepted_where_the_pipeline_says_what_to_do() {
    let api = Api::start().await;
    let films = |options: Value| {
        json!({
            "name": "films",
            "mode": "incremental",
            "source_query": "select id as film_id, title, type, modified, checked from content.film_work",
            "target_table": "analytics.film_dim",
            "incremental_key": "checked",
            "incremental_id_key": "film_id",
            "options": options,
        })
    };

    let problem = expect_problem(api.post("/pipelines").json(&films(json!({}))), 422, "invalid").await;
    assert!(messages(&problem, "incremental_key")[0].contains("column `checked` may be NULL"), "{problem}");

    // The key is only for walking: the target lacks it.
    api.create(&films(json!({"null_keys": "error"}))).await;
}

#[tokio::test]
async fn marts_of_the_first_demo_can_be_built() {
    let api = Api::start().await;
    let ratings = json!({
        "name": "film-ratings",
        "mode": "full",
        "source_query": "select film_id, avg(score)::numeric(4, 2) as avg_rating, count(*) as rating_count \
                         from ugc.ratings group by film_id",
        "target_table": "analytics.film_rating_agg",
    });
    let films = json!({
        "name": "films",
        "mode": "incremental",
        "source_query": "select id as film_id, title, description, type, rating, creation_date, modified \
                         from content.film_work",
        "target_table": "analytics.film_dim",
        "incremental_key": "modified",
        "incremental_id_key": "film_id",
    });
    for pipeline in [ratings, films, genres("genres")] {
        let answer = expect(api.post("/pipelines/validate").json(&pipeline), StatusCode::OK).await;
        assert_eq!(answer, json!({"problems": []}), "{pipeline}");
        api.create(&pipeline).await;
    }
}

#[tokio::test]
async fn a_target_that_is_gone_is_told_of_beside_a_query_that_is_refused() {
    let api = Api::start().await;
    sqlx::raw_sql("drop table analytics.genre_dim").execute(api.db.admin()).await.unwrap();
    let draft = genres_but(&json!({"source_query": "delete from content.genre", "batch_size": 0}));
    let found = expect(api.post("/pipelines/validate").json(&draft), StatusCode::OK).await;
    for field in ["source_query", "target_table", "batch_size"] {
        assert_eq!(messages(&found, field).len(), 1, "{field} in {found}");
    }
}

/// Folding their constants takes a minute and looks at no interrupt: a description that planned them would take every
/// connection that descriptions have.
#[tokio::test]
async fn queries_that_are_planned_for_ages_do_not_keep_an_honest_one_waiting() {
    let api = Api::start().await;
    let bomb = genres_but(&json!({
        "source_query": "select id as genre_id, name, modified from content.genre \
                         where (repeat('a & ', 300000) || 'a')::tsquery is not null"
    }));
    let bombs = (0..6).map(|_| api.post("/pipelines/validate").json(&bomb).send());
    let honest = async { expect(api.post("/pipelines/validate").json(&genres("genres")), StatusCode::OK).await };
    let both = async { tokio::join!(futures_util::future::join_all(bombs), honest) };
    let (bombs, honest) = tokio::time::timeout(std::time::Duration::from_secs(20), both).await.unwrap();
    assert_eq!(honest["problems"], json!([]));
    for bomb in bombs {
        assert_eq!(bomb.unwrap().status(), StatusCode::OK);
    }
}

/// Assigning a value may call a function of the type's owner. It would execute with the rights to write marts, so that the
/// function's word about itself is not enough.
#[tokio::test]
async fn values_that_a_user_defined_function_converts_are_refused_for_a_mart() {
    let api = Api::start().await;
    let scene = "create type content.mood as enum ('a', 'b');
        create function content.mood_text(content.mood) returns text stable language plpgsql as $$ begin return 'x'; end $$;
        create cast (content.mood as text) with function content.mood_text(content.mood) as assignment;
        create table content.moods (id int primary key, mood content.mood);
        grant select on content.moods to vitrina_query;
        create table analytics.moods (id int primary key, mood text);
        insert into etl.etl_targets (target, key) values ('analytics.moods', '{id}')";
    sqlx::raw_sql(scene).execute(api.db.admin()).await.unwrap();
    let pipeline = |query: &str| json!({"name": "moods", "mode": "full", "source_query": query, "target_table": "analytics.moods"});
    let wrong = pipeline("select id, mood from content.moods");
    let problem = expect_problem(api.post("/pipelines").json(&wrong), 422, "invalid").await;
    assert!(messages(&problem, "source_query")[0].contains("content.mood_text"), "{problem}");
    let right = pipeline("select id, case mood when 'a' then 'good' else 'bad' end as mood from content.moods");
    expect(api.post("/pipelines").json(&right), StatusCode::CREATED).await;
}

/// Disabling is how a broken pipeline is stopped, so it waits for no description of its query and needs none.
#[tokio::test]
async fn a_pipeline_whose_query_cannot_be_described_any_more_is_disabled_and_described_all_the_same() {
    let api = Api::start().await;
    let scene = "create table content.passing (id int primary key);
        grant select on content.passing to vitrina_query;
        create table analytics.passing (id int primary key);
        insert into etl.etl_targets (target, key) values ('analytics.passing', '{id}')";
    sqlx::raw_sql(scene).execute(api.db.admin()).await.unwrap();
    let pipeline = json!({"name": "passing", "mode": "full", "source_query": "select id from content.passing", "target_table": "analytics.passing"});
    expect(api.post("/pipelines").json(&pipeline), StatusCode::CREATED).await;
    sqlx::raw_sql("drop table content.passing").execute(api.db.admin()).await.unwrap();
    let path = "/pipelines/passing";
    let changed = expect(api.patch(path).json(&json!({"enabled": false, "description": "gone"})), StatusCode::OK).await;
    assert_eq!((&changed["enabled"], &changed["description"]), (&json!(false), &json!("gone")));
    expect_problem(api.patch(path).json(&json!({"enabled": true})), 422, "invalid").await;
    expect_problem(api.patch(path).json(&json!({"batch_size": 7})), 422, "invalid").await;
}
