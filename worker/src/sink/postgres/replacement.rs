//! What goes from a mart after the last page of a full run, or before rows that were gathered are written to it.
//!
//! A statement does not see what another part of it removes: a row that was deleted and made anew, under another key and with
//! a value that is unique besides, would be refused. So removals are statements of their own, in the same transaction.

use vitrina_shared::sql::quote;

use super::mart::Mart;

impl Mart {
    /// Removes rows that are gone.
    pub(super) fn remove_absent(&self, gathered: &str) -> String {
        let same = self.same_key("gathered");
        self.removal(&format!("not exists (select from {gathered} as gathered where {same})"))
    }

    /// Removes rows whose keys are not among those that were read.
    pub(super) fn remove_unread(&self, keys: &str) -> String {
        let same = self.same_stored_key("source");
        self.removal(&format!("not exists (select from ({keys}) as source where {same})"))
    }

    /// Removes rows that give a unique value to another row, where there may be any. They are written anew.
    pub(super) fn make_room(&self, gathered: &str) -> Option<String> {
        let differs = self.passes_on(|_, own| format!("gathered.{}", quote(&own.name)))?;
        let same = self.same_key("gathered");
        Some(self.removal(&format!("exists (select from {gathered} as gathered where {same} and {differs})")))
    }

    /// Removes the rows of `target` that fulfil a condition, and counts them.
    fn removal(&self, condition: &str) -> String {
        format!(
            "with gone as (delete from analytics.{} as target where {condition} returning 1)
            select 0::bigint, count(*), null::text[], false from gone",
            quote(&self.table),
        )
    }
}
