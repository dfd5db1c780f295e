//! How far a pipeline is durably written.

use serde::{Deserialize, Serialize};

/// The key and id of the last row that was written, in the server's own text form.
///
/// Text is exact where other forms are not: a `timestamptz` keeps its microseconds, a `numeric` all its digits,
/// and the value goes back to the server as it came, cast to the column's type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Value of the incremental key.
    pub key: String,
    /// Value of the id that tells apart rows with equal keys.
    pub id: String,
}
