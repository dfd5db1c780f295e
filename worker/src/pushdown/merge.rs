//! The SQL that writes a page whose rows have passed through the worker.

use vitrina_shared::{
    domain::SourceColumn,
    sql::{self, literal, quote},
};

use super::Page;
use crate::source::{
    PageEnd,
    home::{as_text, document},
};

impl Page<'_> {
    /// Writes what was put down in `pg_temp.vitrina_page` to the target.
    pub fn merge(&self) -> Merge {
        let arriving = |name: &str| self.reader.arriving.iter().find(|column| column.name == name);
        let columns: Vec<_> = self.written().iter().filter_map(|own| arriving(&own.name)).collect();
        let page = format!(
            "select {} from pg_temp.vitrina_page as page, {}",
            arrived(&columns),
            read_back(&columns, "page.doc")
        );
        match self.gathered_in {
            None => Merge {
                all: self.upsert(&format!("{page} order by page.place")),
                some: self.upsert(&format!("{page} where page.place between $1 and $2 order by page.place")),
                counts: true,
            },
            // Rows that are gathered count as written when they change the target; none of them is put aside.
            Some(table) => {
                let all = format!("insert into etl_swap.{} ({}) {page}", quote(table), self.names());
                Merge { some: all.clone(), all, counts: false }
            }
        }
    }
}

/// Values that [`read_back`] has read, of the columns' own types.
pub fn arrived(columns: &[&SourceColumn]) -> String {
    let value = |column: &&SourceColumn| {
        let name = quote(&column.name);
        if as_text(column) { format!("arrived.{name}::{}", column.cast_type()) } else { format!("arrived.{name}") }
    };
    columns.iter().map(value).collect::<Vec<_>>().join(", ")
}

/// Reads a row of [`RowForm::ReadBack`], as the relation `arrived`; fails where a type is another one than was judged.
pub fn read_back<'a>(columns: &[&'a SourceColumn], doc: &str) -> String {
    let typed = |column: &&'a SourceColumn| {
        (column.name.as_str(), if as_text(column) { "text".to_owned() } else { column.cast_type() })
    };
    format!("json_to_record({}) as arrived ({})", document(columns, doc), sql::record(columns.iter().map(typed)))
}

/// How rows that were put down are written to a mart.
#[derive(Debug)]
pub struct Merge {
    /// Writes all of them.
    all: String,
    /// Writes those at the places `$1` to `$2`.
    some: String,
    /// Whether they count as written.
    counts: bool,
}

impl Merge {
    /// Writes every row; one that is refused fails the batch.
    pub fn all(&self, end: &PageEnd) -> String {
        let count = if self.counts { "select count(*) from written" } else { "0" };
        format!("with written as ({}) {}", self.all, statement_of(end, count))
    }

    /// Writes the rows that are not refused; `places` rows were put down, and at most `most` of them may be refused.
    pub fn those_accepted(&self, end: &PageEnd, places: i64, most: i64) -> String {
        let some = literal(&format!("with written as ({}) select count(*) from written", self.some));
        statement_of(end, &format!("etl_page.write_rows({some}, 1, {places}, {most})"))
    }
}

/// A statement like [`Page::statement`] of a page that was read before, whose rows are written by `write`, an expression that
/// counts them.
pub fn statement_of(end: &PageEnd, write: &str) -> String {
    let last = end.last.as_ref().map_or("null".to_owned(), |last| sql::array(&last.0));
    let more = end.more.map_or("null".to_owned(), |more| more.to_string());
    format!("select {}::bigint, ({write})::bigint, {last}::text[], {more}::boolean", end.rows_read)
}
