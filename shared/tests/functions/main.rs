//! Every function of ours, called directly.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod batches;
mod control_plane;
mod hooks;
mod marts;
mod pages;

use std::fs;

use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use vitrina_shared::testing::TestDatabase;

/// Runs statements that must succeed.
async fn run(db: &PgPool, statements: impl Into<String>) {
    sqlx::raw_sql(AssertSqlSafe(statements.into())).execute(db).await.unwrap();
}

/// The single value that a query returns, as text.
async fn text(connection: &mut PgConnection, query: impl Into<String>) -> String {
    let query = format!("select coalesce(one::text, 'null') from ({}) as answer (one)", query.into());
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(connection).await.unwrap()
}

/// Code and message of the error that a statement ends with.
async fn failure(connection: &mut PgConnection, statement: impl Into<String>) -> (String, String) {
    let error = sqlx::raw_sql(AssertSqlSafe(statement.into())).execute(connection).await.unwrap_err();
    let error = error.as_database_error().unwrap();
    (error.code().unwrap().into_owned(), error.message().to_owned())
}

#[tokio::test]
async fn every_function_of_ours_is_named_in_a_test_of_this_folder() {
    let db = TestDatabase::create().await;
    let ours: Vec<String> = sqlx::query_scalar(
        "select distinct format('%s.%s', p.pronamespace::regnamespace, p.proname) from pg_proc p
         where p.pronamespace::regnamespace::text in ('etl', 'etl_hook', 'etl_mart', 'etl_page', 'etl_query') order by 1",
    )
    .fetch_all(db.admin())
    .await
    .unwrap();
    assert!(ours.len() > 20, "{ours:?}");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/functions");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tests: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    // A name may be the beginning of a longer one.
    let named = |name: &str| {
        tests
            .match_indices(name)
            .any(|(place, _)| !tests[place + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let untested: Vec<_> = ours.iter().filter(|name| !named(name)).collect();
    assert!(untested.is_empty(), "no test calls {untested:?}");
}
