//! Layers 3 and 4: the query meets the server, under a role that can only read and with its time bounded.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgColumn, PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, Column, Connection, Executor, PgConnection, SqlSafeStr, Statement};

use super::{GuardError, QUERY_ROLE, Refusal, SourceQuery};
use crate::domain::SourceColumn;

/// How long a user's query may run, and wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    pub statement: Duration,
    pub lock: Duration,
}

/// Enough to describe a query, which is planned and not run.
impl Default for QueryLimits {
    fn default() -> Self {
        Self { statement: Duration::from_secs(5), lock: Duration::from_secs(2) }
    }
}

/// Hands the transaction of `conn` over to users' SQL until it ends.
///
/// The settings are what our reading of a query relies on: names mean the server's own functions and types unless
/// they are qualified, and a backslash in a string is a backslash.
pub async fn restrict(conn: &mut PgConnection, limits: &QueryLimits) -> sqlx::Result<()> {
    let settings = format!(
        "set local search_path = pg_catalog, pg_temp;
        set local standard_conforming_strings = on;
        set local statement_timeout = {};
        set local lock_timeout = {};
        set local role {QUERY_ROLE}",
        milliseconds(limits.statement),
        milliseconds(limits.lock),
    );
    sqlx::raw_sql(AssertSqlSafe(settings)).execute(conn).await?;
    Ok(())
}

/// At least one: zero would mean no limit.
fn milliseconds(duration: Duration) -> u128 {
    duration.as_millis().clamp(1, i32::MAX.unsigned_abs().into())
}

/// Asks the server what `query` returns, without running it.
pub async fn describe(
    conn: &mut PgConnection,
    query: &SourceQuery,
    limits: &QueryLimits,
) -> Result<Vec<SourceColumn>, GuardError> {
    // A cached statement would describe the tables as they were when it was prepared.
    conn.clear_cached_statements().await?;
    let mut tx = conn.begin_with("begin read only").await?;
    restrict(&mut tx, limits).await?;
    let sql = AssertSqlSafe(query.text.with_nulls()).into_sql_str();
    let statement = (&mut *tx).prepare(sql).await.map_err(|error| blame(error, query))?;
    refuse_unusable(statement.columns())?;
    plan(&mut tx, query).await?;
    let columns = look_up(&mut tx, statement.columns(), query.pads_with_nulls).await?;
    tx.rollback().await?;
    Ok(columns)
}

/// Has the query planned. Preparing asks for no rights; only this finds out that a table may not be read.
async fn plan(conn: &mut PgConnection, query: &SourceQuery) -> Result<(), GuardError> {
    let sql = AssertSqlSafe(format!("explain {}", query.text.with_nulls()));
    let planned = sqlx::query(sql).persistent(false).execute(conn).await;
    planned.map(|_| ()).map_err(|error| blame(error, query))
}

fn refuse_unusable(columns: &[PgColumn]) -> Result<(), Refusal> {
    if columns.is_empty() {
        return Err(Refusal::NoColumns);
    }
    let mut seen = HashSet::new();
    match columns.iter().find(|column| !seen.insert(column.name())) {
        Some(column) => Err(Refusal::DuplicateColumn { name: column.name().to_owned() }),
        None => Ok(()),
    }
}

/// Names the columns' types, with length and precision where they have any, and finds out which may be null. `attnotnull` says so for tables only, not for views, and
/// an outer join brings nulls into a column that has none (`pads_with_nulls`).
async fn look_up(
    conn: &mut PgConnection,
    columns: &[PgColumn],
    pads_with_nulls: bool,
) -> sqlx::Result<Vec<SourceColumn>> {
    let types: Vec<Option<Oid>> = columns.iter().map(|column| column.type_info().oid()).collect();
    let tables: Vec<Option<Oid>> = columns.iter().map(PgColumn::relation_id).collect();
    let attributes: Vec<Option<i16>> = columns.iter().map(PgColumn::relation_attribute_no).collect();
    let facts: Vec<(Oid, String, Option<String>, Option<bool>)> = sqlx::query_as(
        r"
        select c.type, format_type(c.type, null),
               case when a.atttypid = c.type then format_type(a.atttypid, a.atttypmod) end, not a.attnotnull
        from unnest($1::oid[], $2::oid[], $3::int2[]) with ordinality as c (type, relation, attribute, position)
        left join pg_class t on t.oid = c.relation and t.relkind in ('r', 'p')
        left join pg_attribute a on a.attrelid = t.oid and a.attnum = c.attribute
        order by c.position
        ",
    )
    .bind(types)
    .bind(tables)
    .bind(attributes)
    .fetch_all(conn)
    .await?;
    let described = columns.iter().zip(facts).map(|(column, (type_oid, type_name, declared, nullable))| SourceColumn {
        name: column.name().to_owned(),
        type_oid: type_oid.0,
        type_name,
        declared,
        nullable: nullable.filter(|nullable| *nullable || !pads_with_nulls),
    });
    Ok(described.collect())
}

/// Tells the query's faults from the server's troubles.
fn blame(error: sqlx::Error, query: &SourceQuery) -> GuardError {
    let server = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    match server {
        Some(complaint) if is_about_the_query(complaint.code()) => {
            Refusal::Server { message: message(complaint, query) }.into()
        }
        Some(_) | None => error.into(),
    }
}

/// Whether an SQLSTATE means that the query is wrong: anything but lost connections (08), conflicts (40), lack of resources
/// (53), locks (55), shutdown (57, except a time-out), and failures of the server (58, XX).
fn is_about_the_query(code: &str) -> bool {
    let troubles = ["08", "40", "53", "55", "57", "58", "XX"];
    code == "57014" || !troubles.iter().any(|class| code.starts_with(class))
}

fn message(complaint: &PgDatabaseError, query: &SourceQuery) -> String {
    let mut message = complaint.message().to_owned();
    if let Some(PgErrorPosition::Original(position)) = complaint.position()
        && let Some(place) = query.text.locate(position)
    {
        message.push_str(&format!(" (line {}, column {})", place.line, place.column));
    }
    if let Some(hint) = complaint.hint() {
        message.push_str(&format!(". {hint}"));
    }
    message
}
