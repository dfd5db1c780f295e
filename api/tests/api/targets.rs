//! Targets: allowed, refused with the reason, or created from the columns of a query.

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
        (
            "analytics.new",
            &["id"],
            "select id, 1 from content.genre",
            "create.source_query",
            "column 2 of the query has no name",
        ),
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
        ("es:new", &["id"], good, "create", "other targets are made by their first run"),
    ] {
        for path in ["/targets", "/targets?dry_run=true"] {
            let problem = expect_problem(api.post(path).json(&wanted(target, key, query)), 422, "invalid").await;
            assert!(messages(&problem, field).iter().any(|message| message.contains(reason)), "{problem}");
        }
    }
    let unordered =
        wanted("analytics.new", &["about"], "select json_build_object('a', name) as about from content.genre");
    // A dry run finds what only the server knows.
    for path in ["/targets", "/targets?dry_run=true"] {
        let problem = expect_problem(api.post(path).json(&unordered), 422, "invalid").await;
        assert!(messages(&problem, "create")[0].contains("no default operator class"), "{problem}");
    }
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

#[tokio::test]
async fn a_target_is_taken_off_the_whitelist_once_no_pipeline_names_it() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let path = "/targets/analytics.genre_dim";
    let problem = expect_problem(api.delete(path), 409, "conflict").await;
    assert_eq!(problem["detail"], "target `analytics.genre_dim` is written by `genres`: remove or change them first");

    api.delete("/pipelines/genres").send().await.unwrap();
    assert_eq!(api.delete(path).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    expect_problem(api.delete(path), 404, "not-found").await;
    assert!(exists(&api, "genre_dim").await, "the table stays");
    let listed = api.show("/targets").await;
    assert!(!listed["items"].as_array().unwrap().iter().any(|one| one["target"] == "analytics.genre_dim"), "{listed}");
    expect_problem(api.post("/pipelines").json(&crate::support::genres("genres")), 422, "invalid").await;
}

/// A mart that was dropped is created again, and its pipelines read everything again.
#[tokio::test]
async fn a_mart_that_was_dropped_is_found_and_created_again() {
    let api = Api::start_with(ALLOWED).await;
    let query = "select id as film_id, title, modified from content.film_work";
    let request = wanted("analytics.films", &["film_id"], query);
    expect(api.post("/targets").json(&request), StatusCode::CREATED).await;
    let films = json!({"name": "films", "mode": "incremental", "target_table": "analytics.films", "source_query": query,
                       "incremental_key": "modified", "incremental_id_key": "film_id"});
    api.create(&films).await;
    sqlx::raw_sql(
        "insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
         select id, '2026-01-01 00:00:00+00', null, gen_random_uuid(), 0 from etl.etl_pipelines;
         drop table analytics.films",
    )
    .execute(api.db.admin())
    .await
    .unwrap();

    let found = expect(api.post("/pipelines/validate").json(&films), StatusCode::OK).await;
    assert!(messages(&found, "target_table")[0].starts_with("there is no table `analytics.films`"), "{found}");
    assert_eq!(found["problems"][0]["kind"], "no-table", "{found}");
    let other = wanted("analytics.films", &["title"], query);
    expect_problem(api.post("/targets").json(&other), 409, "conflict").await;
    let tried = expect(api.post("/targets?dry_run=true").json(&request), StatusCode::OK).await;
    assert!(tried["ddl"].as_str().unwrap().starts_with("create table analytics.films"), "{tried}");
    assert!(!exists(&api, "films").await, "a dry run creates nothing");

    api.run("films").await;
    expect_problem(api.post("/targets").json(&request), 409, "illegal-state").await;
    expect(api.post("/pipelines/films/cancel"), StatusCode::ACCEPTED).await;
    expect(api.post("/targets").json(&request), StatusCode::CREATED).await;

    assert!(exists(&api, "films").await);
    assert_eq!(api.show("/pipelines/films/state").await["checkpoint"], Value::Null);
    let found = expect(api.post("/pipelines/validate").json(&films), StatusCode::OK).await;
    assert_eq!(found["problems"], json!([]));
    expect_problem(api.post("/targets").json(&request), 409, "conflict").await;
}

#[tokio::test]
async fn a_full_pipeline_is_refused_on_a_target_that_another_one_fills_by_another_query() {
    let api = Api::start().await;
    api.create_genres("genres").await;
    let full = |query: &str| json!({"name": "full", "mode": "full", "target_table": "analytics.genre_dim", "source_query": query});
    let other = full("select id as genre_id, name, description, modified from content.genre where name < 'M'");
    for path in ["/pipelines", "/pipelines/validate"] {
        let answer = api.post(path).json(&other).send().await.unwrap();
        let found: Value = answer.json().await.unwrap();
        let message = messages(&found, "target_table").pop().unwrap();
        assert!(
            message.starts_with("pipeline `genres` writes `analytics.genre_dim` too, by another query"),
            "{message}"
        );
        assert!(message.contains("`--full`"), "{message}");
    }
    // The same rows do no harm, and neither does a pipeline that cannot run.
    api.create(&full("select id as genre_id, name, description, modified from content.genre")).await;
    let mut disabled = other.clone();
    (disabled["name"], disabled["enabled"]) = (json!("disabled"), json!(false));
    api.create(&disabled).await;
    let enable = api.patch("/pipelines/disabled").json(&json!({"enabled": true}));
    expect_problem(enable, 422, "invalid").await;
    let change = json!({"source_query": "select id as genre_id, name, modified from content.genre"});
    let problem = expect_problem(api.patch("/pipelines/genres").json(&change), 422, "invalid").await;
    assert!(messages(&problem, "target_table")[0].contains("and it is full"), "{problem}");
}

#[tokio::test]
async fn how_many_rows_may_be_removed_is_a_number_a_share_or_a_percentage() {
    let api = Api::start().await;
    for (given, shown) in [(json!(5), json!(5)), (json!(0.2), json!("20%")), (json!("12.5%"), json!("12.5%"))] {
        let mut pipeline = crate::support::genres("genres");
        pipeline["options"] = json!({"max_removed": given});
        assert_eq!(api.create(&pipeline).await["options"]["max_removed"], shown);
        assert_eq!(api.show("/pipelines/genres").await["options"]["max_removed"], shown);
        api.delete("/pipelines/genres").send().await.unwrap();
    }
    let mut pipeline = crate::support::genres("genres");
    pipeline["options"] = json!({"max_removed": "half"});
    let problem = expect_problem(api.post("/pipelines").json(&pipeline), 422, "invalid").await;
    let message = &messages(&problem, "options.max_removed")[0];
    assert!(message.contains("expected a whole number of rows, a share between 0 and 1, or a percentage"), "{message}");
}

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
async fn a_dry_run_tells_what_would_be_wrong_with_a_pipeline_that_writes_the_target() {
    let api = Api::start_with(ALLOWED).await;
    sqlx::raw_sql("create table analytics.narrow (id uuid primary key, title integer, must text not null)")
        .execute(api.db.admin())
        .await
        .unwrap();
    let draft =
        |target: &str, query: &str| json!({"name": "p", "mode": "full", "target_table": target, "source_query": query});
    let query = "select id, title from content.film_work";
    let mut narrow = json!({"target": "analytics.narrow", "key": ["id"]});
    narrow["pipeline"] = draft("analytics.narrow", query);
    let tried = expect(api.post("/targets?dry_run=true").json(&narrow), StatusCode::OK).await;
    let told = messages(&json!({"errors": tried["problems"]}), "source_query").join("; ");
    assert!(told.contains("the query lacks `must`") && told.contains("column `title` is text in the query"), "{tried}");

    // A table that is not there yet is compared as it would be created.
    let mut new = wanted("analytics.new", &["id"], query);
    new["pipeline"] = draft("analytics.new", query);
    let tried = expect(api.post("/targets?dry_run=true").json(&new), StatusCode::OK).await;
    assert_eq!(tried["problems"], json!([]));
    new["pipeline"] = draft("analytics.new", "select id, title, rating from content.film_work");
    let tried = expect(api.post("/targets?dry_run=true").json(&new), StatusCode::OK).await;
    assert!(tried["problems"].to_string().contains("has no column `rating`"), "{tried}");

    let problem = expect_problem(api.post("/targets").json(&new), 422, "invalid").await;
    assert!(messages(&problem, "pipeline")[0].contains("only a dry run"), "{problem}");
    assert!(!exists(&api, "new").await);
    let listed = expect(api.get("/targets"), StatusCode::OK).await;
    assert!(!listed.to_string().contains("narrow"), "{listed}");
}
