//! Functions are applied by the checksums of their files, and again if one was changed by hand.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use vitrina_shared::{
    migrate::{
        self, MigrateError,
        functions::{Examination, FUNCTIONS, FunctionFile, apply, examine, revision},
    },
    testing::TestDatabase,
};

use crate::schemas;

/// The files, one of them with another text.
fn with_text(name: &str, text: &'static str) -> Vec<FunctionFile> {
    let other = |file: &FunctionFile| if file.name == name { FunctionFile { text, ..*file } } else { *file };
    FUNCTIONS.iter().map(other).collect()
}

async fn scalar<T>(connection: &mut PgConnection, query: &'static str) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    sqlx::query_scalar(query).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn a_file_that_has_not_changed_is_not_applied_again() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    assert_eq!(apply(&mut connection, FUNCTIONS, revision()).await.unwrap(), Vec::<&str>::new());
}

#[tokio::test]
async fn a_changed_file_replaces_its_function_and_no_other() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    let oid = "select 'etl.clock()'::regprocedure::oid";
    let before: sqlx::postgres::types::Oid = scalar(&mut connection, oid).await;
    let files = with_text(
        "etl.clock",
        "create or replace function etl.clock() returns timestamptz language sql as 'select timestamptz ''2000-01-01 00:00+00'''",
    );

    assert_eq!(apply(&mut connection, &files, revision() + 1).await.unwrap(), ["etl.clock"]);

    assert_eq!(scalar::<sqlx::postgres::types::Oid>(&mut connection, oid).await, before, "those who call it find it");
    assert_eq!(scalar::<String>(&mut connection, "select etl.clock()::text").await, "2000-01-01 00:00:00+00");
    let revisions = "select array_agg(distinct revision) from etl.etl_functions";
    assert_eq!(scalar::<Vec<i64>>(&mut connection, revisions).await, [revision() + 1]);
}

/// The server replaces neither: the first would be a second function of that name.
#[tokio::test]
async fn a_function_with_other_arguments_or_another_result_is_made_anew() {
    let others = [
        "create or replace function etl.this_server(more int) returns text language sql as 'select ''one'''",
        "create or replace function etl.this_server() returns int language sql as 'select 1'",
    ];
    for other in others {
        let db = TestDatabase::create().await;
        let mut connection = db.admin().acquire().await.unwrap();
        let applied = apply(&mut connection, &with_text("etl.this_server", other), revision()).await.unwrap();
        assert_eq!(applied, ["etl.this_server"]);
        let named = "select count(*) from pg_proc where proname = 'this_server'";
        assert_eq!(scalar::<i64>(&mut connection, named).await, 1, "{other}");
        apply(&mut connection, FUNCTIONS, revision()).await.unwrap();
        assert_eq!(scalar::<i64>(&mut connection, named).await, 1);
        let default = "select column_default from information_schema.columns
                       where table_name = 'etl_rereads' and column_name = 'server'";
        assert_eq!(scalar::<String>(&mut connection, default).await, "etl.this_server()");
    }
}

#[tokio::test]
async fn what_a_file_made_that_is_gone_is_dropped_with_its_trigger() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    let left: Vec<_> = FUNCTIONS.iter().copied().filter(|file| file.name != "etl.announce_report").collect();

    apply(&mut connection, &left, revision()).await.unwrap();

    let traces = "select (select count(*) from pg_proc where proname = 'announce_report')
        + (select count(*) from pg_trigger where tgname = 'etl_reports_announce')
        + (select count(*) from etl.etl_functions where name = 'etl.announce_report')";
    assert_eq!(scalar::<i64>(&mut connection, traces).await, 0);
}

#[tokio::test]
async fn a_file_that_makes_something_else_is_refused_and_nothing_is_applied() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    let files = [
        with_text(
            "etl.clock",
            "create or replace function etl.clock() returns timestamptz language sql as 'select now()'",
        ),
        vec![FunctionFile { name: "etl.missing", text: "select 1" }],
    ]
    .concat();
    let error = apply(&mut connection, &files, revision()).await.unwrap_err().to_string();
    assert!(error.contains("migrations/functions/etl.missing.sql does not make etl.missing"), "{error}");
    assert_eq!(examine(&mut connection).await.unwrap().changed, Vec::<String>::new());
}

#[tokio::test]
async fn a_function_that_somebody_has_changed_is_found_and_applied_again() {
    let changes = [
        ("alter function etl_mart.run security invoker", "etl_mart.run"),
        ("alter function etl_page.read reset search_path", "etl_page.read"),
        ("alter function etl_page.read owner to vitrina_mart", "etl_page.read"),
        ("drop function etl_mart.create_mart", "etl_mart.create_mart"),
        ("drop trigger etl_runs_sum_up on etl.etl_runs", "etl.sum_up_run"),
        ("alter table etl.etl_transitions disable trigger etl_transitions_in_commit_order", "etl.log_in_commit_order"),
        (
            "create or replace function etl.sink_of(inputs jsonb) returns text language sql as 'select ''mine'''",
            "etl.sink_of",
        ),
        (
            "create function etl_page.describe(query text, more text) returns int language sql as 'select 1'",
            "etl_page.describe",
        ),
        (
            "create or replace view etl.other_transactions as select 1 as pid, now() as xact_start, true as has_written",
            "etl.other_transactions",
        ),
        (
            "create or replace view etl.other_sessions as
             select 1 as pid, now() as xact_start, true as has_written, false as is_hidden, 1 as more",
            "etl.other_sessions",
        ),
        ("alter table etl.etl_rereads alter column server drop default", "etl.this_server"),
        (
            "create or replace trigger etl_runs_sum_up after update of status on etl.etl_runs
             for each row execute function etl.sum_up_run()",
            "etl.sum_up_run",
        ),
    ];
    for (change, name) in changes {
        let db = TestDatabase::create().await;
        let mut connection = db.admin().acquire().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(change)).execute(&mut *connection).await.unwrap();
        let found = examine(&mut db.pool().acquire().await.unwrap()).await.unwrap();
        assert_eq!((found.changed, found.intact), (vec![name.to_owned()], FUNCTIONS.len() - 1), "{change}");

        migrate::migrate(db.admin(), &schemas()).await.unwrap();

        let whole = Examination { intact: FUNCTIONS.len(), ..Examination::default() };
        assert_eq!(examine(&mut connection).await.unwrap(), whole, "{change}");
        let reference = TestDatabase::create().await;
        crate::assert_same(&crate::fingerprint(db.admin()).await, &crate::fingerprint(reference.admin()).await);
    }
}

/// A later version may change the columns of a view.
#[tokio::test]
async fn what_depends_on_a_view_with_other_columns_is_made_anew_with_it() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    let other = "create or replace view etl.other_sessions as
        select now() as xact_start, 1 as pid, true as has_written, false as is_hidden";
    let applied = apply(&mut connection, &with_text("etl.other_sessions", other), revision() + 1).await.unwrap();
    assert_eq!(applied, ["etl.other_sessions", "etl.other_transactions"]);
    assert_eq!(scalar::<i32>(&mut connection, "select pid from etl.other_transactions").await, 1);
    let whole = Examination { intact: FUNCTIONS.len(), ..Examination::default() };
    assert_eq!(examine(&mut connection).await.unwrap(), whole);
}

/// A service has begun a transaction that changes runs and what is to be read again.
async fn service(db: &TestDatabase) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut tx = db.pool().begin().await.unwrap();
    let changes =
        "update etl.etl_runs set batches = 1; delete from etl.etl_rereads; update etl.etl_reports set error = error;
                   insert into etl.etl_transitions (pipeline) select '' where false";
    sqlx::raw_sql(changes).execute(&mut *tx).await.unwrap();
    tx
}

#[tokio::test]
async fn functions_are_applied_while_services_work() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("update etl.etl_functions set checksum = ''").execute(db.admin()).await.unwrap();
    let mut service = service(&db).await;
    let migrated = tokio::time::timeout(Duration::from_secs(30), migrate::migrate(db.admin(), &schemas())).await;
    migrated.expect("the migration waits for a service").unwrap();
    sqlx::raw_sql("update etl.etl_runs set batches = 2").execute(&mut *service).await.unwrap();
    service.commit().await.unwrap();
}

/// Neither waits long for the other one, and none is ended.
#[tokio::test]
async fn a_migration_steps_back_from_what_services_hold_and_tries_again() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("drop trigger etl_runs_sum_up on etl.etl_runs").execute(db.admin()).await.unwrap();
    let mut service = service(&db).await;
    let migrating = tokio::spawn({
        let db = db.admin().clone();
        async move { migrate::migrate(&db, &schemas()).await }
    });
    let waiting =
        "select exists (select from pg_locks l where not l.granted and l.relation = 'etl.etl_runs'::regclass)";
    for expected in [true, false, true] {
        let mut watching = db.admin().acquire().await.unwrap();
        while scalar::<bool>(&mut watching, waiting).await != expected {
            assert!(!migrating.is_finished(), "{:?}", migrating.await);
            tokio::task::yield_now().await;
        }
    }
    sqlx::raw_sql("update etl.etl_runs set batches = 2").execute(&mut *service).await.unwrap();
    service.commit().await.unwrap();
    migrating.await.unwrap().unwrap();
    let mut connection = db.admin().acquire().await.unwrap();
    assert_eq!(examine(&mut connection).await.unwrap().changed, Vec::<String>::new());
}

#[tokio::test]
async fn a_function_of_others_in_our_schemas_is_found() {
    let db = TestDatabase::create().await;
    let mut connection = db.admin().acquire().await.unwrap();
    let planted = "create function etl_query.planted() returns int language sql as 'select 1'";
    sqlx::raw_sql(planted).execute(&mut *connection).await.unwrap();
    assert_eq!(examine(&mut connection).await.unwrap().foreign, ["etl_query.planted"]);
}

/// Its services go on: «migrate, then restart the services».
#[tokio::test]
async fn a_program_that_is_older_than_the_functions_goes_on_and_does_not_migrate() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("update etl.etl_functions set revision = revision + 1").execute(db.admin()).await.unwrap();
    let standing = migrate::standing(&mut db.pool().acquire().await.unwrap()).await.unwrap();
    let newer = format!("functions {}", revision() + 1);
    assert_eq!((standing.missing, standing.newer.as_ref()), (0, Some(&newer)));
    let refused = migrate::migrate(db.admin(), &schemas()).await.unwrap_err();
    assert!(matches!(&refused, MigrateError::Newer(found) if *found == newer), "{refused}");
}

#[tokio::test]
async fn a_program_that_is_newer_than_the_functions_waits_for_a_migration() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("update etl.etl_functions set revision = revision - 1").execute(db.admin()).await.unwrap();
    assert_eq!(migrate::pending(&mut db.pool().acquire().await.unwrap()).await.unwrap(), 1);
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    assert_eq!(migrate::pending(&mut db.pool().acquire().await.unwrap()).await.unwrap(), 0);
}
