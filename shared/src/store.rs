//! SQL and nothing else: a file per table, a function per statement.
//!
//! Functions take a connection, so that the caller decides what belongs into one transaction.

pub mod backends;
pub mod calls;
pub mod catalog;
pub mod comparison;
pub mod dead_letters;
pub mod hooks;
pub mod horizon;
pub mod installation;
pub mod limits;
pub mod marts;
pub mod pages;
pub mod pipelines;
pub mod pool_keys;
pub mod queue;
pub mod reports;
pub mod runs;
pub mod server;
pub mod server_life;
pub mod sources;
pub mod state;
pub(crate) mod status;
pub mod swaps;
pub mod tables;
pub mod targets;
pub mod tasks;
pub mod totals;
pub mod transitions;
pub mod value_types;
pub mod worker_steps;
pub mod workers;
pub mod write_numbers;

use std::{borrow::Cow, time::Duration};

use sqlx::{PgConnection, postgres::types::PgInterval};

fn interval(duration: Duration) -> PgInterval {
    PgInterval { months: 0, days: 0, microseconds: i64::try_from(duration.as_micros()).unwrap_or(i64::MAX) }
}

/// Waits until everything that was committed before is on disk, and with the standbys that commits wait for.
///
/// Transactions that log a status change do not wait for it themselves (`etl.log_in_commit_order`): they would keep all other transactions
/// from logging. Any commit that waits flushes the log of the server up to its own place, and the server lets many of
/// them share one wait; this is the smallest one (`WAITING_COMMIT`). If the whole log is on disk already and that is enough,
/// or the server is a standby, nothing is committed.
pub async fn flush(connection: &mut PgConnection) -> sqlx::Result<()> {
    let unless_on_disk = "select pg_logical_emit_message(true, 'vitrina', '')
         where case
             when pg_is_in_recovery() then false
             when current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('local', 'off')
                 then true
             else pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()
         end";
    match sqlx::raw_sql(unless_on_disk).execute(&mut *connection).await {
        // Not every service tells how far its log is.
        Err(error) if error.as_database_error().is_some_and(|error| is_refusal(error.code())) => {
            sqlx::raw_sql(WAITING_COMMIT).execute(connection).await.map(drop)
        }
        done => done.map(drop),
    }
}

const WAITING_COMMIT: &str = "select pg_logical_emit_message(true, 'vitrina', '')";

/// Whether the server does not have a function, or not for us: 42 rights and names, 0A not supported, 55 not now.
fn is_refusal(code: Option<Cow<'_, str>>) -> bool {
    code.is_some_and(|code| ["42", "0A", "55"].iter().any(|class| code.starts_with(class)))
}

/// Lets the commit of a transaction wait for the disk that would not: one that logs a status change and wrote rows too, or a batch
/// with effects outside of the database.
pub async fn wait_for_disk(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select set_config('vitrina.wait_for_disk', 'on', true)").execute(tx).await.map(drop)
}

/// Lets the commit of a transaction wait for the disk in a session whose commits do not.
pub async fn commit_durably(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql("set local synchronous_commit = on").execute(tx).await.map(drop)
}

/// Lets a transaction wait for servers other than the database: for as long as an index takes.
pub async fn allow_long_waits(tx: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("set local idle_in_transaction_session_timeout = '10min'").execute(tx).await.map(drop)
}

/// Whether the error is the violation of the named constraint: the database decides, no check-then-insert.
pub fn violates(error: &sqlx::Error, constraint: &str) -> bool {
    error.as_database_error().and_then(|error| error.constraint()) == Some(constraint)
}
