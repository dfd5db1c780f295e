//! `vitrina doctor`.

use serde_json::Value;

use crate::support::{Deployment, free_port, program, text};

fn finding<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"))
}

fn doctor(here: &Deployment, variables: &[(&str, &str)]) -> (Option<i32>, Value) {
    let mut command = here.vitrina(&["doctor", "--json"]);
    let output = command.env("DATABASE_URL", here.db.url()).envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output))))
}

#[tokio::test]
async fn a_sound_deployment_is_found_so() {
    let here = Deployment::start().await;
    crate::support::eventually("a worker reports", || !here.json(&["workers"])["items"].as_array().unwrap().is_empty())
        .await;
    let (code, report) = doctor(&here, &[]);
    assert_eq!((code, &report["ok"]), (Some(0), &true.into()), "{report}");
    for name in [
        "database",
        "migrations",
        "owners",
        "rights",
        "account",
        "functions",
        "queue",
        "hooks",
        "horizon",
        "source content",
        "source ugc",
        "notify",
        "api",
        "workers",
    ] {
        assert_eq!(finding(&report, name)["finding"], "good", "{report}");
    }
    assert_eq!(finding(&report, "elasticsearch")["finding"], "skipped");
}

#[tokio::test]
async fn everything_that_is_wrong_is_found_at_once_with_how_to_fix_it() {
    let here = Deployment::api(&[("VITRINA_SOURCE_SCHEMAS", "content,ugc,nothing")]).await;
    sqlx::raw_sql(
        "create table content.hidden (id int);
         revoke all on content.hidden from vitrina_query;
         revoke insert on etl.etl_runs from vitrina_app;
         drop trigger etl_runs_sum_up on etl.etl_runs;
         alter schema etl_query owner to vitrina_mart;
         drop extension hstore cascade;",
    )
    .execute(here.db.admin())
    .await
    .unwrap();
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let (code, report) = doctor(&here, &[("ELASTICSEARCH_URL", &nowhere)]);
    assert_eq!((code, &report["ok"]), (Some(1), &false.into()));
    for (name, detail, fix) in [
        ("rights", "vitrina_app may not use etl.etl_runs", "vitrina migrate"),
        ("owners", "the schema etl_query belongs to vitrina_mart: who could put anything", "find out who did that"),
        ("functions", "changed or dropped since the migration: etl.sum_up_run", "vitrina migrate"),
        ("queue", "the table apalis.jobs lacks metadata", "add column metadata"),
        ("workers", "none reported", "vitrina worker"),
        ("elasticsearch", "does not answer", "ELASTICSEARCH_URL"),
    ] {
        let found = finding(&report, name);
        assert_eq!(found["finding"], "wrong", "{report}");
        assert!(found["detail"].as_str().unwrap().contains(detail), "{found}");
        assert!(found["fix"].as_str().unwrap().contains(fix), "{found}");
    }
    assert_eq!(finding(&report, "source nothing")["finding"], "note");
    let restricted = finding(&report, "source content");
    assert_eq!(
        (&restricted["finding"], &restricted["detail"]),
        (&"note".into(), &"queries may not read hidden".into())
    );
}

#[tokio::test]
async fn an_account_that_may_do_more_than_it_needs_is_a_warning_with_how_to_fix_it() {
    let here = Deployment::start().await;
    crate::support::eventually("a worker reports", || !here.json(&["workers"])["items"].as_array().unwrap().is_empty())
        .await;
    let (code, report) = doctor(&here, &[("DATABASE_URL", &here.db.owner_url())]);
    assert_eq!((code, &report["ok"]), (Some(0), &true.into()), "{report}");
    let found = finding(&report, "account");
    assert_eq!(found["finding"], "note", "{found}");
    assert!(found["detail"].as_str().unwrap().contains("is a superuser"), "{found}");
    assert!(found["fix"].as_str().unwrap().contains("vitrina_app"), "{found}");
}

/// The owner's account, of which a README's reader asks right after the migration, need not do what services do.
#[tokio::test]
async fn what_the_owners_account_lacks_is_a_remark() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql(
        "revoke execute on all functions in schema etl_page from vitrina_app;
         alter schema etl owner to vitrina_app",
    )
    .execute(here.db.admin())
    .await
    .unwrap();
    let (_, report) = doctor(&here, &[]);
    for (name, part) in [("account", "owns Vitrina's tables"), ("rights", "may not use etl_page.")] {
        let found = finding(&report, name);
        assert_eq!(found["finding"], "note", "{report}");
        assert!(found["detail"].as_str().unwrap().contains(part), "{found}");
    }
}

#[tokio::test]
async fn a_database_of_another_version_is_told_from_one_that_is_not_migrated() {
    let here = Deployment::api(&[]).await;
    sqlx::raw_sql("delete from etl._sqlx_migrations where version = 4").execute(here.db.admin()).await.unwrap();
    let (_, report) = doctor(&here, &[]);
    assert!(finding(&report, "migrations")["detail"].as_str().unwrap().contains("not applied yet: 1"), "{report}");
    sqlx::raw_sql(
        "insert into etl._sqlx_migrations (version, description, success, checksum, execution_time)
         values (4, 'batches', true, '', 0), (9999, 'of the future', true, '', 0)",
    )
    .execute(here.db.admin())
    .await
    .unwrap();
    let (code, report) = doctor(&here, &[]);
    assert_eq!(code, Some(1));
    let found = finding(&report, "migrations");
    assert!(found["detail"].as_str().unwrap().contains("at version 9999, which this program does not know"), "{found}");
}

#[test]
fn without_anything_it_says_what_to_start() {
    let place = tempfile::TempDir::new().unwrap();
    let url = format!("http://127.0.0.1:{}", free_port());
    let output = program().args(["doctor", "--url", &url]).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output);
    for part in ["- database", "DATABASE_URL is not set", "✗ api", "`vitrina up`", "1 thing is wrong"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_found_and_not_migrated() {
    let here = Deployment::api(&[]).await;
    let read_only = |url: String| format!("{url}?options=-c%20default_transaction_read_only%3Don");
    let (code, report) = doctor(&here, &[("DATABASE_URL", &read_only(here.db.url()))]);
    assert_eq!(code, Some(1));
    let server = finding(&report, "server");
    assert_eq!(server["detail"], "it takes no writes: default_transaction_read_only is on", "{report}");
    let output = here.vitrina(&["migrate"]).env("DATABASE_URL", read_only(here.db.owner_url())).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error: the database takes no writes: the server is a standby, or"), "{said}");
}

#[tokio::test]
async fn the_schemas_of_the_database_and_of_the_api_count_and_not_those_of_the_terminal() {
    let here = Deployment::api(&[("VITRINA_SOURCE_SCHEMAS", "content,shop")]).await;
    sqlx::raw_sql("create schema shop; create table shop.orders (id int)").execute(here.db.admin()).await.unwrap();
    let (_, report) = doctor(&here, &[("VITRINA_SOURCE_SCHEMAS", "content,ugc")]);
    assert_eq!(finding(&report, "source content")["finding"], "good", "{report}");
    let shop = finding(&report, "source shop");
    assert_eq!(shop["finding"], "wrong", "{report}");
    assert!(shop["detail"].as_str().unwrap().contains("the last migration did not give it to queries"), "{shop}");
    assert!(shop["fix"].as_str().unwrap().contains("VITRINA_SOURCE_SCHEMAS=content,shop"), "{shop}");
    let ugc = finding(&report, "source ugc");
    assert_eq!(ugc["finding"], "note", "{report}");
    assert!(ugc["detail"].as_str().unwrap().contains("the API does not read it"), "{ugc}");
}

#[tokio::test]
async fn an_api_of_another_database_is_told_from_one_of_this() {
    let (here, there) = (Deployment::api(&[]).await, Deployment::api(&[]).await);
    sqlx::raw_sql("update etl.etl_installation set id = gen_random_uuid()").execute(there.db.admin()).await.unwrap();
    let (code, report) = doctor(&here, &[("DATABASE_URL", &there.db.url())]);
    assert_eq!(code, Some(1));
    let found = finding(&report, "installation");
    assert_eq!(
        (&found["finding"], &found["detail"]),
        (&"wrong".into(), &"the API works with another database than this".into())
    );
}

#[tokio::test]
async fn only_migrate_and_up_take_a_schema_away_and_they_say_so() {
    let here = Deployment::api(&[]).await;
    let run = |arguments: &[&str], schemas: &str| {
        let mut command = here.vitrina(arguments);
        command.env("DATABASE_URL", here.db.owner_url()).env("VITRINA_SOURCE_SCHEMAS", schemas);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    let reads = async |schema: &str| -> bool {
        let question = "select has_schema_privilege('vitrina_query', $1, 'usage')";
        sqlx::query_scalar(question).bind(schema).fetch_one(here.db.admin()).await.unwrap()
    };
    sqlx::raw_sql("create schema shop; create table shop.orders (id int)").execute(here.db.admin()).await.unwrap();
    assert!(!run(&["migrate"], "content,ugc,shop").contains("WARN"));
    sqlx::raw_sql("drop schema content, ugc cascade").execute(here.db.admin()).await.unwrap();
    run(&["cinema", "--films", "10", "--ratings", "10"], "content,ugc");
    assert!(reads("shop").await && reads("content").await);
    let told = run(&["migrate"], "content,ugc");
    assert!(
        told.contains("WARN") && told.contains("the schema shop is not in VITRINA_SOURCE_SCHEMAS any more"),
        "{told}"
    );
    assert!(!reads("shop").await && reads("content").await);
}
