//! The SQL of a page whose rows pass through the worker: one statement reads them, another writes what arrived.

use vitrina_shared::{
    domain::{Position, SourceColumn},
    sql::{self, literal, quote},
};

use super::{
    confined::document,
    pushdown::{Page, TOTAL},
};

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
        let text = |(name, k): (&String, String)| match form {
            RowForm::Document => key_text(&k, self.reader.columns.iter().find(|column| &column.name == name)),
            RowForm::ReadBack => format!("{k}::text"),
        };
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

/// For whom rows are written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// For an index: every value as JSON has it.
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
}

fn as_text(column: &SourceColumn) -> bool {
    !column.value_type().survives_json()
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

/// A value of an index's key as text, the same for values that the server takes for equal: `1.0` and `1.00`, `0` and `-0`.
/// Types of which that cannot be made are refused as such a key.
pub fn key_text(value: &str, column: Option<&SourceColumn>) -> String {
    column.map_or_else(|| format!("{value}::text"), |column| sql::text_of_equals(value, &column.value_type()))
}

/// The value of a key as JSON; its beginning where it is long itself.
fn short(key: &str) -> String {
    format!(
        "case when octet_length({key}::text) > {LONGEST_KEY} then to_json(left({key}::text, {SHOWN})) else to_json({key}) end"
    )
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
    /// A statement like [`Page::statement`], whose rows are written by `write`, an expression that counts them.
    pub fn statement(&self, write: &str) -> String {
        let last = self.last.as_ref().map_or("null".to_owned(), |last| sql::array(&last.0));
        let more = self.more.map_or("null".to_owned(), |more| more.to_string());
        format!("select {}::bigint, ({write})::bigint, {last}::text[], {more}::boolean", self.rows_read)
    }
}

impl Merge {
    /// Writes every row; one that is refused fails the batch.
    pub fn all(&self, end: &PageEnd) -> String {
        let count = if self.counts { "select count(*) from written" } else { "0" };
        format!("with written as ({}) {}", self.all, end.statement(count))
    }

    /// Writes the rows that are not refused; `places` rows were put down, and at most `most` of them may be refused.
    pub fn those_accepted(&self, end: &PageEnd, places: i64, most: i64) -> String {
        let some = literal(&format!("with written as ({}) select count(*) from written", self.some));
        end.statement(&format!("etl_page.write_rows({some}, 1, {places}, {most})"))
    }
}
