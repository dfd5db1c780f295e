//! Migrations beside services that are at work.

use std::time::Duration;

use sqlx::PgPool;
use tokio::time::{sleep, timeout};
use vitrina_shared::{
    migrate::{self, functions::FUNCTIONS},
    testing::TestDatabase,
};

use crate::{another_process, schemas};

const LONG: Duration = Duration::from_secs(60);

/// Waits until a migration waits for a lock on the table.
async fn somebody_waits_for(db: &PgPool, table: &str) {
    let question = "select exists (select from pg_locks where relation = $1::regclass and not granted
                                   and mode = 'AccessExclusiveLock')";
    let waiting = async {
        while !sqlx::query_scalar::<_, bool>(question).bind(table).fetch_one(db).await.unwrap() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, waiting).await.unwrap();
}

#[tokio::test]
async fn functions_that_have_changed_are_applied_while_a_run_holds_its_locks() {
    let db = TestDatabase::create().await;
    let everything_is_due = "update etl.etl_functions set checksum = 'of the version before'";
    sqlx::raw_sql(everything_is_due).execute(db.admin()).await.unwrap();
    let mut run = db.pool().begin().await.unwrap();
    sqlx::raw_sql(
        "lock table etl.etl_runs, etl.etl_rereads, etl.etl_transitions, etl.etl_reports in row exclusive mode",
    )
    .execute(&mut *run)
    .await
    .unwrap();

    timeout(LONG, migrate::migrate(db.admin(), &schemas())).await.expect("no lock is needed").unwrap();

    let applied: i64 =
        sqlx::query_scalar("select count(*) from etl.etl_functions where checksum <> 'of the version before'")
            .fetch_one(db.admin())
            .await
            .unwrap();
    assert_eq!(usize::try_from(applied).unwrap(), FUNCTIONS.len());
    run.commit().await.unwrap();
}

/// The one that holds what the other wants next is the run: the migration gives way, and begins again.
#[tokio::test]
async fn a_migration_that_is_in_the_way_of_a_run_gives_way_and_begins_again() {
    let db = TestDatabase::create().await;
    let damage =
        "alter table etl.etl_rereads alter column server drop default; drop trigger etl_runs_sum_up on etl.etl_runs;
                  update etl.etl_functions set checksum = 'of the version before'";
    sqlx::raw_sql(damage).execute(db.admin()).await.unwrap();
    let mut run = db.pool().begin().await.unwrap();
    sqlx::raw_sql("lock table etl.etl_runs in row exclusive mode").execute(&mut *run).await.unwrap();
    let process = another_process(&db);
    let migration = tokio::spawn(async move { migrate::migrate(&process, &schemas()).await });
    somebody_waits_for(db.admin(), "etl.etl_runs").await;

    for later in ["etl.etl_rereads", "etl.etl_transitions", "etl.etl_reports"] {
        let lock = sqlx::AssertSqlSafe(format!("lock table {later} in row exclusive mode"));
        sqlx::raw_sql(lock).execute(&mut *run).await.unwrap();
        somebody_waits_for(db.admin(), "etl.etl_runs").await;
    }
    run.commit().await.unwrap();

    timeout(LONG, migration).await.unwrap().unwrap().unwrap();
    let (default, triggers): (bool, i64) = sqlx::query_as(
        "select exists (select from pg_attrdef where adrelid = 'etl.etl_rereads'::regclass and pg_get_expr(adbin, adrelid) = 'etl.this_server()'),
                (select count(*) from pg_trigger where tgname = 'etl_runs_sum_up')",
    )
    .fetch_one(db.admin())
    .await
    .unwrap();
    assert_eq!((default, triggers), (true, 1));
}
