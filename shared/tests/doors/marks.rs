//! By which mark the services find a session of theirs, whatever it calls itself.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use vitrina_shared::store::backends;

use crate::{
    owners::{code, meddler},
    scene::{execute, make_outcome, scene},
};

/// A session that cannot be marked could not be found, and so not be ended.
#[tokio::test]
async fn nothing_is_executed_without_a_mark() {
    let db = scene().await;
    let work = Uuid::now_v7();
    let mut other = db.admin().acquire().await.unwrap();
    // Those that the other session will try by chance.
    let taken = format!(
        "select setseed(0.5);
         select count(pg_advisory_lock(hashtextextended('{work}', 0) & ~65535::bigint | floor(random() * 65536)::bigint))
         from generate_series(1, 16)"
    );
    sqlx::raw_sql(AssertSqlSafe(taken)).execute(&mut *other).await.unwrap();
    let mut conn = db.pool().acquire().await.unwrap();
    sqlx::raw_sql("select setseed(0.5)").execute(&mut *conn).await.unwrap();
    let error = backends::begin(&mut conn, work, "begin").await.map(|_| ()).unwrap_err();
    assert_eq!(code(&error), "55P03", "{error}");
}

/// Every account sees which advisory locks there are, and can take them.
#[tokio::test]
async fn who_has_seen_a_mark_does_not_know_the_next() {
    let db = scene().await;
    let work = Uuid::now_v7();
    let (mut other, mut conn) = (db.admin().acquire().await.unwrap(), db.pool().acquire().await.unwrap());
    for _ in 0..20 {
        let marked = backends::begin(&mut conn, work, "begin").await.unwrap();
        assert!(backends::any(&mut db.pool().acquire().await.unwrap(), work).await.unwrap(), "it is found by its mark");
        let seen: Vec<i64> = sqlx::query_scalar(
            "select (classid::bigint << 32) | objid::bigint from pg_locks
             where locktype = 'advisory' and mode = 'ShareLock' and objsubid = 1
               and database = (select oid from pg_database where datname = current_database())",
        )
        .fetch_all(&mut *other)
        .await
        .unwrap();
        assert_eq!(seen.len(), 1, "{seen:?}");
        marked.rollback().await.unwrap();
        sqlx::query("select pg_advisory_lock($1)").bind(seen[0]).execute(&mut *other).await.unwrap();
    }
}

/// A query can go on after its time is up, and call its session what it likes.
#[tokio::test]
async fn a_statement_whose_time_is_up_is_ended_from_outside() {
    let db = scene().await;
    make_outcome(&db).await;
    let body = "begin
        perform set_config('application_name', 'psql', false);
        loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop;
    end";
    meddler(&db, body).await;
    let pool = db.pool().clone();
    let deaf = tokio::spawn(async move {
        let mut conn = pool.acquire().await.unwrap();
        let mark = format!("begin; select etl.mark_session('{}')", Uuid::now_v7());
        sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *conn).await.unwrap();
        execute(&mut conn, "select content.meddle() as meddled").await
    });
    let asleep =
        "select exists (select from pg_stat_activity where application_name = 'psql' and wait_event = 'PgSleep'
                                 and datname = current_database())";
    while !sqlx::query_scalar::<_, bool>(asleep).fetch_one(db.admin()).await.unwrap() {
        assert!(!deaf.is_finished(), "{:?}", deaf.await);
        tokio::task::yield_now().await;
    }
    // Of the same account, and none of the services'.
    let mut stranger = db.pool().acquire().await.unwrap();
    sqlx::raw_sql("set application_name = 'psql'").execute(&mut *stranger).await.unwrap();
    let waits = tokio::spawn(async move { sqlx::raw_sql("select pg_sleep(600)").execute(&mut *stranger).await });
    let both = "select count(*) = 2 from pg_stat_activity where application_name = 'psql' and wait_event = 'PgSleep'
                and datname = current_database()";
    while !sqlx::query_scalar::<_, bool>(both).fetch_one(db.admin()).await.unwrap() {
        assert!(!waits.is_finished());
        tokio::task::yield_now().await;
    }
    let mut conn = db.pool().acquire().await.unwrap();
    assert_eq!(backends::terminate_overdue(&mut conn, Duration::from_secs(3600)).await.unwrap(), 0);
    assert_eq!(backends::terminate_overdue(&mut conn, Duration::ZERO).await.unwrap(), 1);
    assert!(deaf.await.unwrap().is_err());
    assert!(!waits.is_finished());
    waits.abort();
}

/// Between the look at a silent session and its end, the job may come back to the queue and be taken by another worker, whose
/// session has the same name.
#[tokio::test]
async fn a_session_that_has_done_something_since_the_look_is_left_alone() {
    let db = scene().await;
    let work = Uuid::now_v7();
    let (mut silent, mut successor) = (db.pool().acquire().await.unwrap(), db.pool().acquire().await.unwrap());
    let mut silent = backends::begin(&mut silent, work, "begin").await.unwrap();
    let mut successor = backends::begin(&mut successor, work, "begin").await.unwrap();
    let mut control = db.pool().acquire().await.unwrap();
    let sessions = backends::sessions(&mut control, &[work], Duration::ZERO).await.unwrap();
    assert_eq!(sessions.iter().filter(|session| session.id == work && !session.works).count(), 2);
    let recent = backends::sessions(&mut control, &[work], Duration::from_secs(3600)).await.unwrap();
    assert!(recent.iter().all(|session| session.works), "what was done just now is work");
    sqlx::query("select 1").execute(&mut *successor).await.unwrap();
    assert_eq!(backends::terminate_unchanged(&mut control, sessions.iter()).await.unwrap(), 1);
    sqlx::query("select 1").execute(&mut *silent).await.unwrap_err();
    successor.commit().await.unwrap();
}
