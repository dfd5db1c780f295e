//! The SQL of a page whose rows pass through the worker: they leave the server as JSON.

use vitrina_shared::{
    domain::SourceColumn,
    sql::{self, literal, quote},
};

use super::statements::{PageSql, TOTAL};
use crate::source::{
    KeyColumn, RowForm,
    rows::{CUT, SHOWN},
};

/// Bytes of a key's value that are kept of a row that is too long itself.
const LONGEST_KEY: usize = 8 * 1024;

impl PageSql<'_> {
    /// Returns the page's rows as JSON, and in a last row without one what is known of the page. Of a row that is too long only
    /// its key and its size leave the server.
    pub fn documents(&self) -> String {
        let walk = self.walk();
        let most = walk.max_row_bytes;
        let places = || (0..walk.key.len()).map(|place| format!("key{place}"));
        let keys: String =
            walk.key.iter().zip(places()).map(|(key, k)| format!("fresh.{} as {k}, ", quote(&key.name))).collect();
        let texts: Vec<_> = walk
            .key
            .iter()
            .zip(places())
            .map(|(key, k)| self.key_text(&k, key))
            .map(|text| format!("case when bytes > {most} then left({text}, {SHOWN}) else {text} end"))
            .collect();
        let key_alone: Vec<_> =
            walk.key.iter().zip(places()).map(|(key, k)| format!("{}, {}", literal(&key.name), short(&k))).collect();
        let repeated = self.fail_on_repeated_key().map(|fail| format!(" + coalesce(({fail}), 0)")).unwrap_or_default();
        format!(
            "with page as materialized ({rows}), {TOTAL}
            select array[{texts}], case when bytes > {most} then json_build_object({key_alone})::text else doc end,
                   null::bigint, null::text[], null::boolean, case when bytes > {most} then bytes end
            from (
                select *, octet_length(doc)::bigint as bytes
                -- Not pulled up: the row is written as JSON once.
                from (select {keys}{doc} as doc from ({fresh}) as fresh offset 0) as whole
            ) as measured
            union all
            select null, null, total.rows{repeated}, ({last}), ({more}), null
            from total",
            rows = self.rows(),
            texts = texts.join(", "),
            key_alone = key_alone.join(", "),
            doc = self.row_as_json("fresh"),
            fresh = self.newest("*"),
            last = self.last(),
            more = self.more(),
        )
    }

    /// A row of `relation` as JSON of the walk's form. With `.*` the name is always the relation's: alone it would be that of a
    /// column, where there is one.
    pub fn row_as_json(&self, relation: &str) -> String {
        let columns = &self.walk().reader.columns;
        if self.walk().form == RowForm::Document || !columns.iter().any(as_text) {
            return format!("row_to_json({relation}.*)::text");
        }
        let value = |column: &SourceColumn| {
            let name = quote(&column.name);
            if as_text(column) { format!("{relation}.{name}::text as {name}") } else { format!("{relation}.{name}") }
        };
        let values: Vec<_> = columns.iter().map(value).collect();
        format!("(select row_to_json(each_row.*)::text from (select {}) as each_row)", values.join(", "))
    }

    /// A value of the target's key as text. In a document it is the same for values that the server takes for equal: `1.0` and
    /// `1.00`, `0` and `-0`; types of which that cannot be made are refused as such a key.
    pub fn key_text(&self, value: &str, key: &KeyColumn) -> String {
        match self.source_column(&key.name).filter(|_| self.walk().form == RowForm::Document) {
            Some(column) => sql::text_of_equals(value, &column.value_type()),
            None => format!("{value}::text"),
        }
    }
}

/// Whether JSON would change a value, so that it travels as a text.
pub fn as_text(column: &SourceColumn) -> bool {
    !column.value_type().survives_json()
}

/// The value of a key as JSON; its beginning where it is long itself.
fn short(key: &str) -> String {
    format!(
        "case when octet_length({key}::text) > {LONGEST_KEY} then to_json(left({key}::text, {SHOWN}) || '{CUT}') else to_json({key}) end"
    )
}
