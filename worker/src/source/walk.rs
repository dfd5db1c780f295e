//! What a run asks of its source: the columns that order its pages, and the form of its rows.

use std::{cmp::Ordering, sync::Arc};

use chrono::TimeDelta;
use vitrina_shared::{
    domain::{
        ColumnType, Mode,
        checkpoint::key_order,
        clock_key::{self, ClockKey},
    },
    store::runs::WalkedColumn,
    validation::Reader,
};

/// How late rows are kept from being skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The key is a `timestamptz`: read up to the start of the oldest open transaction.
    Clock,
    /// The key is a `date`: likewise, and the days that are not over everywhere again.
    Day,
    /// Any other key: read up to the greatest key, after the transactions that were writing then have ended.
    Writers,
    /// A full run reads everything.
    None,
}

impl Bound {
    pub fn of(mode: Mode, columns: &[WalkColumn]) -> Self {
        match (mode, clock(columns)) {
            (Mode::Full, _) => Self::None,
            (Mode::Incremental, Some(ClockKey::Timestamp)) => Self::Clock,
            (Mode::Incremental, Some(ClockKey::Date)) => Self::Day,
            (Mode::Incremental, None) => Self::Writers,
        }
    }

    /// Whether keys come from the database's clock.
    pub fn is_by_clock(self) -> bool {
        matches!(self, Self::Clock | Self::Day)
    }
}

#[derive(Debug, Clone)]
pub struct WalkColumn {
    pub name: String,
    /// Its type as a cast writes it, of any length.
    pub type_name: String,
    /// Whether it may be NULL, where that is known.
    pub nullable: Option<bool>,
    /// What its keys depend on: where this changes, keys that were read say nothing any more.
    pub walked: WalkedColumn,
}

impl WalkColumn {
    pub fn find(name: &str, reader: &Reader) -> Option<Self> {
        let place = reader.columns.iter().position(|column| column.name == name)?;
        let column = &reader.columns[place];
        let (exact, collation) = (column.plain_type(), &column.collation);
        let (relation, number) = reader.origins.get(place).copied().unwrap_or_default();
        let exact =
            collation.as_ref().map_or_else(|| exact.to_owned(), |collation| format!("{exact} collate {collation}"));
        let walked = WalkedColumn { type_name: exact, relation, number };
        Some(Self { name: name.to_owned(), type_name: column.cast_type(), nullable: column.nullable, walked })
    }

    /// What may be cut off of some of its keys and not of others. Of columns of tables alone it is known whether they may be
    /// NULL.
    fn hidden_cut(&self) -> TimeDelta {
        clock_key::hidden_cut(self.nullable.is_some())
    }
}

#[derive(Debug, Clone)]
pub struct KeyColumn {
    pub name: String,
    /// The cast that makes the target's value of the source's, with its colons; empty where the two are the same.
    pub cast: String,
}

/// For whom rows are written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// For an external sink: every value as JSON has it.
    Document,
    /// For a mart, which reads the values back: what JSON would change on the way is a text.
    ReadBack,
}

#[derive(Debug)]
pub struct Walk {
    pub reader: Arc<Reader>,
    /// The columns that its pages are ordered by.
    pub columns: Vec<WalkColumn>,
    /// How its pages keep late rows from being skipped.
    pub bound: Bound,
    /// The columns that incremental runs of the pipeline walk by. They decide which of several rows of one key is the newest;
    /// without them the query returns each key once.
    pub versions: Vec<WalkColumn>,
    /// How incremental runs of the pipeline keep late rows from being skipped.
    pub settles_by: Bound,
    /// Whether it is a full run of an incremental pipeline: it reads everything, and leaves a checkpoint for incremental runs.
    pub starts_over: bool,
    /// Whether incremental runs read NULL keys before all others, in every run: they have no place after a checkpoint.
    pub null_keys_first: bool,
    /// Whether rows with the checkpoint's own key are read again: of keys that the user answers for, equal ones may come.
    pub ties_again: bool,
    /// Seconds to read again before the checkpoint.
    pub lookback_seconds: u32,
    pub page_size: i64,
    pub key: Vec<KeyColumn>,
    /// Whether a page fails that has a key twice.
    pub keys_once: bool,
    pub form: RowForm,
    /// How large a row may be that leaves the source.
    pub max_row_bytes: u32,
}

impl Walk {
    pub fn nulls_first(&self) -> bool {
        self.null_keys_first && self.bound != Bound::None
    }

    /// What the keys of the columns depend on that it walks by.
    pub fn walks_by(&self) -> Vec<WalkedColumn> {
        walked(&self.columns)
    }

    /// The same of incremental runs of the pipeline.
    pub fn versions_walk_by(&self) -> Vec<WalkedColumn> {
        walked(&self.versions)
    }

    /// Whether the checkpoint that it leaves is found when it begins, because its pages are ordered otherwise.
    pub fn leaves_settled(&self) -> bool {
        self.starts_over && self.bound == Bound::None
    }

    /// The type of the key of incremental runs, where it comes from a clock.
    pub fn key_type(&self) -> ClockKey {
        clock(&self.versions).unwrap_or(ClockKey::Timestamp)
    }

    /// What the query may cut off of some keys and not of others.
    pub fn hidden_cut(&self) -> TimeDelta {
        self.versions.first().map_or(TimeDelta::zero(), WalkColumn::hidden_cut)
    }

    /// How many ranges a run has that was cut at these keys, where it reads from one key to another. A cut counts if it is after
    /// the one before and below the bound: rows above that are not settled, whenever the cut was chosen. A walk without a bound
    /// and a query that pages by itself have one range.
    pub fn ranges(&self, from: Option<&str>, upper: &str, cuts: &[String]) -> i32 {
        let (mut last, mut ranges) = (from, 1);
        for cut in cuts.iter().filter(|_| self.reader.query.placeholders().is_empty()) {
            if last.is_some_and(|last| !self.is_before(last, cut)) || !self.is_before(cut, upper) {
                break;
            }
            (last, ranges) = (Some(cut.as_str()), ranges + 1);
        }
        ranges
    }

    /// Whether a key is known to be before another one.
    fn is_before(&self, key: &str, other: &str) -> bool {
        let is_whole = || self.columns.first().is_some_and(|key| ColumnType::of(&key.type_name).is_whole());
        let order = match self.bound {
            Bound::Clock | Bound::Day => key_order(key, other),
            Bound::Writers if is_whole() => {
                let number = |key: &str| key.parse::<i64>().ok();
                number(key).zip(number(other)).map(|(key, other)| key.cmp(&other))
            }
            Bound::Writers | Bound::None => None,
        };
        order == Some(Ordering::Less)
    }

    pub fn key_names(&self) -> impl Iterator<Item = String> {
        self.key.iter().map(|key| key.name.clone())
    }

    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }
}

fn walked(columns: &[WalkColumn]) -> Vec<WalkedColumn> {
    columns.iter().map(|column| column.walked.clone()).collect()
}

fn clock(columns: &[WalkColumn]) -> Option<ClockKey> {
    ColumnType::of(&columns.first()?.type_name).clock()
}
