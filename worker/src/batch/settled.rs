//! What a full run asks besides its pages: up to where everything was settled when it began.

use super::pushdown::Page;

impl Page<'_> {
    /// Reads the last row below the bound, as a list of its key and id: the checkpoint of an incremental run that has read
    /// everything up to there.
    pub fn last_settled(&self) -> String {
        let names = self.walk_names("source");
        let texts: Vec<_> = names.iter().map(|name| format!("{name}::text")).collect();
        let known: Vec<_> = names.iter().map(|name| format!("{name} is not null")).collect();
        let newest: Vec<_> = names.iter().map(|name| format!("{name} desc")).collect();
        format!(
            "select array[{texts}] from ({query}\n) as source
            where {known} and {bound} order by {newest} limit 1",
            texts = texts.join(", "),
            query = self.query(),
            known = known.join(" and "),
            bound = self.below_bound(),
            newest = newest.join(", "),
        )
    }
}
