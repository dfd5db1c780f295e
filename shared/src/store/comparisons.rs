//! Statements that compare a mart with its source, built by workers from a guarded query.

use sqlx::PgConnection;

use super::runs::StatementOutcome;

/// Executes such a statement with the rights of `vitrina_mart`: `etl_page.run` with everything for a query that pages by
/// itself. `parameters` are `($5)[3]` and those after it.
pub async fn execute(
    connection: &mut PgConnection,
    statement: &str,
    parameters: &[Option<String>],
) -> sqlx::Result<StatementOutcome> {
    let unbounded = [None, None];
    let parameters: Vec<Option<String>> = unbounded.into_iter().chain(parameters.iter().cloned()).collect();
    sqlx::query_as(
        "select rows_read, rows_written, last from etl_page.run($1, $2, 'infinity', 9223372036854775807, true)",
    )
    .bind(statement)
    .bind(parameters)
    .persistent(false)
    .fetch_one(connection)
    .await
}
