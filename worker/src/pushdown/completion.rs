//! The SQL after the last page of a full run.

use vitrina_shared::{sql::quote, store::swaps::Gathering};

use super::Page;

/// How a full run makes the target equal to the query's result, after its last page.
#[derive(Debug)]
pub enum Completion {
    /// The pages were written to the target; what the query does not return any more is removed.
    Sweep {
        /// Counts the target's rows; none where keys may fall together unnoticed, so that counts say nothing.
        count: Option<String>,
        /// Removes the rows.
        delete: String,
    },
    /// The pages were gathered beside the target, which changes all at once.
    Swap {
        /// The table in which rows are gathered.
        gathering: Gathering,
        /// Removes what was not gathered.
        delete: String,
        /// Removes rows that give a unique value to another row; they are written anew. A statement does not see what another
        /// part of it removes, so it is a statement by itself.
        make_room: Option<String>,
        /// Writes to the target what differs.
        replace: String,
    },
}

impl Page<'_> {
    /// What makes the target equal to the query's result.
    pub fn completion(&self) -> Completion {
        match self.gathered_in {
            None => self.sweep(),
            Some(table) => self.swap(table),
        }
    }

    /// The keys of all rows that the query returns now.
    fn keys(&self) -> String {
        let column = |name: &String| self.reader.columns.iter().find(|column| &column.name == name);
        let query = format!("select {} from ({}\n) as source", self.key_names(), self.source.query());
        self.source.read_confined(&query, self.key.iter().filter_map(column))
    }

    fn sweep(&self) -> Completion {
        let table = quote(self.table);
        Completion::Sweep {
            count: self.returns_each_key_once().then(|| self.count()),
            delete: format!(
                "with gone as (
                    delete from analytics.{table} as target
                    where not exists (select from ({keys}) as source where {same})
                    returning 1
                )
                select 0::bigint, count(*), null::text[], false from gone",
                keys = self.keys(),
                same = self.same_stored_key("source"),
            ),
        }
    }

    fn swap(&self, gathered_in: &str) -> Completion {
        let (names, key) = (self.names(), self.key_names());
        let gathered = format!("etl_swap.{}", quote(gathered_in));
        let rows = format!("select {names} from {gathered} order by {key}");
        Completion::Swap {
            gathering: Gathering {
                table: gathered_in.to_owned(),
                mart: self.table.to_owned(),
                columns: self.written().iter().map(|column| column.name.clone()).collect(),
                key: self.key.to_vec(),
            },
            delete: self.remove_absent(&gathered),
            make_room: self.make_room(&gathered),
            replace: format!(
                "with written as ({upsert}) select 0::bigint, count(*), null::text[], false from written",
                upsert = self.upsert(&rows),
            ),
        }
    }
}
