//! The connection pool of a service.

mod fault;
mod lasting;
mod silence;

use std::time::Duration;

use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool, Row,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use self::silence::Silence;
pub use self::{
    fault::Fault,
    lasting::{LastingPool, answers},
    silence::Watch,
};
use crate::config::DatabaseConfig;

/// How long a request waits for a connection before the database counts as away.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// For sessions that look up Vitrina's own rows, always by their keys. A plan made while a table was small must not scan it
/// when it has grown, and is as good for the next key as for this one.
pub const BY_KEY: [(&str, &str); 2] = [("enable_seqscan", "off"), ("plan_cache_mode", "force_generic_plan")];

/// Ends a transaction that was left open, without a warning if there is none.
///
/// The driver rolls a transaction back when its owner is dropped, but not while `begin` is under way: then the next user of
/// the connection would write into a transaction that is never committed.
const END_TRANSACTION: &str = "begin; rollback";

/// Resets a session that executed a user's query. The query cannot have changed its role. The settings are reset first:
/// until then the query may have changed what names mean. Prepared statements stay, so the last statement counts them:
/// those that the driver made, and those that were made in SQL.
const RENEW: &str = "begin; rollback; reset all; close all; unlisten *; select pg_catalog.pg_advisory_unlock_all();
    discard temp; discard sequences;
    select pg_catalog.count(*) filter (where not p.from_sql), pg_catalog.count(*) filter (where p.from_sql)
    from pg_catalog.pg_prepared_statement() as p";

/// A pool that connects when it is first used, so that a service can start while its database is away.
pub fn pool(config: &DatabaseConfig, application: &str) -> PgPool {
    pool_with(config, application, &[])
}

pub fn pool_with(config: &DatabaseConfig, application: &str, settings: &[&[(&str, &str)]]) -> PgPool {
    let options = Silence::default().bounds(options(config), |connection| Box::pin(end_transaction(connection)));
    options.connect_lazy_with(session(config.url.connect_options(), application).options(settings.concat()))
}

/// Such a pool for sessions that execute users' queries: a session is reset before it is used again.
pub fn pool_for_queries(config: &DatabaseConfig, application: &str, settings: &[&[(&str, &str)]]) -> PgPool {
    let options = Silence::default().bounds(options(config), |connection| Box::pin(renew(connection)));
    options.connect_lazy_with(session(config.url.connect_options(), application).options(settings.concat()))
}

/// Such a pool for a library whose statements have no deadline: [`Watch`] reports a statement that does not return.
pub fn watched_pool(config: &DatabaseConfig, application: &str, settings: &[&[(&str, &str)]]) -> (PgPool, Watch) {
    let silence = Silence::default();
    // A connection that is closed for its age would not be counted as returned.
    let options = options(config).max_lifetime(None);
    let options = silence.bounds(options, |connection| Box::pin(end_transaction(connection)));
    let session = session(config.url.connect_options(), application).options(settings.concat());
    (options.connect_lazy_with(session), silence.watch())
}

async fn end_transaction(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::raw_sql(END_TRANSACTION).execute(connection).await?;
    Ok(true)
}

/// Renews a session. One whose prepared statements are not those that the driver made is closed instead: executing them would
/// execute what a user's query has put in their place. That holds however the query failed: the handlers of `etl_page.read` and
/// the other functions do not see a cancelled statement or a failed assertion.
async fn renew(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let results = sqlx::raw_sql(RENEW).fetch_all(&mut *connection).await?;
    let Some(statements) = results.last() else { return Ok(false) };
    let (drivers, others): (i64, i64) = (statements.try_get(0)?, statements.try_get(1)?);
    Ok(others == 0 && usize::try_from(drivers).is_ok_and(|drivers| drivers >= connection.cached_statements_size()))
}

fn options(config: &DatabaseConfig) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(config.max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .acquire_slow_threshold(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
}

/// The settings of every session of ours, independent of the server's defaults.
///
/// Text forms of values are part of checkpoints, so the settings that shape them are fixed.
pub fn session(options: PgConnectOptions, application: &str) -> PgConnectOptions {
    // A statement may hold values of rows: what is worth a line is logged by us.
    options.disable_statement_logging().application_name(application).options([
        // Names mean the server's own objects, whatever `public`, a schema of the account's name or the session contain,
        // and those of the queue, which uses a type of its own.
        ("search_path", "pg_catalog,apalis,pg_temp"),
        ("timezone", "UTC"),
        ("datestyle", "ISO, YMD"),
        ("intervalstyle", "iso_8601"),
        ("extra_float_digits", "1"),
        ("bytea_output", "hex"),
        // The statements of a batch must see what other sessions have committed meanwhile.
        ("default_transaction_isolation", "read committed"),
        ("client_min_messages", "warning"),
        // Compiling a page takes longer than running it.
        ("jit", "off"),
        ("idle_in_transaction_session_timeout", "60s"),
        // A server that notices soon that its client is gone ends the statement and lets go of its locks: every 2 s it looks
        // for a closed connection, and after 25 s without a sign of life from the client's machine it gives up.
        ("client_connection_check_interval", "2s"),
        ("tcp_keepalives_idle", "10"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "25s"),
    ])
}

pub const TAKES_NO_WRITES: &str = "the database takes no writes: the server is a standby, or default_transaction_read_only is on; \
    connect to the primary, or turn the setting off";

/// Whether the session may write: not on a standby, nor where `default_transaction_read_only` is on.
pub async fn takes_writes(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("select not current_setting('transaction_read_only')::boolean").fetch_one(connection).await
}

/// What an error says, without the line of PostgreSQL's own source that sqlx adds to it.
pub fn message(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |server| server.message().to_owned())
}

/// What to do about a server that refuses a session.
pub fn advice(error: &sqlx::Error) -> Option<&'static str> {
    match error.as_database_error()?.code()?.as_ref() {
        "28P01" => Some(
            "check user and password in DATABASE_URL: a server keeps the password that its data was created with, whatever a \
             newer .env says",
        ),
        "28000" => Some("check user and password in DATABASE_URL"),
        "3D000" => Some("create the database, or correct its name in DATABASE_URL"),
        "53300" => Some("the server has no free connection: raise max_connections, or lower VITRINA_DB_CONNECTIONS"),
        "57P03" => Some("the server is starting or stopping: try again in a moment"),
        _ => None,
    }
}
