//! Brings a database to the version this program needs: tables by numbered migrations, functions by their files, then rights.

pub mod functions;
pub mod owners;
pub mod queue;

use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool, migrate::Migrator};
use tokio::time::sleep;

use crate::database;

/// The migrations of `etl`, `analytics` and the roles.
pub static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// Indexes of the queue's table, made where they are lacking after every migration.
const QUEUE: &str = include_str!("../../migrations/repeatable/queue.sql");

/// Rights, applied anew after every migration.
const GRANTS: &str = include_str!("../../migrations/repeatable/grants.sql");

/// Tells the grants which schemas are sources.
const SET_SOURCES: &str = "
    select set_config('vitrina.source_schemas', string_agg(name, ','), true)
    from (select unnest($1) union select schema_name from etl.etl_source_grants where table_name = '' and $2) s (name)";

/// How often a migration is tried while transactions of the services are in its way, and how long it waits in between. It
/// waits for a single lock for less than the server's `deadlock_timeout`, one second, so that the migration gives way and
/// not a run.
const TRIES: u32 = 120;
const PAUSE: Duration = Duration::from_secs(1);
const GIVE_WAY: &str = "set local lock_timeout = '200ms'";

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(
        "the database was migrated by a newer Vitrina (to {0}), which this one would not understand: \
         use that one, or another database"
    )]
    Newer(String),
    #[error("the migrations could not be applied: {}", said(.0))]
    Migrate(sqlx::migrate::MigrateError),
    #[error("{}; migrate with an account that may create schemas, roles and extensions", said(.0))]
    Denied(sqlx::migrate::MigrateError),
    #[error("{}", refusal(.0))]
    Foreign(Vec<owners::Foreign>),
    #[error("{}", database::TAKES_NO_WRITES)]
    ReadOnly,
    #[error("the database refused: {}; {}", database::message(.0), advice(.0))]
    Database(#[from] sqlx::Error),
    #[error("the queue cannot work: {0}")]
    Queue(String),
}

impl MigrateError {
    /// Whether a lock of another transaction is all that is in the way: a deadlock, or one that was not given in time.
    fn is_in_the_way(&self) -> bool {
        use sqlx::migrate::MigrateError::{Execute, ExecuteMigration};

        let (Self::Database(error) | Self::Migrate(Execute(error) | ExecuteMigration(error, _))) = self else {
            return false;
        };
        let code = error.as_database_error().and_then(|error| error.code());
        matches!(code.as_deref(), Some("40P01" | "55P03"))
    }
}

impl From<sqlx::migrate::MigrateError> for MigrateError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError::{Execute, ExecuteMigration, VersionMissing};

        if let VersionMissing(version) = error {
            return Self::Newer(format!("version {version}"));
        }
        if let Execute(refused) | ExecuteMigration(refused, _) = &error
            && is_denied(refused)
        {
            return Self::Denied(error);
        }
        Self::Migrate(error)
    }
}

fn said(error: &sqlx::migrate::MigrateError) -> String {
    use sqlx::migrate::MigrateError::{Execute, ExecuteMigration};

    if let Execute(refused) | ExecuteMigration(refused, _) = error {
        return database::message(refused);
    }
    error.to_string()
}

fn advice(error: &sqlx::Error) -> &'static str {
    if is_denied(error) {
        return "migrate with an account that may create schemas, roles and extensions";
    }
    if error.as_database_error().and_then(|error| error.code()).as_deref() == Some("55P03") {
        return "a transaction has had locks on Vitrina's tables all the time: end it, or migrate again later";
    }
    database::advice(error).unwrap_or("check the server and DATABASE_URL")
}

fn refusal(found: &[owners::Foreign]) -> String {
    let Some(first) = found.first() else { return String::new() };
    let more = if found.len() > 1 { format!(", as do {} more things", found.len() - 1) } else { String::new() };
    format!(
        "{first}{more}, who is neither a superuser nor the owner of the database nor this account, and could have put anything in the \
         place of what is Vitrina's: if this database was migrated as {owner}, migrate as {owner}; if not, look at what is in the \
         schema and drop it (drop schema {schema} cascade)",
        owner = first.owner,
        schema = first.schema,
    )
}

fn is_denied(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some("42501")
}

/// The schemas that users' queries may read after a migration.
#[derive(Debug, Clone, Copy)]
pub enum QueryableSchemas<'a> {
    /// These. What an earlier migration gave beyond them is taken away, with a warning.
    Exactly(&'a [String]),
    /// These, and what an earlier migration gave: for commands that are not about rights.
    AtLeast(&'a [String]),
}

/// Migrates a database whose sources are exactly these schemas.
pub async fn migrate(db: &PgPool, source_schemas: &[String]) -> Result<(), MigrateError> {
    apply(db, QueryableSchemas::Exactly(source_schemas)).await
}

/// Applies our migrations, the queue's, our functions and the grants. Repeating it, or two processes at once, is harmless.
pub async fn apply(db: &PgPool, sources: QueryableSchemas<'_>) -> Result<(), MigrateError> {
    // Two programs migrate one after the other; sqlx's own lock does not span the queue's migrations and the grants.
    let mut lock = db.acquire().await?.detach();
    // Nothing is called by a name that could mean another's function, until it is clear that the queue's schema is ours.
    sqlx::raw_sql("set search_path = pg_catalog, pg_temp").execute(&mut lock).await?;
    if !database::takes_writes(&mut lock).await? {
        return Err(MigrateError::ReadOnly);
    }
    sqlx::query("select pg_advisory_lock(hashtextextended('vitrina migrate', 0))").execute(&mut lock).await?;
    let outcome = match owners::claim(&mut lock).await {
        Ok(foreign) if foreign.is_empty() => migrate_beside_others(db, sources).await,
        Ok(foreign) => Err(MigrateError::Foreign(foreign)),
        Err(error) => Err(error.into()),
    };
    lock.close().await?;
    outcome
}

/// Services may be at work. A migration that one of their transactions is in the way of begins again.
async fn migrate_beside_others(db: &PgPool, sources: QueryableSchemas<'_>) -> Result<(), MigrateError> {
    for _ in 1..TRIES {
        match migrate_locked(db, sources).await {
            Err(error) if error.is_in_the_way() => tracing::info!("waiting for another session: {error}"),
            outcome => return outcome,
        }
        sleep(PAUSE).await;
    }
    migrate_locked(db, sources).await
}

async fn migrate_locked(db: &PgPool, sources: QueryableSchemas<'_>) -> Result<(), MigrateError> {
    MIGRATOR.run(db).await?;
    queue::set_up(db).await?;
    let mut tx = db.begin().await?;
    sqlx::raw_sql(GIVE_WAY).execute(&mut *tx).await?;
    let found: i64 =
        sqlx::query_scalar("select coalesce(max(revision), 0) from etl.etl_functions").fetch_one(&mut *tx).await?;
    if found > functions::revision() {
        return Err(MigrateError::Newer(format!("functions {found}")));
    }
    let (schemas, keep) = match sources {
        QueryableSchemas::Exactly(schemas) => (schemas, false),
        QueryableSchemas::AtLeast(schemas) => (schemas, true),
    };
    sqlx::query(SET_SOURCES).bind(schemas).bind(keep).execute(&mut *tx).await?;
    sqlx::raw_sql(QUEUE).execute(&mut *tx).await?;
    functions::apply(&mut tx, functions::FUNCTIONS, functions::revision()).await?;
    sqlx::raw_sql(GRANTS).execute(&mut *tx).await?;
    let warnings: String = sqlx::query_scalar("select current_setting('vitrina.warnings')").fetch_one(&mut *tx).await?;
    tx.commit().await?;
    warnings.lines().for_each(|warning| tracing::warn!("{warning}"));
    Ok(())
}

/// The migrations of a database compared with this program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub applied: usize,
    /// Migrations of ours that it lacks. Functions that are older than ours count as one.
    pub missing: usize,
    /// Migrations that this program does not know: a newer one applied them.
    pub newer: Option<String>,
}

pub async fn standing(connection: &mut PgConnection) -> Result<Standing, sqlx::Error> {
    let question = "select version, (select coalesce(max(revision), 0) from etl.etl_functions)
                    from etl._sqlx_migrations where success";
    let found: Vec<(i64, i64)> = match sqlx::query_as(question).fetch_all(connection).await {
        Ok(found) => found,
        Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("42P01" | "3F000")) => Vec::new(),
        Err(error) => return Err(error),
    };
    let has = |version: i64| found.iter().any(|(found, _)| *found == version);
    let missing = MIGRATOR.iter().filter(|migration| !has(migration.version)).count();
    let revision = found.first().map_or(0, |(_, revision)| *revision);
    let newest = found.iter().map(|(version, _)| *version).filter(|version| !MIGRATOR.version_exists(*version)).max();
    let newer_functions = (revision > functions::revision()).then(|| format!("functions {revision}"));
    Ok(Standing {
        applied: MIGRATOR.iter().count() - missing,
        missing: missing + usize::from(revision < functions::revision()),
        newer: newest.map(|version| format!("version {version}")).or(newer_functions),
    })
}

/// How many migrations this program has that the database lacks.
pub async fn pending(connection: &mut PgConnection) -> Result<usize, sqlx::Error> {
    standing(connection).await.map(|standing| standing.missing)
}
