//! What must hold of a query before a mart is made from its columns.

use sqlx::PgConnection;

use super::{query, target};
use crate::{
    domain::{Problem, SourceColumn, TargetName},
    guard::{self, Describing, GuardError, SourceSchemas},
    store::marts::NewMart,
};

const QUERY: &str = "create.source_query";

/// The mart that the rows of `sql` would fit, or everything that keeps it from being made.
pub async fn plan(
    connection: &mut PgConnection,
    describing: &Describing,
    target: &TargetName,
    key: &[String],
    sql: &str,
    schemas: &SourceSchemas,
) -> Result<Result<NewMart, Vec<Problem>>, sqlx::Error> {
    let TargetName::Mart(table) = target else {
        let message = "only a table of `analytics` is made from a query: other targets are made by their first run";
        return Ok(Err(vec![Problem::new("create", message)]));
    };
    let columns = match query::read(describing, sql, (None, None), schemas).await {
        Ok(reader) => reader.columns,
        Err(GuardError::Refused(refusal)) => return Ok(Err(vec![Problem::new(QUERY, refusal.to_string())])),
        Err(GuardError::Database(error)) => return Err(error),
    };
    let types: Vec<_> = columns.iter().map(|column| column.type_oid).collect();
    match guard::check_types(connection, &types, None).await {
        Ok(()) => {}
        Err(GuardError::Refused(refusal)) => return Ok(Err(vec![Problem::new(QUERY, refusal.to_string())])),
        Err(GuardError::Database(error)) => return Err(error),
    }
    let mut problems = target::key_problems(key);
    problems.extend(absent_keys(key, &columns));
    Ok(if problems.is_empty() { Ok(new_mart(table, columns, key)) } else { Err(problems) })
}

fn new_mart(table: &str, columns: Vec<SourceColumn>, key: &[String]) -> NewMart {
    let types = columns.iter().map(|column| column.type_oid).collect();
    let columns = columns.into_iter().map(|column| column.name).collect();
    NewMart { table: table.to_owned(), columns, types, key: key.to_vec() }
}

fn absent_keys(key: &[String], columns: &[SourceColumn]) -> Vec<Problem> {
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    let absent = key.iter().filter(|name| !names.contains(&name.as_str()));
    absent
        .map(|name| Problem::new("key", format!("the query has no column `{name}`; it has {}", names.join(", "))))
        .collect()
}
