//! Migrations, repeated and at once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod beside;
mod files;
mod functions;
mod owners;
mod rights;
mod strangers;

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, postgres::PgPoolOptions};
use vitrina_shared::{MIGRATOR, migrate, testing::TestDatabase};

fn schemas() -> Vec<String> {
    vec!["content".to_owned(), "ugc".to_owned()]
}

/// A database without anything in it.
async fn empty() -> TestDatabase {
    let db = TestDatabase::create().await;
    let name: String = sqlx::query_scalar("select current_database()").fetch_one(db.admin()).await.unwrap();
    let mut server =
        PgConnection::connect_with(&db.admin().connect_options().as_ref().clone().database("postgres")).await.unwrap();
    for statement in [format!("drop database {name} with (force)"), format!("create database {name}")] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut server).await.unwrap();
    }
    db
}

/// A pool as another process would have one.
fn another_process(db: &TestDatabase) -> PgPool {
    PgPoolOptions::new().max_connections(3).connect_lazy_with(db.admin().connect_options().as_ref().clone())
}

/// Everything that a migration makes: columns, constraints, functions, triggers, rights and what was applied.
async fn fingerprint(db: &PgPool) -> BTreeSet<String> {
    let lines: Vec<String> = sqlx::query_scalar(
        r"
        with ours as (
            select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
        )
        select format('column %s.%s %s %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), c.relacl)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace in (table ours)
        union all
        select format('constraint %s %s', conname, pg_get_constraintdef(oid))
        from pg_constraint where connamespace in (table ours)
        union all
        select format('function %s %s %s %s', oid::regprocedure, proowner::regrole, proacl, md5(prosrc))
        from pg_proc where pronamespace in (table ours)
        union all
        select format('trigger %s on %s', tgname, tgrelid::regclass) from pg_trigger where not tgisinternal
        union all
        select format('default %s %s', defaclnamespace::regnamespace, defaclacl) from pg_default_acl
        union all
        select format('member %s %s', roleid::regrole, member::regrole) from pg_auth_members where member::regrole::text ~ '^vitrina_'
        union all
        select format('migration %s %s', version, encode(checksum, 'hex')) from etl._sqlx_migrations
        union all
        select format('file %s %s %s', name, checksum, md5(definition)) from etl.etl_functions
        ",
    )
    .fetch_all(db)
    .await
    .unwrap();
    lines.into_iter().collect()
}

fn assert_same(left: &BTreeSet<String>, right: &BTreeSet<String>) {
    assert_eq!(left.symmetric_difference(right).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("create schema content; create table content.film_work (id int)").execute(db.admin()).await.unwrap();
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    let before = fingerprint(db.admin()).await;

    migrate::migrate(db.admin(), &schemas()).await.unwrap();

    assert_same(&fingerprint(db.admin()).await, &before);
}

#[tokio::test]
async fn processes_that_migrate_an_empty_database_at_once_do_not_disturb_each_other() {
    let (db, reference) = (empty().await, empty().await);
    migrate::migrate(reference.admin(), &schemas()).await.unwrap();
    let processes = [another_process(&db), another_process(&db), another_process(&db)];
    let schemas = schemas();

    let outcomes = futures_util::future::join_all(processes.iter().map(|db| migrate::migrate(db, &schemas))).await;

    for outcome in outcomes {
        outcome.unwrap();
    }
    assert_same(&fingerprint(db.admin()).await, &fingerprint(reference.admin()).await);
}

#[tokio::test]
async fn an_account_that_may_not_migrate_is_told_which_may() {
    for db in [empty().await, TestDatabase::create().await] {
        let error = migrate::migrate(db.pool(), &schemas()).await.unwrap_err().to_string();
        assert!(error.contains("permission denied"), "{error}");
        assert!(error.ends_with("migrate with an account that may create schemas, roles and extensions"), "{error}");
    }
}

#[tokio::test]
async fn what_is_missing_is_counted() {
    let (db, migrated) = (empty().await, TestDatabase::create().await);
    let mut missing_all = db.admin().acquire().await.unwrap();
    let mut missing_none = migrated.pool().acquire().await.unwrap();

    let with_functions = MIGRATOR.iter().count() + 1;
    assert_eq!(migrate::pending(&mut missing_all).await.unwrap(), with_functions);
    assert_eq!(migrate::pending(&mut missing_none).await.unwrap(), 0);
}

/// The queue names a type of an extension without its schema.
#[tokio::test]
async fn a_database_that_has_the_queues_extension_elsewhere_can_be_migrated_and_queues_jobs() {
    let db = empty().await;
    sqlx::raw_sql("create extension hstore schema public").execute(db.admin()).await.unwrap();
    for _ in 0..2 {
        migrate::migrate(db.admin(), &schemas()).await.unwrap();
    }
    let mut tx = db.pool().begin().await.unwrap();
    let metadata = vec![sqlx::postgres::types::PgHstore::default()];
    let queued =
        "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, metadata)
                  select 'x', 'vitrina:batches', ''::bytea, 'Pending', 0, 1, now(), 0, unnest($1::hstore[])";
    let done = sqlx::query(queued).bind(metadata).execute(&mut *tx).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}
