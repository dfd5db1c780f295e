//! The SQL of a page whose rows pass through the worker: one statement reads them, another says what became of them.

use vitrina_shared::{
    domain::Position,
    sql::{self, literal, quote},
};

use super::pushdown::{Page, TOTAL};
use crate::sink::{PageWrite, RowForm};

/// Bytes of a key's value that are kept of a row that is too long itself.
const LONGEST_KEY: usize = 8 * 1024;
/// Characters that are kept of a longer one.
const SHOWN: usize = 200;

impl Page<'_> {
    /// Returns the page's rows as JSON, and in a last row without one what [`Page::statement`] would say of the page. Of a
    /// row that is longer than `most` bytes only its key and its size leave the server. `form` is for whom they are.
    pub fn read(&self, most: u32, form: RowForm) -> String {
        let places = || (0..self.key.len()).map(|place| format!("key{place}"));
        let keys: String =
            self.key.iter().zip(places()).map(|(name, k)| format!("fresh.{} as {k}, ", quote(name))).collect();
        let column = |name: &String| self.reader.columns.iter().find(|column| &column.name == name);
        let text = |(name, k): (&String, String)| form.key_text(&k, column(name));
        let texts: Vec<_> = self
            .key
            .iter()
            .zip(places())
            .map(text)
            .map(|text| format!("case when bytes > {most} then left({text}, {SHOWN}) else {text} end"))
            .collect();
        let key_alone: Vec<_> =
            self.key.iter().zip(places()).map(|(name, k)| format!("{}, {}", literal(name), short(&k))).collect();
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
            doc = form.row("fresh", &self.reader.columns),
            fresh = self.newest("*"),
            last = self.last(),
            more = self.more(),
        )
    }
}

/// The value of a key as JSON; its beginning where it is long itself.
fn short(key: &str) -> String {
    format!(
        "case when octet_length({key}::text) > {LONGEST_KEY} then to_json(left({key}::text, {SHOWN})) else to_json({key}) end"
    )
}

/// What the reader said of a page after its last row.
#[derive(Debug, Clone)]
pub struct PageEnd {
    /// Rows that the query returned.
    pub rows_read: i64,
    /// The last of them.
    pub last: Option<Position>,
    /// Whether there may be more; none if the page did not get further.
    pub more: Option<bool>,
}

impl PageEnd {
    /// A statement like [`Page::statement`], of which `write` writes and counts the rows.
    pub fn statement(&self, PageWrite { with, count }: &PageWrite) -> String {
        let last = self.last.as_ref().map_or("null".to_owned(), |last| sql::array(&last.0));
        let more = self.more.map_or("null".to_owned(), |more| more.to_string());
        format!("{with}select {}::bigint, ({count})::bigint, {last}::text[], {more}::boolean", self.rows_read)
    }
}
