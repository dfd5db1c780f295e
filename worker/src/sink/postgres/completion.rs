//! What makes a mart equal to the query's result, after the last page of a full run.
//!
//! A statement does not see what another part of it removes: a row that was deleted and made anew, under another key and with
//! a value that is unique besides, would be refused. So removals are statements of their own, in the same transaction.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Mode, RunId},
    sql::{literal, literals, quote},
    store::{pages, runs, swaps, swaps::Gathering},
};

use super::mart::Mart;
use crate::{
    error::{BatchError, while_rows_are_kept},
    sink::{Completed, RemovalLimit},
};

#[derive(Debug)]
pub enum Completion {
    /// The pages were written to the mart; what the query does not return any more is removed.
    Sweep {
        /// Counts the mart's rows; none where keys may fall together unnoticed, so that counts say nothing.
        count: Option<String>,
    },
    /// The pages were gathered beside the mart, which changes all at once.
    Swap {
        gathering: Gathering,
        /// Removes what was not gathered.
        delete: String,
        /// Removes rows that give a unique value to another row; they are written anew.
        make_room: Option<String>,
        /// Writes to the mart what differs.
        replace: String,
    },
}

impl Completion {
    /// Executes it in the transaction that ends the run.
    pub async fn execute(
        &self,
        tx: &mut PgConnection,
        run: RunId,
        keys: Option<&str>,
        (mart, limit): (&Mart, &RemovalLimit),
    ) -> Result<Completed, BatchError> {
        let (written, removed) = match self {
            Self::Sweep { count } => {
                if is_complete(tx, run, count.as_deref()).await? {
                    return Ok(Completed::default());
                }
                let keys =
                    keys.ok_or_else(|| BatchError::fatal("no statement selects the keys of the pipeline's source"))?;
                (0, remove(tx, mart, limit, &mart.remove_unread(keys)).await?)
            }
            Self::Swap { gathering, delete, make_room, replace } => {
                let removed = remove(tx, mart, limit, delete).await?;
                // The removal holds its lock on the mart by now. What the plan was made from may be long ago.
                let can_rewrite = make_room.is_some() && mart.can_still_rewrite(tx).await?;
                let make_room = make_room.as_ref().filter(|_| can_rewrite);
                if let Some(make_room) = make_room {
                    pages::execute(tx, make_room, &[]).await?;
                }
                let replaced = pages::execute(tx, replace, &[]).await;
                let replaced = if make_room.is_none() { replaced.map_err(while_rows_are_kept)? } else { replaced? };
                swaps::remove(tx, &gathering.table).await?;
                (replaced.rows_written, removed)
            }
        };
        Ok(Completed { written, removed, replaced: false })
    }
}

/// Whether the query returned every row of the mart. Pages walk by the key, so every key was read once: as many rows in the mart
/// as were read, all of which were written, means that there are no others.
async fn is_complete(tx: &mut PgConnection, run: RunId, count: Option<&str>) -> Result<bool, BatchError> {
    let Some(run) = runs::find(tx, run).await? else { return Ok(true) };
    // A row that was refused is not in the mart, and another one may be there in its place.
    let Some(count) = count.filter(|_| run.rows_rejected == 0) else { return Ok(false) };
    Ok(pages::execute(tx, count, &[]).await?.rows_read == run.rows_read)
}

/// Removes rows, if the run may remove so many: otherwise the error rolls the transaction back.
async fn remove(tx: &mut PgConnection, mart: &Mart, limit: &RemovalLimit, delete: &str) -> Result<i64, BatchError> {
    let removed = pages::execute(tx, delete, &[]).await?.rows_written;
    if removed == 0 {
        return Ok(0);
    }
    let left = match limit.allows_any(removed.unsigned_abs()) {
        true => 0,
        false => pages::execute(tx, &mart.count_rows(), &[]).await?.rows_read,
    };
    limit.refuse(removed.unsigned_abs(), (left + removed).unsigned_abs())?;
    tracing::info!(rows_removed = removed, "removed rows that are gone from the source");
    Ok(removed)
}

impl Mart {
    /// Removes what the query does not return any more. A full pipeline fails where a key comes twice.
    pub(super) fn sweep(&self, pipeline: Mode) -> Completion {
        let counts = pipeline == Mode::Full && self.keeps_keys_apart();
        Completion::Sweep { count: counts.then(|| self.count()) }
    }

    /// Replaces the mart's rows by those that were gathered.
    pub(super) fn swap(&self, gathered_in: &str) -> Completion {
        let (names, key) = (self.names(), self.key_names());
        let gathered = format!("etl_swap.{}", quote(gathered_in));
        let rows = format!("select {names} from {gathered} order by {key}");
        Completion::Swap {
            gathering: Gathering {
                table: gathered_in.to_owned(),
                mart: self.table.clone(),
                columns: self.written().iter().map(|(_, own)| own.name.clone()).collect(),
                key: self.key.clone(),
            },
            delete: self.remove_absent(&gathered),
            make_room: self.make_room(&gathered),
            replace: format!(
                "with written as ({upsert}) select 0::bigint, count(*), null::text[], false from written",
                upsert = self.upsert(&rows),
            ),
        }
    }

    /// Whether as many rows as were read means as many keys in the mart: a key that came twice has failed the run, and no two
    /// keys become one on their way into the mart's column.
    fn keeps_keys_apart(&self) -> bool {
        let kept = |name: &String| {
            self.read_and_own(name).is_some_and(|(read, own)| {
                own.type_name == read.type_name || read.declared.as_ref() == Some(&own.type_name)
            })
        };
        !self.changing().is_empty() && self.key.iter().all(kept)
    }

    /// Counts the mart's rows; -1 where a collation of its key takes different values for one, or where a trigger or a rule may
    /// have changed what was written.
    fn count(&self) -> String {
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
            table = literal(&format!("analytics.{}", quote(&self.table))),
            name = quote(&self.table),
            key = literals(self.key.iter().map(String::as_str)),
        )
    }

    /// Counts the mart's rows, for what a share of them is.
    fn count_rows(&self) -> String {
        format!("select count(*), 0::bigint, null::text[], false from analytics.{}", quote(&self.table))
    }

    fn remove_absent(&self, gathered: &str) -> String {
        let same = self.same_key("gathered");
        self.removal(&format!("not exists (select from {gathered} as gathered where {same})"))
    }

    /// Removes rows whose keys are not among those that were read.
    fn remove_unread(&self, keys: &str) -> String {
        let same = self.same_stored_key("source");
        self.removal(&format!("not exists (select from ({keys}) as source where {same})"))
    }

    /// Removes rows that give a unique value to another row, where there may be any. They are written anew.
    fn make_room(&self, gathered: &str) -> Option<String> {
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
