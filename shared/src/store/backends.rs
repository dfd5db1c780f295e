//! `pg_stat_activity`: the sessions that execute a user's text, found by the run or report they work for.
//!
//! Such a session is called `vitrina-worker <id>` for as long as its transaction lasts, and has a mark that the user's text
//! cannot take off (`etl.mark_session`). `etl.run_batch` takes both itself, all other work begins with [`begin`]. Whatever ends a run
//! can so end its statement too.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::interval;
use crate::domain::named_enum;

named_enum! {
    /// Why a statement was cancelled by Vitrina.
    Reason {
        /// Its run or report has ended.
        Cancel = "cancel",
        /// Its pipeline was to rest, and the batch did not end in time.
        Pause = "pause",
        /// Its worker stops.
        Shutdown = "shutdown",
        /// Its worker died, or does not hear its answer.
        Orphaned = "orphaned",
    }
}

/// Begins a transaction whose session carries the name of a run or report. `begin` is the statement, and may set more.
pub async fn begin<'c>(
    connection: &'c mut PgConnection,
    id: Uuid,
    begin: &str,
) -> sqlx::Result<Transaction<'c, Postgres>> {
    // Sent together, so the name costs no round trip; an id has no quotes.
    let statement = format!("{begin}; set local application_name = 'vitrina-worker {id}'; {}", mark(id));
    connection.begin_with(AssertSqlSafe(statement)).await
}

/// The statement that marks the transaction as one that works for a run, a report or a description.
pub fn mark(id: Uuid) -> String {
    format!("select etl.mark_session('{id}')")
}

/// Cancels what the sessions of a run or report are executing now. Returns how many there were.
pub async fn cancel(connection: &mut PgConnection, id: Uuid) -> sqlx::Result<u64> {
    let cancelled = sqlx::query_scalar!(
        r#"
        select count(*) filter (where pg_cancel_backend(a.pid)) as "cancelled!"
        from etl.sessions_of($1) as own (pid)
        join pg_stat_activity a on a.pid = own.pid
        where a.state = 'active'
        "#,
        id,
    )
    .fetch_one(connection)
    .await?;
    Ok(cancelled.unsigned_abs())
}

/// Ends the sessions of runs, reports or descriptions, whatever they do, and rolls back what they did. Returns how many there were.
///
/// For sessions that no caller waits for any more: their worker died, their connection fell silent, or they did not end when
/// they were cancelled.
pub async fn terminate(connection: &mut PgConnection, ids: &[Uuid]) -> sqlx::Result<u64> {
    let terminated = sqlx::query_scalar!(
        r#"
        select count(*) filter (where pg_terminate_backend(own.pid)) as "terminated!"
        from unnest($1::uuid[]) as work (id), etl.sessions_of(work.id) as own (pid)
        "#,
        ids,
    )
    .fetch_one(connection)
    .await?;
    Ok(terminated.unsigned_abs())
}

pub async fn any(connection: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select from etl.sessions_of($1))").bind(id).fetch_one(connection).await
}

/// Ends the sessions of the services that execute one statement for longer than `limit`: a query can go on after its time is up.
/// One that changed its name is known by its mark. A session that waits for its client is left alone: rows that are sent to it
/// may take their time. Returns how many there were.
pub async fn terminate_overdue(connection: &mut PgConnection, limit: Duration) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        r"
        select count(*) filter (where pg_terminate_backend(a.pid))
        from pg_stat_activity a
        where a.datname = current_database() and a.usename = session_user and a.pid <> pg_backend_pid()
          and a.state = 'active' and a.query_start < clock_timestamp() - $1::interval
          and a.backend_type = 'client backend' and a.wait_event_type is distinct from 'Client'
          and (a.application_name ~ '^vitrina-(worker|api)'
               or a.pid in (
                   select l.pid from pg_locks l
                   where l.locktype = 'advisory' and l.mode = 'ShareLock' and l.granted and l.objsubid = 1
                     and l.database = (select d.oid from pg_database d where d.datname = current_database())))
        ",
    )
    .bind(interval(limit))
    .fetch_one(connection)
    .await
}

/// A session of a run or report, as it was when it was looked at.
#[derive(Debug)]
pub struct WorkSession {
    /// The run or report.
    pub id: Uuid,
    pid: i32,
    state_since: DateTime<Utc>,
    /// Whether the server is at work on it, or was just now. A session that waits for its client is not at work.
    pub works: bool,
}

/// The sessions of the given runs and reports. What the server did within the time that is `recent` is work.
pub async fn sessions(connection: &mut PgConnection, ids: &[Uuid], recent: Duration) -> sqlx::Result<Vec<WorkSession>> {
    sqlx::query_as!(
        WorkSession,
        r#"
        select held.id as "id!", a.pid as "pid!", a.state_change as "state_since!",
               (a.state = 'active' and a.wait_event_type is distinct from 'Client'
                or a.state_change between clock_timestamp() - $2::interval and clock_timestamp()) as "works!"
        from unnest($1::uuid[]) as held (id), etl.sessions_of(held.id) as own (pid)
        join pg_stat_activity a on a.pid = own.pid
        where a.state_change is not null
        "#,
        ids,
        interval(recent),
    )
    .fetch_all(connection)
    .await
}

/// Ends those of the sessions that have done nothing since they were looked at: another one may be a successor's. Returns how many.
pub async fn terminate_unchanged(
    connection: &mut PgConnection,
    sessions: impl Iterator<Item = &WorkSession>,
) -> sqlx::Result<u64> {
    let (pids, since): (Vec<_>, Vec<_>) = sessions.map(|session| (session.pid, session.state_since)).unzip();
    let terminated = sqlx::query_scalar!(
        r#"
        select count(*) filter (where pg_terminate_backend(a.pid)) as "terminated!"
        from unnest($1::integer[], $2::timestamptz[]) as seen (pid, since)
        join pg_stat_activity a on a.pid = seen.pid and a.state_change = seen.since
        "#,
        &pids,
        &since,
    )
    .fetch_one(connection)
    .await?;
    Ok(terminated.unsigned_abs())
}

/// Those of the given runs and reports that need no statement any more, and why: they have ended or are gone, or their
/// pipeline was asked to rest longer than `pause_after` ago.
pub async fn unwanted(
    connection: &mut PgConnection,
    ids: &[Uuid],
    pause_after: Duration,
) -> sqlx::Result<Vec<(Uuid, Reason)>> {
    let rows = sqlx::query!(
        r#"
        select held.id as "id!", (run.status in ('QUEUED', 'RUNNING')) is true as "pause!"
        from unnest($1::uuid[]) as held (id)
        left join etl.etl_runs run on run.id = held.id
        left join etl.etl_pipelines pipeline on pipeline.id = run.pipeline_id
        where case
            when run.id is null then
                not exists (select from etl.etl_reports r where r.id = held.id and r.status in ('QUEUED', 'RUNNING'))
            when run.status in ('QUEUED', 'RUNNING') then
                pipeline.status = 'PAUSE_REQUESTED' and (
                    select t.at from etl.etl_transitions t where t.pipeline_id = pipeline.id order by t.id desc limit 1
                ) < clock_timestamp() - $2::interval
            else true
        end
        "#,
        ids,
        interval(pause_after),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, if row.pause { Reason::Pause } else { Reason::Cancel })).collect())
}
