//! Reads a page row by row and takes it through the plan's transforms.

use futures_util::{Stream, StreamExt, TryStreamExt};
use sqlx::{FromRow, PgConnection, Row as _, postgres::PgRow};
use vitrina_shared::domain::{
    ErrorClass, Position,
    transform::{Document, Transform},
};

use super::streaming::PageEnd;
use crate::{
    elasticsearch::id_of_row,
    error::BatchError,
    rejected::{MOST_REJECTED_BYTES, too_much_rejected},
    sink::{Rejected, Row, too_long},
};

/// The items of a page: the statement is the one of [`super::pushdown::Page::read`].
const READ: &str = "select key, doc, rows_read, last, more, bytes from etl_page.read($1, $2, $3, $4, $5)
    as page (key text[], doc text, rows_read bigint, last text[], more boolean, bytes bigint)";

/// What a page is read with. Two that are equal read the same page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// The statement, of [`super::pushdown::Page::read`].
    pub statement: String,
    /// Rows in a page.
    pub page_size: i64,
    /// Whether the key is a `timestamptz`.
    pub by_time: bool,
    /// The row after which it begins.
    pub after: Option<Position>,
    /// The bound that it is read up to.
    pub upper: Option<String>,
}

/// What is done with the rows of a page.
#[derive(Debug, Clone, Copy)]
pub struct Handling<'a> {
    /// What changes the rows.
    pub transforms: &'a [Box<dyn Transform>],
    /// How large a row may be.
    pub max_row_bytes: u32,
    /// How many rows may be put aside; none where the first one ends the batch.
    pub rejects_allowed: Option<u64>,
}

/// What is known of a page once all its rows were read.
#[derive(Debug, Default)]
pub struct Remains {
    end: Option<PageEnd>,
    /// Rows that a transform refused, or that are too long.
    pub rejected: Vec<Rejected>,
    /// How much those take.
    rejected_bytes: usize,
}

impl Remains {
    /// What the reader said of the page.
    pub fn whole(&mut self) -> Result<PageEnd, BatchError> {
        self.end.take().ok_or_else(|| BatchError::fatal("the page was not read to its end"))
    }
}

/// A row of the page or, without a `doc`, what is to be said of the page.
#[derive(Debug)]
pub struct Item {
    key: Option<Vec<Option<String>>>,
    doc: Option<String>,
    rows_read: Option<i64>,
    last: Option<Position>,
    more: Option<bool>,
    /// How long the row is, where it is too long: its `doc` has the key alone.
    too_long: Option<i64>,
}

/// By position: there are very many of them, and most have a `doc` and nothing else to say.
impl FromRow<'_, PgRow> for Item {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let key = row.try_get(0)?;
        let doc: Option<String> = row.try_get(1)?;
        if doc.is_some() {
            return Ok(Self { key, doc, rows_read: None, last: None, more: None, too_long: row.try_get(5)? });
        }
        let (rows_read, last, more) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
        Ok(Self { key, doc, rows_read, last, more, too_long: None })
    }
}

impl Item {
    /// About what it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.doc.as_ref().map_or(0, String::len)
    }
}

/// Reads a page item by item.
pub fn items<'a>(
    connection: &'a mut PgConnection,
    query: &'a PageQuery,
) -> impl Stream<Item = sqlx::Result<Item>> + Send + 'a {
    sqlx::query_as::<_, Item>(READ)
        .bind(&query.statement)
        .bind(&query.after)
        .bind(&query.upper)
        .bind(query.page_size)
        .bind(query.by_time)
        .fetch(connection)
}

/// The rows among the items of a page. `remains` is whole when the stream has ended.
pub fn rows<'a>(
    items: impl Stream<Item = sqlx::Result<Item>> + Send + 'a,
    handling: Handling<'a>,
    remains: &'a mut Remains,
) -> impl Stream<Item = Result<Row, BatchError>> + Send + 'a {
    items
        .map_err(BatchError::from)
        .map(move |item| item.and_then(|item| receive(item, handling, remains)))
        .filter_map(|row| std::future::ready(row.transpose()))
}

/// A row, or nothing where the item was none.
fn receive(item: Item, handling: Handling<'_>, remains: &mut Remains) -> Result<Option<Row>, BatchError> {
    let Some(doc) = item.doc else {
        remains.end = Some(PageEnd { rows_read: item.rows_read.unwrap_or(0), last: item.last, more: item.more });
        return Ok(None);
    };
    let key = item.key.unwrap_or_default();
    let outcome = match item.too_long {
        Some(bytes) => Err(too_long(bytes, handling.max_row_bytes)),
        None => transformed(&doc, handling.transforms),
    };
    match outcome {
        Ok(changed) => Ok(Some(Row { key, doc: changed.unwrap_or(doc) })),
        Err(error) => {
            remains.rejected_bytes += doc.len();
            remains.rejected.push(Rejected { id: id_of_row(&key), doc, error });
            if remains.rejected_bytes > MOST_REJECTED_BYTES {
                let message = too_much_rejected("transforms refuse");
                return Err(BatchError::Failed { class: ErrorClass::Row, message });
            }
            refuse_too_many(&remains.rejected, &key, handling.rejects_allowed)?;
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

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use vitrina_shared::domain::SourceColumn;

    use super::*;

    /// Refuses every row.
    #[derive(Debug)]
    struct Refusal;

    impl Transform for Refusal {
        fn columns(&self, _: &mut Vec<SourceColumn>) -> Result<(), String> {
            Ok(())
        }

        fn touches(&self) -> Vec<&str> {
            Vec::new()
        }

        fn apply(&self, _: &mut Document) -> Result<(), String> {
            Err("no".to_owned())
        }
    }

    fn row(bytes: usize) -> Item {
        let doc = Some(format!(r#"{{"v":"{}"}}"#, "x".repeat(bytes)));
        Item { key: None, doc, rows_read: None, last: None, more: None, too_long: None }
    }

    #[tokio::test]
    async fn rejected_rows_that_take_too_much_memory_end_the_batch() {
        let transforms: [Box<dyn Transform>; 1] = [Box::new(Refusal)];
        let handling = Handling { transforms: &transforms, max_row_bytes: 1 << 30, rejects_allowed: Some(1000) };
        let tenth = MOST_REJECTED_BYTES / 10;
        for (count, ends) in [(9, false), (10, true)] {
            let mut remains = Remains::default();
            let items = stream::iter((0..count).map(|_| Ok(row(tenth))));
            let read: Result<Vec<_>, _> = rows(items, handling, &mut remains).try_collect().await;
            match read {
                Ok(rows) => assert!(!ends && rows.is_empty() && remains.rejected.len() == count),
                Err(error) => assert!(ends && error.to_string().contains("more than 64 MiB together"), "{error}"),
            }
        }
    }
}
