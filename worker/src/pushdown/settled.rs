//! Whether there can be stale rows at all after a full run.

use vitrina_shared::sql::{literal, literals, quote};

use super::Page;

impl Page<'_> {
    /// Whether as many rows as were read means as many keys in the target: a key that came twice has failed the run
    /// ([`PageSql::fail_on_repeated_key`](crate::source::home::PageSql::fail_on_repeated_key)), and no two keys become one on their way into the target's column.
    pub fn returns_each_key_once(&self) -> bool {
        let kept = |name: &String| {
            let own = self.columns.iter().find(|own| &own.name == name);
            let read = self.reader.columns.iter().find(|column| &column.name == name);
            own.zip(read).is_some_and(|(own, read)| {
                own.type_name == read.type_name || read.declared.as_ref() == Some(&own.type_name)
            })
        };
        self.versions.is_empty() && !self.changing().is_empty() && self.key.iter().all(kept)
    }

    /// Counts the target's rows; -1 where a collation of its key takes different values for one, or where a trigger or a rule
    /// may have changed what was written.
    pub fn count(&self) -> String {
        format!(
            "with own (oid) as (
                 select {table}::regclass::oid
                 union select relid from pg_catalog.pg_partition_tree({table}::regclass)
             )
             select case when exists (
                        select from pg_catalog.pg_attribute a
                        join pg_catalog.pg_collation c on c.oid = a.attcollation
                        where a.attrelid = {table}::regclass and a.attname in ({key}) and not c.collisdeterministic
                    ) or exists (
                        select from own join pg_catalog.pg_trigger t on t.tgrelid = own.oid where not t.tgisinternal
                    ) or exists (
                        select from own join pg_catalog.pg_rewrite r on r.ev_class = own.oid
                    ) then -1 else (select count(*) from analytics.{name}) end, 0::bigint, null::text[], false",
            table = literal(&format!("analytics.{}", quote(self.table))),
            name = quote(self.table),
            key = literals(self.key.iter().map(String::as_str)),
        )
    }

    /// Counts the target's rows, for what a share of them is.
    pub fn count_rows(table: &str) -> String {
        format!("select count(*), 0::bigint, null::text[], false from analytics.{}", quote(table))
    }
}
