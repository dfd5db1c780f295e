//! Marts that are created from the columns of a query.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Api, expect, expect_problem, messages};

const ALLOWED: &[(&str, &str)] = &[("VITRINA_CREATE_TARGETS", "true")];

fn wanted(target: &str, key: &[&str], query: &str) -> Value {
    json!({"target": target, "key": key, "create": {"source_query": query}})
}

async fn exists(api: &Api, table: &str) -> bool {
    let found = sqlx::query_scalar("select to_regclass('analytics.' || quote_ident($1)) is not null");
    found.bind(table).fetch_one(api.db.admin()).await.unwrap()
}

#[tokio::test]
async fn a_mart_is_created_with_the_columns_and_types_of_its_query() {
    let api = Api::start_with(ALLOWED).await;
    let query = "select id as film_id, title::char(20) as title, rating, type as \"Kind \"\" of; film\", B'101'::bit(3) as bits,
                 array[1, 2] as numbers, modified from content.film_work";
    let ddl = "create table analytics.films (\n    film_id uuid not null,\n    title text,\n    rating numeric,\n    \
               \"Kind \"\" of; film\" text,\n    bits bit varying,\n    numbers integer[],\n    \
               modified timestamp with time zone,\n    constraint films_pkey primary key (film_id)\n)";
    let request = wanted("analytics.films", &["film_id"], query);

    let tried = expect(api.post("/targets?dry_run=true").json(&request), StatusCode::OK).await;
    assert_eq!((&tried["ddl"], &tried["created_at"]), (&json!(ddl), &Value::Null));
    assert!(!exists(&api, "films").await, "a dry run creates nothing");

    let allowed = expect(api.post("/targets").json(&request), StatusCode::CREATED).await;
    assert_eq!(allowed["ddl"], ddl);
    api.create(&json!({"name": "films", "mode": "full", "target_table": "analytics.films", "source_query": query}))
        .await;
    let owner: String = sqlx::query_scalar("select tableowner from pg_tables where tablename = 'films'")
        .fetch_one(api.db.admin())
        .await
        .unwrap();
    assert_eq!(owner, "vitrina_mart");
}

#[tokio::test]
async fn a_table_that_is_there_is_allowed_and_not_created_again() {
    let api = Api::start_with(ALLOWED).await;
    sqlx::raw_sql("create table analytics.titles (id uuid primary key, title text)")
        .execute(api.db.admin())
        .await
        .unwrap();
    let request = wanted("analytics.titles", &["id"], "select id, title from content.film_work");
    let tried = expect(api.post("/targets?dry_run=true").json(&request), StatusCode::OK).await;
    assert_eq!(tried["ddl"], Value::Null);
    expect(api.post("/targets").json(&request), StatusCode::CREATED).await;
    for path in ["/targets", "/targets?dry_run=true"] {
        expect_problem(api.post(path).json(&request), 409, "conflict").await;
    }
}

#[tokio::test]
async fn what_cannot_be_created_is_refused_and_leaves_nothing_behind() {
    let api = Api::start_with(ALLOWED).await;
    let good = "select id, title from content.film_work";
    for (target, key, query, field, reason) in [
        ("analytics.new", &["id"][..], "select * from etl.etl_runs", "create.source_query", "is out of reach"),
        ("analytics.new", &["id"], "drop table content.genre", "create.source_query", "a query starts with SELECT"),
        ("analytics.new", &["idd"], good, "key", "the query has no column `idd`; it has id, title"),
        ("analytics.new", &[], good, "key", "a key has 1 to 16 columns"),
        (
            "analytics.new",
            &["id"],
            "select id, row(1, 2) as pair from content.genre",
            "create.source_query",
            "is of a type that no table can have",
        ),
        ("analytics.new; drop schema etl", &["id"], good, "target", "is not a target"),
        ("es:new", &["id"], good, "create", "an index is made by the first run"),
    ] {
        for path in ["/targets", "/targets?dry_run=true"] {
            let problem = expect_problem(api.post(path).json(&wanted(target, key, query)), 422, "invalid").await;
            assert!(messages(&problem, field).iter().any(|message| message.contains(reason)), "{problem}");
        }
    }
    let unordered =
        wanted("analytics.new", &["about"], "select json_build_object('a', name) as about from content.genre");
    let problem = expect_problem(api.post("/targets").json(&unordered), 422, "invalid").await;
    assert!(messages(&problem, "create")[0].contains("no default operator class"), "{problem}");
    assert!(!exists(&api, "new").await);
}

#[tokio::test]
async fn tables_are_created_only_where_the_deployment_allows_it_and_only_for_admins() {
    let request = wanted("analytics.new", &["id"], "select id from content.genre");
    let api = Api::start().await;
    let problem = expect_problem(api.post("/targets").json(&request), 422, "invalid").await;
    assert!(messages(&problem, "create")[0].contains("VITRINA_CREATE_TARGETS=true"), "{problem}");

    let tokens = ("VITRINA_TOKENS", "oleg:operator:0123456789abcdef");
    let api = Api::start_with(&[ALLOWED[0], tokens]).await;
    for path in ["/targets", "/targets?dry_run=true"] {
        let request = api.post(path).bearer_auth("0123456789abcdef").json(&request);
        expect_problem(request, 403, "forbidden").await;
    }
    assert!(!exists(&api, "new").await);
}
