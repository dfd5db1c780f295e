//! A document, and what its version is made of.

use crate::rejected::Rejected;

/// Bits of a version for changes that others make: each raises it by one, and must not reach our next number.
const ROOM: u32 = 20;

/// The version of documents that are written with this number (`store::write_numbers`).
pub fn version(number: i64) -> i64 {
    number << ROOM
}

/// The least number whose documents take the place of one with this version.
pub fn number_above(version: i64) -> i64 {
    (version >> ROOM) + 1
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its `_id`, of [`row_id`](crate::row_id).
    pub id: String,
    /// What decides which of two writes of one id is the newer; must not be negative.
    pub version: Option<i64>,
    /// The row as JSON text, as the database rendered it.
    pub body: String,
}

impl Document {
    pub(super) fn rejected(self, error: String) -> Rejected {
        Rejected { id: self.id, doc: self.body, error }
    }

    /// Why this document cannot be sent at all.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.id.is_empty() {
            Some("its key is empty, and Elasticsearch takes no empty _id")
        } else if self.version.is_some_and(|version| version < 0) {
            Some("its version is negative, which Elasticsearch does not take")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_above_a_version_makes_a_greater_one() {
        for there in [0, 1, version(7), version(7) + 1, version(8) - 1, 1_795_000_000_000_000] {
            assert!(version(number_above(there)) > there, "{there}");
        }
    }
}
