//! How rows are written as JSON on their way through the worker.

use vitrina_shared::{
    domain::SourceColumn,
    sql::{self, quote},
};

/// For whom rows are written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// For a sink that keeps documents: every value as JSON has it.
    Document,
    /// For a mart, which reads the values back: what JSON would change on the way is a text.
    ReadBack,
}

impl RowForm {
    /// A row of `relation` as JSON.
    pub fn row(self, relation: &str, columns: &[SourceColumn]) -> String {
        if self == Self::Document || !columns.iter().any(as_text) {
            return format!("row_to_json({relation}.*)::text");
        }
        let value = |column: &SourceColumn| {
            let name = quote(&column.name);
            if as_text(column) { format!("{relation}.{name}::text as {name}") } else { format!("{relation}.{name}") }
        };
        let values: Vec<_> = columns.iter().map(value).collect();
        format!("(select row_to_json(each_row.*)::text from (select {}) as each_row)", values.join(", "))
    }

    /// A value of the target's key as text.
    pub fn key_text(self, value: &str, column: Option<&SourceColumn>) -> String {
        match column.filter(|_| self == Self::Document) {
            // The same for values that the server takes for equal.
            Some(column) => sql::text_of_equals(value, &column.value_type()),
            None => format!("{value}::text"),
        }
    }
}

/// Whether JSON would change a value.
pub(super) fn as_text(column: &SourceColumn) -> bool {
    !column.value_type().survives_json()
}

/// A row of `relation` as JSON; null where that has more than `most` bytes. With `.*` the name is always the relation's: alone
/// it would be that of a column, where there is one.
pub fn bounded_row(relation: &str, most: u32) -> String {
    // Not pulled up: the row is written as JSON once.
    let whole = format!("select row_to_json({relation}.*)::text as doc offset 0");
    format!("(select case when octet_length(doc) <= {most} then doc end from ({whole}) as whole)")
}

/// Why a row is refused that is longer than `most` bytes.
pub fn too_long(bytes: i64, most: u32) -> String {
    format!("the row has {bytes} bytes as JSON, and VITRINA_MAX_ROW_BYTES lets {most} pass through a worker")
}
