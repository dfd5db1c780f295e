//! How far a pipeline is durably written, and where a batch begins.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The key and id of the last row that was written, in the server's own text form.
///
/// Text is exact where other forms are not: a `timestamptz` keeps its microseconds, a `numeric` all its digits,
/// and the value goes back to the server as it came, cast to the column's type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Value of the incremental key.
    pub key: String,
    /// Value of the id that tells apart rows with equal keys; none means before the first row with that key.
    pub id: Option<String>,
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
    /// Right after the row of a checkpoint.
    pub fn after(checkpoint: &Checkpoint) -> Self {
        Self(vec![Some(checkpoint.key.clone()), checkpoint.id.clone()])
    }
}
