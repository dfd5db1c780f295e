//! A database with everything that a query might want to misuse, and what is looked at afterwards.

use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use vitrina_shared::{
    guard::{self, GuardError, QueryLimits, Refusal, SourceSchemas},
    testing::TestDatabase,
};

/// A word that stands in every table that is out of reach.
pub const CANARY: &str = "CANARY";

/// The schemas that queries may read.
pub fn schemas() -> SourceSchemas {
    SourceSchemas::new(["content", "ugc"])
}

/// A database with the scene.
pub async fn scene() -> TestDatabase {
    let db = TestDatabase::create().await;
    sqlx::raw_sql(concat!(include_str!("scene.sql"), include_str!("scene_evil.sql")))
        .execute(db.admin())
        .await
        .expect("the scene");
    db
}

/// Layer 1 alone.
pub async fn early(conn: &mut PgConnection, sql: &str) -> Result<guard::SourceQuery, GuardError> {
    let query = guard::parse(sql, &schemas())?;
    guard::check_functions(conn, &query, &schemas()).await?;
    Ok(query)
}

/// All layers that look at a query before it is executed.
pub async fn judged(conn: &mut PgConnection, sql: &str) -> Result<guard::SourceQuery, GuardError> {
    let query = early(conn, sql).await?;
    let id = if sql.contains("as rating_id") { "rating_id" } else { "id" };
    guard::describe(conn, &query, (Some("modified"), Some(id)), &schemas(), &QueryLimits::default()).await?;
    Ok(query)
}

/// The refusal of a query; panics where there was none, or another error.
pub fn refused<T>(outcome: Result<T, GuardError>) -> Option<Refusal> {
    match outcome {
        Ok(_) => None,
        Err(GuardError::Refused(refusal)) => Some(refusal),
        Err(GuardError::Database(error)) => panic!("the database: {error}"),
    }
}

/// Executes a text as a page is: its rows go into a mart. Returns what the server said against it.
pub async fn execute(conn: &mut PgConnection, text: &str) -> Result<i64, sqlx::Error> {
    let query = format!(
        "select row_to_json(source)::text, current_user::text from (select * from ({text}\n) as source limit 20) as source"
    );
    let statement = format!(
        "with page as materialized (
             select * from etl_page.read('{}', $5, $6, $4, true) as page (doc text, who text)
         ),
         written as (insert into analytics.outcome (doc, who) select doc, who from page returning 1)
         select count(*), (select count(*) from written), null::text[], false from page",
        query.replace('\'', "''"),
    );
    sqlx::query_scalar("select rows_written from etl_mart.run($1, null, 'infinity', 10, true)")
        .bind(statement)
        .persistent(false)
        .fetch_one(conn)
        .await
}

/// The mart that outcomes are written to.
pub async fn make_outcome(db: &TestDatabase) {
    let mart =
        "create table analytics.outcome (id bigint generated always as identity primary key, doc text, who text);
                grant select, insert on analytics.outcome to vitrina_mart";
    sqlx::raw_sql(mart).execute(db.admin()).await.unwrap();
}

/// Everything in the database that a query could have changed, but for the mart of outcomes and what the server counts.
pub async fn everything(admin: &PgPool) -> String {
    let tables: Vec<String> = sqlx::query_scalar(
        "select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname in ('content', 'ugc', 'private', 'analytics', 'etl', 'apalis') and c.relkind in ('r', 'S')
           and c.relname not in ('outcome', 'outcome_id_seq')
         order by 1",
    )
    .fetch_all(admin)
    .await
    .unwrap();
    let mut all = String::new();
    for table in tables {
        let rows = format!(
            "select coalesce(md5(string_agg(t::text, ';' order by t::text)), '') from (select * from {table}) as t"
        );
        let hash: String = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_one(admin).await.unwrap();
        all.push_str(&format!("{table} {hash}\n"));
    }
    let objects = "select concat_ws(' ', (select count(*) from pg_proc), (select count(*) from pg_class where relnamespace::regnamespace::text !~ '^pg_(temp|toast)'),
        (select count(*) from pg_largeobject_metadata), (select count(*) from pg_roles), (select count(*) from pg_namespace where nspname !~ '^pg_'),
        (select md5(string_agg(s::text, ',' order by s::text)) from pg_db_role_setting s), (select md5(string_agg(a::text, ',' order by a::text)) from pg_auth_members a))";
    let objects: String = sqlx::query_scalar(objects).fetch_one(admin).await.unwrap();
    all + &objects
}

/// What a session of the services is like: its settings, its role, its locks.
pub async fn session(conn: &mut PgConnection) -> String {
    sqlx::query_scalar(
        "select concat_ws(' ', session_user, current_user,
            (select string_agg(name || '=' || setting, ',' order by name) from pg_settings where name not in ('application_name')),
            (select count(*) from pg_locks where pid = pg_backend_pid() and locktype in ('advisory', 'relation') and mode <> 'AccessShareLock'),
            (select count(*) from pg_listening_channels()))",
    )
    .fetch_one(conn)
    .await
    .unwrap()
}
