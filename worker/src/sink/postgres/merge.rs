//! Writes rows to a mart that passed through the worker: they are put down in a table of the session by binary COPY, from where one
//! statement writes them.

use futures_util::{Stream, TryStreamExt};
use sqlx::{PgConnection, postgres::PgCopyIn};
use vitrina_shared::{
    domain::SourceColumn,
    sql::{copy::CopyRows, literal, quote, record},
};

use super::mart::{Mart, gather};
use crate::{
    error::BatchError,
    sink::{PageWrite, Row},
    source::home::{as_text, document},
};

/// How rows that were put down in `pg_temp.vitrina_page` are written.
#[derive(Debug)]
pub struct Merge {
    all: String,
    /// Writes those at the places `$1` to `$2`.
    some: String,
    /// Whether they count as written.
    counts: bool,
}

impl Merge {
    pub fn of(mart: &Mart, gathered_in: Option<&str>) -> Self {
        let page = arrived(mart, "pg_temp.vitrina_page as page, ", "page.doc");
        match gathered_in {
            None => Self {
                all: mart.upsert(&format!("{page} order by page.place")),
                some: mart.upsert(&format!("{page} where page.place between $1 and $2 order by page.place")),
                counts: true,
            },
            // Rows that are gathered count as written when they change the mart; none of them is put aside.
            Some(table) => {
                let all = gather(table, &mart.names(), &page);
                Self { some: all.clone(), all, counts: false }
            }
        }
    }

    /// Writes every row; one that is refused fails the batch.
    pub fn all(&self) -> PageWrite {
        let count = if self.counts { "select count(*) from written" } else { "0" };
        PageWrite { with: format!("with written as ({}) ", self.all), count: count.to_owned() }
    }

    /// Writes the rows that are not refused; `places` rows were put down, and at most `most` of them may be refused.
    pub fn those_accepted(&self, places: i64, most: i64) -> PageWrite {
        let some = literal(&format!("with written as ({}) select count(*) from written", self.some));
        PageWrite { with: String::new(), count: format!("etl_page.write_rows({some}, 1, {places}, {most})") }
    }
}

/// Selects the values of a row of [`RowForm::ReadBack`](crate::source::RowForm), `doc` of `from`, as the columns that the mart writes.
/// Fails where a type is another one than was judged.
pub fn arrived<'a>(mart: &'a Mart, from: &str, doc: &str) -> String {
    let columns: Vec<&'a SourceColumn> = mart.written().into_iter().map(|(column, _)| column).collect();
    let value = |column: &&SourceColumn| {
        let name = quote(&column.name);
        if as_text(column) { format!("arrived.{name}::{}", column.cast_type()) } else { format!("arrived.{name}") }
    };
    let typed = |column: &&'a SourceColumn| {
        (column.name.as_str(), if as_text(column) { "text".to_owned() } else { column.cast_type() })
    };
    format!(
        "select {values} from {from}json_to_record({document}) as arrived ({types})",
        values = columns.iter().map(value).collect::<Vec<_>>().join(", "),
        document = document(&columns, doc),
        types = record(columns.iter().map(typed)),
    )
}

/// Puts the rows down in `pg_temp.vitrina_page`, numbered from 1. Returns how many there were.
pub async fn put_down(
    tx: &mut PgConnection,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    sqlx::query("select etl.stage_page()").execute(&mut *tx).await?;
    let mut copy = tx.copy_in_raw("copy pg_temp.vitrina_page (place, doc) from stdin (format binary)").await?;
    match send(&mut copy, rows).await {
        Ok(places) => {
            copy.finish().await?;
            Ok(places)
        }
        Err(error) => {
            copy.abort("the page could not be read").await?;
            Err(error)
        }
    }
}

async fn send(
    copy: &mut PgCopyIn<&mut PgConnection>,
    rows: impl Stream<Item = Result<Row, BatchError>> + Send,
) -> Result<i64, BatchError> {
    let mut rows = std::pin::pin!(rows);
    let mut sent = CopyRows::default();
    let mut places: i64 = 0;
    while let Some(row) = rows.try_next().await? {
        places += 1;
        if i32::try_from(row.doc.len()).is_err() {
            return Err(BatchError::fatal("a row has more than two gigabytes"));
        }
        // A `json` travels as its text.
        sent.add(&[Some(&places.to_be_bytes()), Some(row.doc.as_bytes())]);
        if sent.is_full() {
            copy.send(sent.bytes()).await?;
            sent.clear();
        }
    }
    sent.end();
    copy.send(sent.bytes()).await?;
    Ok(places)
}
