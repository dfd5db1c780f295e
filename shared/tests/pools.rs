//! Pools of connections: sessions are new, whole and not lost.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use sqlx::{AssertSqlSafe, PgPool};
use vitrina_shared::{
    config::DatabaseConfig,
    database::{self, LastingPool},
    store,
    testing::TestDatabase,
};

/// What a query may have left in its session is gone before the session is used again.
#[tokio::test]
async fn a_session_that_executed_a_query_is_new_when_it_is_used_again() {
    let db = TestDatabase::create().await;
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    let pool = database::pool_for_queries(&config, "vitrina-test", &[&[("lock_timeout", "3s")]]);
    let state = "select concat_ws(' ', pg_backend_pid(), current_setting('default_transaction_read_only'),
                     current_setting('work_mem'), current_setting('lock_timeout'), current_setting('TimeZone'),
                     (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
                     (select count(*) from pg_listening_channels()), (select count(*) from pg_cursors),
                     (select count(*) from pg_catalog.pg_class where relpersistence = 't'))";
    let before: String = sqlx::query_scalar(state).fetch_one(&pool).await.unwrap();
    {
        let mut conn = pool.acquire().await.unwrap();
        sqlx::raw_sql(
            "set default_transaction_read_only = on; set work_mem = '1GB'; set lock_timeout = 0; set timezone = 'Asia/Tokyo';
             listen somebody; select pg_advisory_lock(7); create temporary table pg_class (oid oid)",
        )
        .execute(&mut *conn)
        .await
        .unwrap();
    }
    let after: String = sqlx::query_scalar(state).fetch_one(&pool).await.unwrap();
    assert_eq!(before, after);
}

/// `when others` sees neither a cancelled statement nor a failed assertion. What such a query set is rolled back with its
/// transaction, and a statement that it prepared in the place of ours is never executed: the pool closes the session.
#[tokio::test]
async fn a_session_in_which_a_query_prepared_a_statement_is_closed_however_the_query_failed() {
    let db = TestDatabase::create().await;
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    let pool = database::pool_for_queries(&config, "vitrina-test", &[]);
    for (fails, code) in [
        ("raise exception 'as any query does'", "VT006"),
        ("assert false, 'on purpose'", "P0004"),
        ("raise exception using errcode = 'query_canceled', message = 'on purpose'", "57014"),
    ] {
        let function = format!(
            "create or replace function public.meddle() returns int language plpgsql as $$ begin
                 execute 'prepare mine as select 1';
                 perform set_config('transform_null_equals', 'on', false);
                 {fails};
             end $$"
        );
        sqlx::raw_sql(AssertSqlSafe(function)).execute(db.admin()).await.unwrap();
        let before = backend(&pool).await;
        let read = "select * from etl_page.read('select public.meddle()', null, null, 1, false) as page (n int)";
        let error = sqlx::query(read).execute(&pool).await.unwrap_err();
        assert_eq!(error.as_database_error().and_then(|error| error.code()).as_deref(), Some(code), "{error}");
        let state = "select (select count(*) from pg_prepared_statements where from_sql)
                            || ' ' || current_setting('transform_null_equals')";
        assert_eq!(sqlx::query_scalar::<_, String>(state).fetch_one(&pool).await.unwrap(), "0 off", "{code}");
        assert_ne!(backend(&pool).await, before, "{code}");
    }
}

/// Stops or continues the process of a session.
fn signal(signal: &str, backend: i32) {
    let sent = std::process::Command::new("kill").args([signal, &backend.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The process of a pool's only session, which is idle again.
async fn backend(pool: &PgPool) -> i32 {
    let backend = sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await.unwrap();
    while pool.num_idle() == 0 {
        tokio::task::yield_now().await;
    }
    backend
}

/// A client hangs up while `begin` is under way. What the connection's next user writes must be committed.
#[tokio::test]
async fn a_transaction_whose_begin_was_given_up_does_not_swallow_what_follows() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("create table public.written (n int); grant insert on public.written to vitrina_app")
        .execute(db.admin())
        .await
        .unwrap();
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    for pool in [database::pool(&config, "vitrina-test"), database::pool_for_queries(&config, "vitrina-test", &[])] {
        let frozen = backend(&pool).await;
        signal("-STOP", frozen);
        let given_up = tokio::time::timeout(std::time::Duration::from_millis(200), pool.begin()).await;
        signal("-CONT", frozen);
        assert!(given_up.is_err(), "`begin` was answered by a session that stood still");
        drop(given_up);
        sqlx::query("insert into public.written values (1)").execute(&pool).await.unwrap();
        let committed: i64 =
            sqlx::query_scalar("with gone as (delete from public.written returning 1) select count(*) from gone")
                .fetch_one(db.admin())
                .await
                .unwrap();
        assert_eq!(committed, 1);
    }
}

/// As after connections that fell silent while they were given back.
#[tokio::test]
async fn a_pool_that_gives_out_no_connection_any_more_is_replaced_while_the_database_answers() {
    let db = TestDatabase::create().await;
    let config = DatabaseConfig { url: db.url().parse().unwrap(), max_connections: 1 };
    let pool = LastingPool::new(move || database::pool(&config, "vitrina-test"));
    let stop = tokio_util::sync::CancellationToken::new();
    let looked_after = pool.clone();
    let (looking, stopped) = (stop.clone(), stop.clone().drop_guard());
    let task = tokio::spawn(async move { looked_after.replace_when_stuck(&looking).await });
    let never_comes_back = pool.current().acquire().await.unwrap();
    assert!(pool.current().acquire().await.is_err(), "there is a second connection");
    let replaced = async { while sqlx::query("select 1").execute(&pool.current()).await.is_err() {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), replaced).await.unwrap();
    drop((never_comes_back, stopped));
    task.await.unwrap();
}

/// Services of PostgreSQL may refuse what the server itself lets everyone call.
#[tokio::test]
async fn a_flush_commits_where_the_server_does_not_tell_how_far_its_log_is() {
    let db = TestDatabase::create().await;
    sqlx::raw_sql("revoke execute on function pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn() from public")
        .execute(db.admin())
        .await
        .unwrap();
    let mut connection = db.pool().acquire().await.unwrap();
    let denied = sqlx::raw_sql("select pg_current_wal_insert_lsn()").execute(&mut *connection).await.unwrap_err();
    assert_eq!(denied.as_database_error().unwrap().code().as_deref(), Some("42501"));
    let before: String =
        sqlx::query_scalar("select pg_current_wal_insert_lsn()::text").fetch_one(db.admin()).await.unwrap();
    store::flush(&mut connection).await.unwrap();
    let grown: bool = sqlx::query_scalar("select pg_current_wal_insert_lsn() > $1::pg_lsn")
        .bind(before)
        .fetch_one(db.admin())
        .await
        .unwrap();
    assert!(grown, "nothing was committed");
}
