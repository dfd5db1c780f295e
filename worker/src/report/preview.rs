//! The first rows as they would be written, written nowhere.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use sqlx::{AssertSqlSafe, Connection};
use vitrina_shared::{
    domain::{
        PipelineId,
        report::{MAX_PREVIEW_ROWS, Preview, PreviewColumn},
    },
    guard::{self, QueryLimits},
};

use super::{encode, subject::Subject};
use crate::{batch::quote, environment::Environment, error::BatchError};

/// Somebody waits: a query that takes longer must be looked at otherwise.
const LIMITS: QueryLimits = QueryLimits { statement: Duration::from_secs(30), lock: Duration::from_secs(2) };
/// The widest row that is shown, in bytes. Wider ones do not leave the server.
const WIDEST_ROW: i32 = 64 * 1024;
/// All rows together.
const WIDEST_RESULT: usize = 1024 * 1024;

/// Makes the preview.
pub async fn make(env: &Environment, pipeline: PipelineId, rows: u32) -> Result<Box<RawValue>, BatchError> {
    let begun = Instant::now();
    let subject = Subject::look(env, pipeline).await?;
    let columns = columns(&subject);
    let mut preview = Preview { rows: Vec::new(), omitted: 0, took_ms: 0, columns: described(&columns) };
    let mut bytes = 0;
    for row in read(env, &statement(&subject, &columns), rows.min(MAX_PREVIEW_ROWS)).await? {
        bytes += row.as_ref().map_or(0, String::len);
        match row {
            Some(text) if bytes <= WIDEST_RESULT => preview.rows.push(parse(text)?),
            Some(_) | None => preview.omitted += 1,
        }
    }
    preview.took_ms = begun.elapsed().as_millis() as u64;
    encode(&preview)
}

/// A column of the preview and the type that it is written as.
struct Shown {
    name: String,
    type_name: String,
    cast: bool,
}

/// The query's columns that the target has; all of them where the target is an index.
fn columns(subject: &Subject) -> Vec<Shown> {
    let own = |name: &str| subject.columns.iter().find(|own| own.name == name);
    let shown = subject.reader.columns.iter().filter_map(|column| match own(&column.name) {
        // Written explicitly, a cast to text of some length would cut what a run refuses.
        Some(own) => Some(Shown {
            name: column.name.clone(),
            type_name: own.type_name.clone(),
            cast: !["character", "bit"].iter().any(|cut| own.type_name.starts_with(cut)),
        }),
        None if subject.columns.is_empty() => {
            Some(Shown { name: column.name.clone(), type_name: column.type_name.clone(), cast: false })
        }
        None => None,
    });
    shown.collect()
}

fn described(columns: &[Shown]) -> Vec<PreviewColumn> {
    let described = |column: &Shown| PreviewColumn { name: column.name.clone(), type_name: column.type_name.clone() };
    columns.iter().map(described).collect()
}

/// The rows in the order in which a first run would read them, each as JSON; null where it is too wide.
fn statement(subject: &Subject, columns: &[Shown]) -> String {
    let values: Vec<_> = columns
        .iter()
        .map(|column| {
            let cast = if column.cast { format!("::{}", column.type_name) } else { String::new() };
            format!("source.{name}{cast} as {name}", name = quote(&column.name))
        })
        .collect();
    let order: Vec<_> = subject.walk().iter().map(|column| format!("source.{}", quote(&column.name))).collect();
    format!(
        "select case when octet_length(doc) <= {WIDEST_ROW} then doc end
         from (
             select row_to_json(written)::text as doc
             from (
                 select {values} from ({query}) as source order by {order} limit $4::bigint
             ) as written
         ) as documents",
        values = values.join(", "),
        query = subject.query(),
        order = order.join(", "),
    )
}

async fn read(env: &Environment, statement: &str, rows: u32) -> Result<Vec<Option<String>>, BatchError> {
    let mut connection = env.reports.acquire().await?;
    let mut tx = connection.begin_with("begin read only").await?;
    guard::restrict(&mut tx, &LIMITS).await?;
    let read = sqlx::query_scalar(AssertSqlSafe(statement.to_owned()))
        .persistent(false)
        .bind(None::<String>)
        .bind(None::<String>)
        .bind("infinity")
        .bind(i64::from(rows))
        .fetch_all(&mut *tx)
        .await?;
    tx.rollback().await?;
    Ok(read)
}

fn parse(text: String) -> Result<Box<RawValue>, BatchError> {
    RawValue::from_string(text).map_err(|error| BatchError::fatal(error.to_string()))
}
