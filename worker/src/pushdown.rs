//! The SQL of a page: read, upsert and report in one statement, so that no row leaves the server.
//!
//! It is chosen where source and target are both in the home database and no transform changes the rows (`plan`). A page's
//! statement returns `(rows_read, rows_written, last, more)`. It executes with the rights to write marts, and the user's query
//! within it with the rights to read sources (`source::home`). Both get the parameters of `source::home::PageSql`.

mod comparison;
mod completion;
mod merge;
mod replacement;
mod settled;

use vitrina_shared::{
    domain::SourceColumn,
    sql::{self, quote, quoted},
    store::tables::{TargetColumn, UniqueIndex},
    validation::Reader,
};

use self::comparison::has_own_collation;
pub use self::{
    comparison::as_stored,
    completion::Completion,
    merge::{Merge, arrived, read_back, statement_of},
};
use crate::source::{
    KeyColumn, WalkColumn,
    home::{PageSql, TOTAL},
};

/// Everything a page's statement is made of.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// How its rows are read.
    pub source: PageSql<'a>,
    pub reader: &'a Reader,
    pub table: &'a str,
    pub key: &'a [String],
    pub columns: &'a [TargetColumn],
    /// What else is unique in the target besides its key.
    pub unique: &'a [UniqueIndex],
    /// Whether a row of the target can be removed and written anew without a loss.
    pub can_rewrite: bool,
    /// The columns that tell the newest of several rows of one key; none where the query returns each key once.
    pub versions: &'a [WalkColumn],
    /// The table in which the rows are gathered, instead of the target.
    pub gathered_in: Option<&'a str>,
}

impl Page<'_> {
    /// The whole statement.
    pub fn statement(&self) -> String {
        // Rows that are gathered count as written when they change the target.
        let counted = if self.gathered_in.is_some() { "select 0::bigint" } else { "select count(*) from written" };
        // Where every row was written, `on conflict` has seen to it that no key came twice.
        let written = match self.source.fail_on_repeated_key() {
            Some(fail) => {
                format!("tally.rows + case when tally.rows < total.rows then coalesce(({fail}), 0) else 0 end")
            }
            None => "tally.rows".to_owned(),
        };
        format!(
            "with page as materialized ({rows}), {TOTAL},
            written as ({write}),
            tally (rows) as ({counted})
            select total.rows, {written}, ({last}), ({more})
            from total, tally",
            rows = self.source.read_confined(&self.source.rows(), self.reader.columns.iter()),
            write = self.write(),
            last = self.source.last(),
            more = self.source.more(),
        )
    }

    /// Writes the page, or puts it aside.
    fn write(&self) -> String {
        match self.gathered_in {
            None => self.upsert(&self.source.newest(&self.names())),
            Some(table) => {
                let names = self.names();
                format!("insert into etl_swap.{} ({names}) {}", quote(table), self.source.newest(&names))
            }
        }
    }

    /// The columns that are written: those that arrive, as far as the target has them.
    pub fn written(&self) -> Vec<&TargetColumn> {
        let own = |name: &str| self.columns.iter().find(|own| own.name == name);
        self.reader.arriving.iter().filter_map(|column| own(&column.name)).collect()
    }

    /// Those of them that can change: all but those of the key whose values are the same where they are equal.
    pub fn changing(&self) -> Vec<&TargetColumn> {
        self.written().into_iter().filter(|column| column.can_change(self.key)).collect()
    }

    pub fn names(&self) -> String {
        quoted(self.written().into_iter().map(|column| column.name.as_str()))
    }

    pub fn key_names(&self) -> String {
        quoted(self.key.iter().map(String::as_str))
    }

    /// Writes rows that did change.
    pub fn upsert(&self, rows: &str) -> String {
        let written = self.written().into_iter().map(|column| column.name.as_str());
        let changing: Vec<_> =
            self.changing().into_iter().map(|column| (column.name.as_str(), column.identity)).collect();
        sql::upsert(self.table, written, self.key, &changing, rows)
    }

    /// The condition of two rows of the target's types having the same key.
    pub fn same_key(&self, relation: &str) -> String {
        let same: Vec<_> = self.key.iter().map(|name| format!("{relation}.{0} = target.{0}", quote(name))).collect();
        same.join(" and ")
    }

    /// The same for a row of the source.
    fn same_stored_key(&self, relation: &str) -> String {
        let same = |key: &KeyColumn| {
            // Compared by their bytes: no key has a collation that takes different texts for equal.
            let by_bytes = self.read_and_own(&key.name).is_some_and(|(column, own)| has_own_collation(column, own));
            let (name, collate) = (quote(&key.name), if by_bytes { " collate \"C\"" } else { "" });
            format!("{relation}.{name}{}{collate} = target.{name}", key.cast)
        };
        self.source.walk().key.iter().map(same).collect::<Vec<_>>().join(" and ")
    }

    /// A column as the query returns it, and as the target has it.
    fn read_and_own(&self, name: &str) -> Option<(&SourceColumn, &TargetColumn)> {
        self.source.source_column(name).zip(self.columns.iter().find(|own| own.name == name))
    }
}
