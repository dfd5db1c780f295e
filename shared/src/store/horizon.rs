//! What other sessions may still commit, and `etl.etl_rereads`.
//!
//! A row that says `modified = now()` carries the *start* of its transaction: it may become visible long after later
//! rows. No committed row may be skipped, so a run reads up to the start of the oldest transaction that is still open.
//! Our own sessions do not count: they never write to a source.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::interval;
use crate::domain::{Checkpoint, PipelineId, RunId};

/// How long a transaction that has only read holds the horizon back.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How the names of prepared transactions begin that were there before the server was.
const RECOVERED: &str = "-1/";

/// Up to where every row is settled, what was left out of that, and how far the pipeline has read.
#[derive(Debug, Clone)]
pub struct Horizon {
    pub clock: DateTime<Utc>,
    /// Transactions that began before this have ended, but for those that are named here.
    pub upper: DateTime<Utc>,
    pub checkpoint: Option<String>,
    /// Where the pipeline's last bound was.
    pub last: Option<DateTime<Utc>>,
    /// The server whose clock that was.
    pub last_server: Option<String>,
    pub server: String,
    /// Transactions that the bound leaves behind and that are not noted yet.
    pub passed: Vec<Reread>,
    /// Transactions whose starts cannot be seen and that are not noted yet: prepared ones, and those of hidden sessions.
    pub unseen: Vec<Reread>,
    /// What the pipeline owes and can read now.
    pub due: Vec<Due>,
    /// The smallest key of that.
    pub due_from: Option<DateTime<Utc>>,
}

/// Reads the open transactions of other sessions, and what the run's pipeline owes.
///
/// A transaction without an id has only read so far, but may still write with its old `now()`: it counts, until it is
/// older than `patience`; then the horizon passes it.
pub async fn read(connection: &mut PgConnection, run: RunId, patience: Duration) -> sqlx::Result<Horizon> {
    let row = sqlx::query!(
        r#"
        select clock as "clock!", upper as "upper!", checkpoint_key, horizon, server, this_server as "this_server!",
               coalesce(passed, '{}') as "passed!", coalesce(passed_from, '{}') as "passed_from!",
               coalesce(unseen, '{}') as "unseen!", unseen_from, coalesce(due, '{}') as "due!",
               coalesce(due_noted, '{}') as "due_noted!", due_from
        from etl.read_horizon($1, $2)
        "#,
        run as RunId,
        interval(patience),
    )
    .fetch_one(connection)
    .await?;
    let passed = row.passed.into_iter().zip(row.passed_from);
    let unseen = row.unseen.into_iter().zip(std::iter::repeat(row.unseen_from.unwrap_or(row.upper)));
    let rereads = |(transaction, from_key)| Reread { transaction, from_key };
    Ok(Horizon {
        clock: row.clock,
        upper: row.upper,
        checkpoint: row.checkpoint_key,
        last: row.horizon,
        last_server: row.server,
        server: row.this_server,
        passed: passed.map(rereads).collect(),
        unseen: unseen.map(rereads).collect(),
        due: row.due.into_iter().zip(row.due_noted).map(|(transaction, noted)| Due { transaction, noted }).collect(),
        due_from: row.due_from,
    })
}

/// Keys that must be read again.
#[derive(Debug, Clone, PartialEq)]
pub struct Reread {
    /// Once this transaction has ended.
    pub transaction: String,
    pub from_key: DateTime<Utc>,
}

/// What a pipeline owed when it looked.
#[derive(Debug, Clone, PartialEq)]
pub struct Due {
    /// For this transaction; the empty name is the clock's, which went back.
    pub transaction: String,
    /// The version of the row that says so. Another step of the clock makes another one.
    pub noted: String,
}

pub async fn owed_from(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<Option<DateTime<Utc>>> {
    sqlx::query_scalar!("select min(from_key) from etl.etl_rereads where pipeline_id = $1", pipeline as PipelineId)
        .fetch_one(connection)
        .await
}

/// Notes what a pipeline must read again.
pub async fn owe(connection: &mut PgConnection, pipeline: PipelineId, rereads: &[Reread]) -> sqlx::Result<()> {
    let transactions: Vec<_> = rereads.iter().map(|reread| reread.transaction.clone()).collect();
    let from_keys: Vec<_> = rereads.iter().map(|reread| reread.from_key).collect();
    sqlx::query!(
        r#"
        insert into etl.etl_rereads as r (pipeline_id, transaction, from_key)
        select $1, n.transaction, min(n.from_key)
        from unnest($2::text[], $3::timestamptz[]) as n (transaction, from_key)
        group by n.transaction
        on conflict (pipeline_id, transaction) do update
        set from_key = least(r.from_key, excluded.from_key), server = excluded.server
        "#,
        pipeline as PipelineId,
        &transactions,
        &from_keys,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that every pipeline whose keys come from the clock must read again from a time on: those that have a bound, and those
/// that will have the one of an unfinished run. A run that has not begun may have looked at the clock already; of a pipeline
/// without a checkpoint it is unknown whether its keys come from there. Returns how many there are.
pub async fn owe_all(connection: &mut PgConnection, from: DateTime<Utc>) -> sqlx::Result<u64> {
    let noted = sqlx::query!(
        r#"
        insert into etl.etl_rereads as r (pipeline_id, transaction, from_key)
        select pipeline_id, '', $1
        from (
            select s.pipeline_id from etl.etl_state s where s.horizon is not null
            union
            select r.pipeline_id
            from etl.etl_runs r
            join etl.etl_run_ranges g on g.run_id = r.id
            left join etl.etl_state s on s.pipeline_id = r.pipeline_id
            where r.status in ('QUEUED', 'RUNNING', 'PAUSED')
              and (g.horizon is not null
                   or r.started_at is null and s.pipeline_id is null and r.inputs ->> 'mode' = 'incremental')
        ) as by_clock
        on conflict (pipeline_id, transaction) do update set from_key = least(r.from_key, excluded.from_key)
        "#,
        from,
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected())
}

/// Forgets what a pipeline owed, unless more was noted since it looked.
pub async fn forget_due(connection: &mut PgConnection, pipeline: PipelineId, due: &[Due]) -> sqlx::Result<()> {
    let transactions: Vec<_> = due.iter().map(|due| due.transaction.clone()).collect();
    let noted: Vec<_> = due.iter().map(|due| due.noted.clone()).collect();
    sqlx::query!(
        r#"
        delete from etl.etl_rereads r
        using unnest($2::text[], $3::text[]) as due (transaction, noted)
        where r.pipeline_id = $1 and r.transaction = due.transaction and r.xmin::text = due.noted
        "#,
        pipeline as PipelineId,
        &transactions,
        &noted,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn forget(connection: &mut PgConnection, pipeline: PipelineId) -> sqlx::Result<()> {
    sqlx::query!("delete from etl.etl_rereads where pipeline_id = $1", pipeline as PipelineId)
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves a pipeline's checkpoint back, so that what follows is read again.
pub async fn rewind(
    tx: &mut PgConnection,
    pipeline: PipelineId,
    to: &Checkpoint,
    horizon: DateTime<Utc>,
    server: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        r#"
        update etl.etl_state
        set checkpoint_key = $2, checkpoint_id = $3, updated_at = now(), horizon = least(horizon, $4), server = $5
        where pipeline_id = $1
        "#,
        pipeline as PipelineId,
        to.key,
        to.id,
        horizon,
        server,
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Transactions that a server has named.
#[derive(Debug)]
pub struct Writers {
    /// As `pg_locks` says it.
    pub transactions: Vec<String>,
    /// The server, as `etl.this_server` says it; none without transactions. Another one names them otherwise.
    pub server: Option<String>,
}

impl Writers {
    /// Prepared transactions as a restarted server names them, without those in `others`. A crash of one backend restarts the
    /// server under the same postmaster.
    pub fn recovered(mut self, others: &Self) -> Self {
        self.transactions.retain(|name| name.starts_with(RECOVERED) && !others.transactions.contains(name));
        self
    }
}

/// Transactions that are writing to these tables, or to what they are made of. Waiting for them to end settles every
/// row that was given its key before now, as `create index concurrently` does.
pub async fn writers(connection: &mut PgConnection, tables: &[String]) -> sqlx::Result<Writers> {
    let writers = sqlx::query!(
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
        ),
        given as (
            -- A transaction that takes a number of a sequence holds a lock on the sequence to its end, before it touches the table.
            select relation from base
            union
            select case when d.classid = 'pg_class'::regclass then d.objid else d.refobjid end
            from base b
            left join pg_attrdef a on a.adrelid = b.relation
            join pg_depend d on d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
                    and d.refobjid = b.relation and d.refobjsubid > 0 and d.deptype in ('a', 'i')
                or d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
        )
        select distinct l.virtualtransaction as "transaction!", etl.this_server() as "server!"
        from pg_locks l
        join given b on b.relation = l.relation
        where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
          and l.database = (select oid from pg_database where datname = current_database())
          and l.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        "#,
        tables,
    )
    .fetch_all(connection)
    .await?;
    let server = writers.first().map(|writer| writer.server.clone());
    Ok(Writers { transactions: writers.into_iter().map(|writer| writer.transaction).collect(), server })
}

/// Whether any of these transactions, which this server has named, is still open under that name.
pub async fn any_open(connection: &mut PgConnection, transactions: &[String], server: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select
            from pg_locks
            where virtualtransaction = any($1) and (virtualtransaction like '-1/%' or etl.this_server() = $2)
        ) as "open!"
        "#,
        transactions,
        server,
    )
    .fetch_one(connection)
    .await
}

/// Transactions of other sessions that are open now, began before the run's bound and are not noted: they published their start
/// late.
pub async fn late_starters(connection: &mut PgConnection, run: RunId) -> sqlx::Result<Vec<Reread>> {
    sqlx::query_as!(
        Reread,
        r#"
        select l.virtualtransaction as "transaction!", o.xact_start as "from_key!"
        from etl.etl_runs r
        join etl.other_transactions o
            on o.xact_start < (select min(g.horizon) from etl.etl_run_ranges g where g.run_id = r.id)
        join pg_locks l on l.pid = o.pid and l.locktype = 'virtualxid' and l.virtualxid = l.virtualtransaction
        where r.id = $1
          and not exists (select from etl.etl_rereads w
                          where w.pipeline_id = r.pipeline_id and w.transaction = l.virtualtransaction
                            and (w.server = etl.this_server() or w.transaction like '-1/%'))
        "#,
        run as RunId,
    )
    .fetch_all(connection)
    .await
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
