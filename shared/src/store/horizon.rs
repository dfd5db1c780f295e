//! What other sessions may still commit, and `etl.etl_rereads`.
//!
//! A row that says `modified = now()` carries the *start* of its transaction: it may become visible long after later
//! rows. No committed row may be skipped, so a run reads up to the start of the oldest transaction that is still open.
//! Our own sessions do not count: they never write to a source.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;
use crate::domain::{PipelineId, RunId};

/// How long a transaction that has only read holds the horizon back.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Up to where every row is settled, and what was left out of that.
#[derive(Debug, Clone)]
pub struct Horizon {
    /// Rows with a smaller key can be read.
    pub upper: DateTime<Utc>,
    /// The same, in the server's text form.
    pub upper_text: String,
    /// Start of the oldest open transaction.
    pub oldest: Option<DateTime<Utc>>,
    /// Whether transactions are prepared: nobody knows when they began.
    pub prepared: bool,
    /// Oldest and newest start of long readers that the horizon passes.
    pub passed: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// What the pipeline owes from before.
    pub owed: Option<Reread>,
}

/// Looks at the open transactions of others, and at what the run's pipeline owes.
///
/// A transaction without an id has only read so far, but may still write with its old `now()`: it counts, until it is
/// older than `patience`; then the horizon passes it. Of a prepared transaction only the end of its work is known, so
/// nothing new is read while there is one (`checkpoint`, the key that was read last).
pub async fn look(
    connection: &mut PgConnection,
    run: RunId,
    checkpoint: Option<DateTime<Utc>>,
    patience: Duration,
) -> sqlx::Result<Horizon> {
    let row = sqlx::query!(
        r#"
        with other as materialized (
            select o.xact_start, not o.has_written and o.xact_start < clock_timestamp() - $3::interval as passed
            from etl.other_transactions o
        ),
        bound as (
            select least(
                       (select requested_at from etl.etl_runs where id = $1),
                       (select min(xact_start) from other where not passed),
                       (select coalesce($2::timestamptz, min(prepared) - interval '1 hour')
                        from pg_prepared_xacts where database = current_database() having count(*) > 0)
                   ) as upper
        )
        select b.upper as "upper!", b.upper::text as "upper_text!",
               (select min(xact_start) from other) as oldest,
               exists (select from pg_prepared_xacts where database = current_database()) as "prepared!",
               (select min(xact_start) from other where passed and xact_start < b.upper) as passed_from,
               (select max(xact_start) from other where passed and xact_start < b.upper) as passed_to,
               w.from_key as "owed_from?", w.once_past as "owed_until?"
        from bound b
        left join etl.etl_rereads w on w.pipeline_id = (select pipeline_id from etl.etl_runs where id = $1)
        "#,
        run as RunId,
        checkpoint,
        interval(patience),
    )
    .fetch_one(connection)
    .await?;
    Ok(Horizon {
        upper: row.upper,
        upper_text: row.upper_text,
        oldest: row.oldest,
        prepared: row.prepared,
        passed: row.passed_from.zip(row.passed_to),
        owed: row.owed_from.zip(row.owed_until).map(|(from_key, once_past)| Reread { from_key, once_past }),
    })
}

/// Keys that must be read again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// From here on.
    pub from_key: DateTime<Utc>,
    /// Once no transaction is open that began at this time or before.
    pub once_past: DateTime<Utc>,
}

/// Reads what a pipeline owes.
pub async fn reread(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<Option<Reread>> {
    sqlx::query_as!(
        Reread,
        "select from_key, once_past from etl.etl_rereads where pipeline_id = $1",
        pipeline as PipelineId,
    )
    .fetch_optional(connection)
    .await
}

/// Notes that a pipeline must read again; what it owes already is kept.
pub async fn owe(connection: &mut PgConnection, pipeline: PipelineId, reread: Reread) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        insert into etl.etl_rereads as r (pipeline_id, from_key, once_past)
        values ($1, $2, $3)
        on conflict (pipeline_id) do update
        set from_key = least(r.from_key, excluded.from_key), once_past = greatest(r.once_past, excluded.once_past)
        "#,
        pipeline as PipelineId,
        reread.from_key,
        reread.once_past,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets what a pipeline owes.
pub async fn settle(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<()> {
    sqlx::query!("delete from etl.etl_rereads where pipeline_id = $1", pipeline as PipelineId)
        .execute(connection)
        .await?;
    Ok(())
}

/// Transactions that are writing to these tables, or to what they are made of. Waiting for them to end settles every
/// row that was given its key before now, as `create index concurrently` does.
pub async fn writers(connection: &mut PgConnection, tables: &[String]) -> sqlx::Result<Vec<String>> {
    let writers = sqlx::query_scalar!(
        r#"
        with recursive base as (
            -- By name: the table may be another one than a moment ago. Not by a cast, which asks for rights on the schema.
            select c.oid as relation
            from unnest($1::text[]) t
            join pg_namespace n on n.nspname = (parse_ident(t))[1]
            join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(t))[2]
            union
            -- A view reads tables, a partitioned table has parts.
            select coalesce(d.refobjid, i.inhrelid)
            from base b
            left join pg_rewrite w on w.ev_class = b.relation
            left join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                and d.refclassid = 'pg_class'::regclass and d.refobjid <> b.relation
            left join pg_inherits i on i.inhparent = b.relation
            where coalesce(d.refobjid, i.inhrelid) is not null
        )
        select distinct l.virtualtransaction as "writer!"
        from pg_locks l
        join base b on b.relation = l.relation
        where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
          and l.database = (select oid from pg_database where datname = current_database())
          and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        "#,
        tables,
    )
    .fetch_all(connection)
    .await?;
    Ok(writers)
}

/// Whether any of these transactions is still open.
pub async fn any_open(connection: &mut PgConnection, transactions: &[String]) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from pg_locks where virtualtransaction = any($1)) as "open!""#,
        transactions,
    )
    .fetch_one(connection)
    .await
}

/// Oldest and newest start of transactions of others that are open now and began before the run's bound.
pub async fn late_starters(
    connection: &mut PgConnection,
    run: RunId,
) -> sqlx::Result<Option<(DateTime<Utc>, DateTime<Utc>)>> {
    let row = sqlx::query!(
        r#"
        select min(o.xact_start) as oldest, max(o.xact_start) as newest
        from etl.other_transactions o
        where o.xact_start < (select min(upper::timestamptz) from etl.etl_run_ranges where run_id = $1)
        "#,
        run as RunId,
    )
    .fetch_one(connection)
    .await?;
    Ok(row.oldest.zip(row.newest))
}

/// How far, in seconds, open transactions hold the horizon back now; 0 if none does.
pub async fn lag(connection: &mut PgConnection) -> sqlx::Result<f64> {
    sqlx::query_scalar!(
        r#"
        select coalesce(extract(epoch from clock_timestamp() - least(
                   (select min(o.xact_start)
                    from etl.other_transactions o
                    where o.has_written or o.xact_start >= clock_timestamp() - $1::interval),
                   (select min(prepared) from pg_prepared_xacts where database = current_database())
               )), 0)::double precision as "seconds!"
        "#,
        interval(PATIENCE),
    )
    .fetch_one(connection)
    .await
}
