//! Statements that workers build around a user's query, besides the batches themselves.
//!
//! [`execute`] is for what writes marts and [`compare`] for what compares them with their sources; a user's query stands in such a
//! statement only as an argument of `etl_page.read`. [`read_first`] is for what only reads the source.

use sqlx::PgConnection;

use crate::domain::Position;

#[derive(Debug, sqlx::FromRow)]
pub struct StatementOutcome {
    pub rows_read: i64,
    /// Rows that it wrote or removed.
    pub rows_written: i64,
}

/// Executes a statement with the rights to write marts. For a query that pages by itself it is one page without bounds;
/// `parameters` are `($5)[3]` and those after it.
pub async fn execute(
    connection: &mut PgConnection,
    statement: &str,
    parameters: &[Option<String>],
) -> sqlx::Result<StatementOutcome> {
    sqlx::query_as("select rows_read, rows_written from etl_mart.run($1, $2, 'infinity', 9223372036854775807, true)")
        .bind(statement)
        .bind(unbounded(parameters))
        .persistent(false)
        .fetch_one(connection)
        .await
}

/// Executes a statement that reads sources and marts and writes nothing. Returns its JSON, with the same parameters.
pub async fn compare(
    connection: &mut PgConnection,
    statement: &str,
    parameters: &[Option<String>],
) -> sqlx::Result<String> {
    sqlx::query_scalar("select etl_mart.compare($1, $2)::text")
        .bind(statement)
        .bind(unbounded(parameters))
        .persistent(false)
        .fetch_one(connection)
        .await
}

/// The list of texts in the first row that `query` returns, with the same parameters.
pub async fn read_first(
    connection: &mut PgConnection,
    query: &str,
    parameters: &[Option<String>],
) -> sqlx::Result<Option<Position>> {
    sqlx::query_scalar(
        "select found from etl_page.read($1, $2, 'infinity', 9223372036854775807, true) as page (found text[])",
    )
    .bind(query)
    .bind(unbounded(parameters))
    .persistent(false)
    .fetch_optional(connection)
    .await
}

/// The list of texts in the first row that `query` returns, which looks at no row beyond the bound `$6`.
pub async fn read_below(
    connection: &mut PgConnection,
    query: &str,
    upper: &str,
    by_time: bool,
) -> sqlx::Result<Option<Position>> {
    sqlx::query_scalar("select found from etl_page.read($1, null, $2, 9223372036854775807, $3) as page (found text[])")
        .bind(query)
        .bind(upper)
        .bind(by_time)
        .persistent(false)
        .fetch_optional(connection)
        .await
}

/// No place to begin after, then the parameters.
fn unbounded(parameters: &[Option<String>]) -> Vec<Option<String>> {
    [None, None].into_iter().chain(parameters.iter().cloned()).collect()
}
