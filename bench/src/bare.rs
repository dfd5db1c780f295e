//! The limits: what bare SQL does for the same rows on one connection, with prepared statements.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use uuid::Uuid;

use crate::{
    Outcome,
    films::{COLUMNS, ON_CONFLICT, QUERY},
};

/// The row that a loop moves in the transaction of each batch.
pub const CHECKPOINT_TABLE: &str = "
    create schema if not exists bench;
    create table if not exists bench.checkpoint (
        walk text primary key, modified timestamptz not null, id uuid not null, rows_read bigint not null
    );
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// By `(modified, id)`, as an incremental run.
    Modified,
    /// By the target's key, as a full run.
    Key,
}

impl Walk {
    pub fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Key => "key",
        }
    }

    fn order(self) -> &'static str {
        match self {
            Self::Modified => "modified, film_id",
            Self::Key => "film_id",
        }
    }

    /// The statement of a batch: `$1`, `$2` the last row of the one before, `$3` the size.
    fn statement(self) -> String {
        let after = match self {
            Self::Modified => "(modified, film_id) > ($1, $2)",
            // `$1` is there to have the same parameters.
            Self::Key => "$1::timestamptz is not null and film_id > $2",
        };
        let order = self.order();
        let descending = order.replace(',', " desc,");
        format!(
            "with page as materialized (
                select * from ({QUERY}) as source where {after} order by {order} limit $3
            ),
            written as (
                insert into analytics.film_dim as target ({COLUMNS}) select {COLUMNS} from page {ON_CONFLICT}
            )
            select (select count(*) from page), modified, film_id
            from page
            order by {descending} desc
            limit 1"
        )
    }
}

/// Upserts everything with one statement. Returns how long it took.
pub async fn one_statement(sql: &mut PgConnection, sorted: bool) -> Outcome<Duration> {
    let order = if sorted { "order by film_id" } else { "" };
    let statement = format!("insert into analytics.film_dim as target ({COLUMNS}) {QUERY} {order} {ON_CONFLICT}");
    let start = Instant::now();
    sqlx::query(AssertSqlSafe(statement)).execute(sql).await?;
    Ok(start.elapsed())
}

pub async fn forget(sql: &mut PgConnection, walk: Walk) -> Outcome<()> {
    sqlx::query("delete from bench.checkpoint where walk = $1").bind(walk.name()).execute(&mut *sql).await?;
    sqlx::query("insert into bench.checkpoint values ($1, '0001-01-01', '00000000-0000-0000-0000-000000000000', 0)")
        .bind(walk.name())
        .execute(sql)
        .await?;
    Ok(())
}

/// Loads what is after the checkpoint, a transaction per batch. Returns rows and how long it took.
pub async fn batches(sql: &mut PgConnection, walk: Walk, size: u32) -> Outcome<(u64, Duration)> {
    let statement = walk.statement();
    let start = Instant::now();
    let (mut after, mut after_id): (DateTime<Utc>, Uuid) =
        sqlx::query_as("select modified, id from bench.checkpoint where walk = $1")
            .bind(walk.name())
            .fetch_one(&mut *sql)
            .await?;
    let mut total = 0;
    loop {
        let mut tx = sql.begin().await?;
        let page: Option<(i64, DateTime<Utc>, Uuid)> = sqlx::query_as(AssertSqlSafe(statement.clone()))
            .bind(after)
            .bind(after_id)
            .bind(i64::from(size))
            .fetch_optional(&mut *tx)
            .await?;
        let Some((rows, modified, id)) = page else { break };
        sqlx::query("update bench.checkpoint set modified = $2, id = $3, rows_read = rows_read + $4 where walk = $1")
            .bind(walk.name())
            .bind(modified)
            .bind(id)
            .bind(rows)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        total += rows.unsigned_abs();
        (after, after_id) = (modified, id);
        if rows < i64::from(size) {
            break;
        }
    }
    Ok((total, start.elapsed()))
}
