//! How far a pipeline is written, and where a batch begins.

use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

/// The key and id of the last row that was written, in the server's own text form.
///
/// Text is exact where other forms are not: a `timestamptz` keeps its microseconds, a `numeric` all its digits,
/// and the value goes back to the server as it came, cast to the column's type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub key: String,
    /// Value of the id that tells apart rows with equal keys; none means before the first row with that key.
    pub id: Option<String>,
}

impl Checkpoint {
    /// This one, or the other one where that is before it.
    ///
    /// | the other one | the result |
    /// |---|---|
    /// | an earlier time or day | the other one |
    /// | the same key and another id | before the first row with that key: which id is smaller, its type knows |
    /// | anything else | this one: a checkpoint of another type goes back to its own key at most |
    #[must_use]
    pub fn or_before(self, other: Self) -> Self {
        match key_order(&other.key, &self.key) {
            Some(Ordering::Less) => other,
            Some(Ordering::Equal) if other.id != self.id => Self { id: None, ..self },
            Some(Ordering::Equal | Ordering::Greater) | None => self,
        }
    }
}

/// How two keys compare that come from the clock. Of others is known only that they are the same: a number may be written in
/// several ways.
pub fn key_order(one: &str, other: &str) -> Option<Ordering> {
    let days = |key: &str| key.parse::<NaiveDate>().ok();
    let times = key_time(one).zip(key_time(other)).map(|(one, other)| one.cmp(&other));
    let days = days(one).zip(days(other)).map(|(one, other)| one.cmp(&other));
    let number = |key: &str| key.parse::<f64>().ok();
    let is_same = one == other || number(one).is_some_and(|one| number(other) == Some(one));
    times.or(days).or_else(|| is_same.then_some(Ordering::Equal))
}

/// The time that a key in the server's text form says, as our sessions get it; `None` for keys of another type.
pub fn key_time(key: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_str(key, "%Y-%m-%d %H:%M:%S%.f%#z").ok().map(|time| time.to_utc())
}

/// The row after which a batch begins: the values of the columns that a run walks by, in the server's own text form.
///
/// | run         | columns                               |
/// |-------------|---------------------------------------|
/// | incremental | the incremental key and the id key    |
/// | full        | the columns of the target's key       |
///
/// A value may be absent: `(key, null)` is before every row that has the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent, no_pg_array)]
pub struct Position(pub Vec<Option<String>>);

impl Position {
    pub fn after(checkpoint: &Checkpoint) -> Self {
        Self(vec![Some(checkpoint.key.clone()), checkpoint.id.clone()])
    }
}

/// A place between two rows at which the walk of a run is cut into ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// The bound of the range before it.
    pub upper: String,
    /// The key that the range after it begins with.
    pub from: String,
}

impl Cut {
    /// Before the first row with this key, where a bound is above all keys of its range: keys come from the clock.
    pub fn before(key: &str) -> Self {
        Self { upper: key.to_owned(), from: key.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_checkpoints_the_one_is_found_that_is_before_the_other() {
        let first = |key: &str, id: &str, other: &str, other_id: &str| {
            let at = |key: &str, id: &str| Checkpoint { key: key.to_owned(), id: Some(id.to_owned()) };
            let first = at(key, id).or_before(at(other, other_id));
            (first.key, first.id)
        };
        let is = |key: &str, id: Option<&str>| (key.to_owned(), id.map(str::to_owned));
        let (early, late) = ("2026-11-17 12:00:00+00", "2026-11-17 12:00:00.5+00");
        assert_eq!(first(early, "105", late, "1"), is(early, Some("105")));
        assert_eq!(first(late, "1", early, "105"), is(early, Some("105")));
        assert_eq!(first("2026-11-17", "1", "2026-11-16", "105"), is("2026-11-16", Some("105")));
        assert_eq!(first(early, "105", early, "105"), is(early, Some("105")));
        for key in [early, "2026-11-17", "words", "7"] {
            assert_eq!(first(key, "105", key, "102"), is(key, None), "{key}");
        }
        assert_eq!(first("1.0", "105", "1.00", "102"), is("1.0", None));
        assert_eq!(first("7", "105", "8", "102"), is("7", Some("105")));
    }
}
