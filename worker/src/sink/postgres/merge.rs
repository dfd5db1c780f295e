//! Writes rows to a mart that passed through the worker: those that were put down, by one statement.

use vitrina_shared::{
    domain::SourceColumn,
    sql::{literal, quote, record},
};

use super::mart::{Mart, gather};
use crate::{
    sink::PageWrite,
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
