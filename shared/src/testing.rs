//! Throwaway databases for tests: each is a copy of one migrated template, with the demo's marts, on the server of the test run.
//!
//! `scripts/with-postgres cargo test` starts that server and removes it afterwards.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{
    AssertSqlSafe, Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{database, migrate};

const MARTS: &str = include_str!("../../demo/marts.sql");

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A migrated database of its own, removed when dropped.
pub struct TestDatabase {
    name: String,
    server: PgConnectOptions,
    admin: PgPool,
    app: PgPool,
}

impl TestDatabase {
    /// Creates a database. Panics with what to do if there is no server: a test cannot go on without it.
    pub async fn create() -> Self {
        Self::create_on(server()).await
    }

    /// Creates a database on another server than that of the test run, for instance one that is restarted.
    pub async fn create_on(server: PgConnectOptions) -> Self {
        let mut connection = PgConnection::connect_with(&server).await.expect("the test server answers");
        let template = ensure_template(&mut connection, &server).await;
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        execute(&mut connection, format!("create database {name} template {template}")).await;
        let admin = connect(server.clone().database(&name));
        let app = connect(server.clone().username("vitrina_app").database(&name));
        Self { name, server, admin, app }
    }

    /// A pool of the services' account.
    pub fn pool(&self) -> &PgPool {
        &self.app
    }

    /// A pool of the superuser, for making source tables.
    pub fn admin(&self) -> &PgPool {
        &self.admin
    }

    pub fn url(&self) -> String {
        format!("postgres://vitrina_app@{}:{}/{}", self.server.get_host(), self.server.get_port(), self.name)
    }

    /// The address for the superuser, who may migrate.
    pub fn owner_url(&self) -> String {
        let (user, host, port) = (self.server.get_username(), self.server.get_host(), self.server.get_port());
        format!("postgres://{user}@{host}:{port}/{}", self.name)
    }

    pub fn connect_options(&self) -> PgConnectOptions {
        database::session(self.server.clone().username("vitrina_app").database(&self.name), "vitrina-test")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // Dropping is not async: a thread with a runtime of its own removes the database.
        let removed = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
                let mut connection = PgConnection::connect_with(&server).await?;
                let statement = format!("drop database if exists {name} with (force)");
                sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        });
        if !matches!(removed.join(), Ok(Ok(()))) {
            tracing::warn!(database = self.name, "the test database could not be removed");
        }
    }
}

fn server() -> PgConnectOptions {
    std::env::var("VITRINA_TEST_DATABASE_URL")
        .expect("VITRINA_TEST_DATABASE_URL is not set: run `scripts/with-postgres cargo test`, or `make test`")
        .parse()
        .expect("VITRINA_TEST_DATABASE_URL is a PostgreSQL address")
}

fn connect(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new().max_connections(12).connect_lazy_with(database::session(options, "vitrina-test"))
}

/// Migrates the template once per server; test processes that come meanwhile wait.
async fn ensure_template(connection: &mut PgConnection, server: &PgConnectOptions) -> &'static str {
    const TEMPLATE: &str = "vitrina_template";
    execute(connection, "select pg_advisory_lock(hashtextextended('vitrina template', 0))".to_owned()).await;
    let exists: bool =
        sqlx::query_scalar("select exists (select from pg_database where datname = $1 and datistemplate)")
            .bind(TEMPLATE)
            .fetch_one(&mut *connection)
            .await
            .expect("pg_database can be read");
    if !exists {
        execute(connection, format!("drop database if exists {TEMPLATE}")).await;
        execute(connection, format!("create database {TEMPLATE}")).await;
        let pool = connect(server.clone().database(TEMPLATE));
        let schemas = ["content".to_owned(), "ugc".to_owned()];
        migrate::migrate(&pool, &schemas).await.expect("the template migrates");
        sqlx::raw_sql(MARTS).execute(&pool).await.expect("the template has the demo's marts");
        pool.close().await;
        execute(connection, format!("alter database {TEMPLATE} is_template true")).await;
    }
    execute(connection, "select pg_advisory_unlock(hashtextextended('vitrina template', 0))".to_owned()).await;
    TEMPLATE
}

async fn execute(connection: &mut PgConnection, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.expect("the test server obeys");
}
