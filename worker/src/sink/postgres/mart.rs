//! A table of `analytics` as a pipeline writes it, and the SQL that does.

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{FullStrategy, PipelineDraft, SourceColumn},
    sql::{self, quote, quoted},
    store::tables::{self, TargetColumn, UniqueIndex},
    validation::TargetPlace,
};

use super::key_cast::{as_stored, has_own_collation};
use crate::{error::BatchError, sink::Opening};

#[derive(Debug)]
pub struct Mart {
    pub table: String,
    pub key: Vec<String>,
    pub columns: Vec<TargetColumn>,
    pub read: Vec<SourceColumn>,
    /// What arrives, after all transforms.
    pub arriving: Vec<SourceColumn>,
    /// What else is unique besides the key.
    pub unique: Vec<UniqueIndex>,
    /// Whether a row can be removed and written anew without a loss.
    pub can_rewrite: bool,
}

impl Mart {
    pub fn of(opening: &Opening<'_>) -> Result<Self, BatchError> {
        let entry = &opening.target.entry;
        let TargetPlace::Mart(name, table) = &opening.target.place else {
            return Err(BatchError::fatal(format!("`{}` is no table of analytics", entry.target)));
        };
        let written = opening.reader.arriving_names();
        Ok(Self {
            table: name.clone(),
            key: entry.key.clone(),
            columns: table.columns.clone(),
            read: opening.reader.columns.clone(),
            arriving: opening.reader.arriving.clone(),
            unique: table.other_unique(&written),
            can_rewrite: table.can_rewrite_rows(&written),
        })
    }

    /// How a full run begins. Where something besides the key is unique it gathers its rows and replaces the mart's at once: a
    /// page that gives such a value to another row would be refused while the old row is still there. Likewise where a sweep
    /// could not tell which rows are gone.
    pub fn strategy(&self, inputs: &PipelineDraft, can_sweep: bool) -> FullStrategy {
        let swaps = (!self.unique.is_empty() || !can_sweep) && inputs.options.rejects_allowed().is_none();
        inputs.options.full_strategy.unwrap_or(if swaps { FullStrategy::Swap } else { FullStrategy::Merge })
    }

    /// The columns that are written: those that arrive, as far as the mart has them.
    pub fn written(&self) -> Vec<(&SourceColumn, &TargetColumn)> {
        let own = |name: &str| self.columns.iter().find(|own| own.name == name);
        self.arriving.iter().filter_map(|column| Some((column, own(&column.name)?))).collect()
    }

    /// Those of them that can change: all but those of the key whose values are the same where they are equal.
    pub fn changing(&self) -> Vec<&TargetColumn> {
        self.written().into_iter().map(|(_, own)| own).filter(|own| own.can_change(&self.key)).collect()
    }

    /// The columns that are written, as a list.
    pub fn names(&self) -> String {
        quoted(self.written().into_iter().map(|(_, own)| own.name.as_str()))
    }

    pub fn key_names(&self) -> String {
        quoted(self.key.iter().map(String::as_str))
    }

    /// Writes rows that did change.
    pub fn upsert(&self, rows: &str) -> String {
        let written = self.written().into_iter().map(|(_, own)| own.name.as_str());
        let changing: Vec<_> = self.changing().into_iter().map(|own| (own.name.as_str(), own.identity)).collect();
        sql::upsert(&self.table, written, &self.key, &changing, rows)
    }

    /// The condition of a row of `target` getting another value in a column that is unique, and not only at the end of the
    /// transaction: two rows may exchange theirs. It is removed and written anew, where nothing is lost with it. `new` is the
    /// value that a written column gets, by its place.
    pub fn passes_on(&self, new: impl Fn(usize, &TargetColumn) -> String) -> Option<String> {
        let unique = |name: &String| self.unique.iter().any(|index| !index.deferred && index.columns.contains(name));
        let written = self.written();
        let passed_on =
            written.iter().enumerate().filter(|(_, (_, own))| own.can_change(&self.key) && unique(&own.name));
        let (old, new): (Vec<_>, Vec<_>) =
            passed_on.map(|(place, (_, own))| (format!("target.{}", quote(&own.name)), new(place, own))).unzip();
        (self.can_rewrite && !old.is_empty())
            .then(|| format!("record_image_ne(row({}), row({}))", old.join(", "), new.join(", ")))
    }

    /// Whether a row can be removed and written anew, asked again where the transaction holds a lock on the mart.
    pub async fn can_still_rewrite(&self, tx: &mut PgConnection) -> Result<bool, BatchError> {
        let written: Vec<_> = self.arriving.iter().map(|column| column.name.as_str()).collect();
        Ok(tables::can_rewrite_rows(tx, &self.table, &self.key, &written).await?)
    }

    pub fn same_key(&self, relation: &str) -> String {
        let same: Vec<_> = self.key.iter().map(|name| format!("{relation}.{0} = target.{0}", quote(name))).collect();
        same.join(" and ")
    }

    /// The same for a row of the source.
    pub fn same_stored_key(&self, relation: &str) -> String {
        let same = |name: &String| {
            // Compared by their bytes: no key has a collation that takes different texts for equal.
            let by_bytes = self.read_and_own(name).is_some_and(|(column, own)| has_own_collation(column, own));
            let collate = if by_bytes { " collate \"C\"" } else { "" };
            format!("{relation}.{0}{1}{collate} = target.{0}", quote(name), self.key_cast(name))
        };
        self.key.iter().map(same).collect::<Vec<_>>().join(" and ")
    }

    /// The cast that makes the mart's value of the source's, of a column of the key; empty where the two are the same.
    pub fn key_cast(&self, name: &str) -> String {
        self.read_and_own(name).map(|(column, own)| as_stored("", column, own)).unwrap_or_default()
    }

    /// A column as the query returns it, and as the mart has it.
    pub fn read_and_own(&self, name: &str) -> Option<(&SourceColumn, &TargetColumn)> {
        let column = self.read.iter().find(|column| column.name == name);
        column.zip(self.columns.iter().find(|own| own.name == name))
    }
}

/// Writes rows to the table in which a run gathers them.
pub fn gather(table: &str, names: &str, rows: &str) -> String {
    format!("insert into etl_swap.{} ({names}) {rows}", quote(table))
}
