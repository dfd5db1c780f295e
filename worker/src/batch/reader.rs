//! Reads a page row by row and takes it through the plan's transforms.

use futures_util::{Stream, StreamExt, TryStreamExt};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        ErrorClass, Position,
        transform::{Document, Transform},
    },
    store::runs::NextPage,
};

use super::streaming::PageEnd;
use crate::{
    error::BatchError,
    sink::{Rejected, Row},
};

/// What a page is read with.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The statement, of [`super::pushdown::Page::read`].
    pub statement: &'a str,
    /// Rows in a page.
    pub page_size: i64,
    /// Whether the key is a `timestamptz`.
    pub by_time: bool,
    /// What changes the rows.
    pub transforms: &'a [Box<dyn Transform>],
    /// How many rows may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
}

/// What is known of a page once all its rows were read.
#[derive(Debug, Default)]
pub struct Remains {
    /// What the reader said of the page.
    pub end: Option<PageEnd>,
    /// Rows that a transform refused.
    pub rejected: Vec<Rejected>,
}

#[derive(sqlx::FromRow)]
struct Item {
    key: Option<Vec<Option<String>>>,
    version: Option<i64>,
    doc: Option<String>,
    rows_read: Option<i64>,
    last: Option<Position>,
    more: Option<bool>,
}

/// The rows of the page to come. `remains` is whole when the stream has ended.
pub fn rows<'a>(
    connection: &'a mut PgConnection,
    reading: Reading<'a>,
    page: &'a NextPage,
    remains: &'a mut Remains,
) -> impl Stream<Item = Result<Row, BatchError>> + 'a {
    let items = sqlx::query_as::<_, Item>(
        "select key, version, doc, rows_read, last, more from etl_page.read($1, $2, $3, $4, $5)",
    )
    .bind(reading.statement)
    .bind(&page.after)
    .bind(&page.upper)
    .bind(reading.page_size)
    .bind(reading.by_time)
    .fetch(connection);
    items
        .map_err(BatchError::from)
        .map(move |item| item.and_then(|item| receive(item, reading, remains)))
        .filter_map(|row| std::future::ready(row.transpose()))
}

/// A row, or nothing where the item was none.
fn receive(item: Item, reading: Reading<'_>, remains: &mut Remains) -> Result<Option<Row>, BatchError> {
    let Some(doc) = item.doc else {
        remains.end = Some(PageEnd { rows_read: item.rows_read.unwrap_or(0), last: item.last, more: item.more });
        return Ok(None);
    };
    let key = item.key.unwrap_or_default();
    match transformed(&doc, reading.transforms) {
        Ok(changed) => Ok(Some(Row { key, version: item.version, doc: changed.unwrap_or(doc) })),
        Err(error) => {
            remains.rejected.push(Rejected { doc, error });
            refuse_too_many(&remains.rejected, &key, reading.rejects_allowed)?;
            Ok(None)
        }
    }
}

/// The row after all transforms; none where there are none.
pub fn transformed(doc: &str, transforms: &[Box<dyn Transform>]) -> Result<Option<String>, String> {
    if transforms.is_empty() {
        return Ok(None);
    }
    let mut row = Document::parse(doc).map_err(|error| error.to_string())?;
    for transform in transforms {
        transform.apply(&mut row)?;
    }
    row.to_text().map(Some).map_err(|error| error.to_string())
}

fn refuse_too_many(rejected: &[Rejected], key: &[Option<String>], allowed: Option<u64>) -> Result<(), BatchError> {
    let Some(last) = rejected.last().filter(|_| rejected.len() as u64 > allowed.unwrap_or(0)) else { return Ok(()) };
    let key: Vec<_> = key.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
    let message = match allowed {
        None => format!("row {}: {}", key.join(", "), last.error),
        Some(_) => {
            format!("more rows were refused than max_rejects allows; the last one, {}: {}", key.join(", "), last.error)
        }
    };
    Err(BatchError::Failed { class: ErrorClass::Row, message })
}
