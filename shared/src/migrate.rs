//! Brings a database to the version this program needs.

use apalis_postgres::PostgresStorage;
use sqlx::{Connection, PgConnection, PgPool, migrate::Migrator};

/// The migrations of `etl`, `analytics` and the roles.
pub static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// Rights, applied anew after every migration.
const GRANTS: &str = include_str!("../../migrations/repeatable/grants.sql");

/// Why a database could not be migrated.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// It was migrated by a newer program, or a migration failed.
    #[error("the migrations could not be applied: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The account lacks a right, or the server went away.
    #[error("the database refused: {0}; migrate with an account that may create schemas, roles and extensions")]
    Database(#[from] sqlx::Error),
    /// The queue's own tables could not be made.
    #[error("the queue's tables could not be made: {0}")]
    Queue(String),
}

/// Applies our migrations, the queue's and the grants. Repeating it, or two processes at once, is harmless.
pub async fn migrate(db: &PgPool, source_schemas: &[String]) -> Result<(), MigrateError> {
    // Two programs migrate one after the other; sqlx's own lock does not span the queue's migrations and the grants.
    let mut lock = db.acquire().await?.detach();
    sqlx::query("select pg_advisory_lock(hashtextextended('vitrina migrate', 0))").execute(&mut lock).await?;
    let outcome = migrate_locked(db, source_schemas).await;
    lock.close().await?;
    outcome
}

async fn migrate_locked(db: &PgPool, source_schemas: &[String]) -> Result<(), MigrateError> {
    MIGRATOR.run(db).await?;
    PostgresStorage::setup(db).await.map_err(|error| MigrateError::Queue(error.to_string()))?;
    let mut tx = db.begin().await?;
    sqlx::query("select set_config('vitrina.source_schemas', $1, true)")
        .bind(source_schemas.join(","))
        .execute(&mut *tx)
        .await?;
    sqlx::raw_sql(GRANTS).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}

/// How many migrations this program has that the database lacks.
pub async fn pending(connection: &mut PgConnection) -> Result<usize, sqlx::Error> {
    let applied: Vec<i64> = match sqlx::query_scalar("select version from etl._sqlx_migrations where success")
        .fetch_all(connection)
        .await
    {
        Ok(versions) => versions,
        Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("42P01" | "3F000")) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(MIGRATOR.iter().filter(|migration| !applied.contains(&migration.version)).count())
}
