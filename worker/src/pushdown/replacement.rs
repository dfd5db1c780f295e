//! What goes from a mart before rows that were gathered are written to it.
//!
//! A statement does not see what another part of it removes: a row that was deleted and made anew, under another key and with
//! a value that is unique besides, would be refused. So removals are statements of their own, in the same transaction.

use vitrina_shared::{
    sql::quote,
    store::tables::{TargetColumn, UniqueIndex},
};

use super::Page;

impl Page<'_> {
    /// Removes rows that are gone.
    pub(super) fn remove_absent(&self, gathered: &str) -> String {
        let same = self.same_key("gathered");
        self.removal(&format!("not exists (select from {gathered} as gathered where {same})"))
    }

    /// Removes rows that give a unique value to another row, where there may be any. They are written anew.
    pub(super) fn make_room(&self, gathered: &str) -> Option<String> {
        let (same, differs) = (self.same_key("gathered"), self.passes_on()?);
        Some(self.removal(&format!("exists (select from {gathered} as gathered where {same} and {differs})")))
    }

    fn removal(&self, condition: &str) -> String {
        format!(
            "with gone as (delete from analytics.{} as target where {condition} returning 1)
            select 0::bigint, count(*), null::text[], false from gone",
            quote(self.table),
        )
    }

    /// The condition of a row getting another value in a column that is unique, and not only at the end of the transaction:
    /// two rows may exchange theirs. It is removed and written anew, where nothing is lost with it.
    fn passes_on(&self) -> Option<String> {
        let is_checked = |index: &&UniqueIndex| !index.deferred;
        let unique = |column: &&TargetColumn| {
            self.unique.iter().filter(is_checked).any(|index| index.columns.contains(&column.name))
        };
        let passed_on: Vec<_> = self.changing().into_iter().filter(unique).collect();
        if passed_on.is_empty() || !self.can_rewrite {
            return None;
        }
        let of = |relation: &str| {
            let values = passed_on.iter().map(|column| format!("{relation}.{}", quote(&column.name)));
            values.collect::<Vec<_>>().join(", ")
        };
        Some(format!("record_image_ne(row({}), row({}))", of("target"), of("gathered")))
    }
}
