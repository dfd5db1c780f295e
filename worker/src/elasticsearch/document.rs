//! A document, how a row's key becomes its `_id`, and what its version is made of.

use sha2::{Digest, Sha256};

/// Elasticsearch takes ids of up to this many bytes.
pub const MAX_ID_BYTES: usize = 512;
/// Begins an id that is a digest.
pub const DIGEST: &str = "sha256:";

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

/// A row on its way into an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its `_id`, see [`id_of_row`].
    pub id: String,
    /// What decides which of two writes of one id is the newer; must not be negative.
    pub version: Option<i64>,
    /// The row as JSON text, as the database rendered it.
    pub body: String,
}

/// The `_id` of a row with this key. A key of one column stands as it is; the parts of a longer one are joined by `|`,
/// with `\` before every `|` and `\` in them, so that no two keys have one id. What is longer than Elasticsearch takes is
/// replaced by its digest; the key itself is in the document all the same.
pub fn id(key: &[&str]) -> String {
    shortened(match key {
        [single] => (*single).to_owned(),
        parts => parts.iter().map(|part| part.replace('\\', "\\\\").replace('|', "\\|")).collect::<Vec<_>>().join("|"),
    })
}

/// The `_id` of a row by its key; empty, which is refused by name, where a part of its key is NULL.
pub fn id_of_row(key: &[Option<String>]) -> String {
    if let [single] = key {
        return single.clone().map(shortened).unwrap_or_default();
    }
    let parts: Option<Vec<&str>> = key.iter().map(Option::as_deref).collect();
    parts.map(|parts| id(&parts)).unwrap_or_default()
}

fn shortened(joined: String) -> String {
    if joined.len() <= MAX_ID_BYTES {
        return joined;
    }
    let digest = Sha256::digest(joined.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{DIGEST}{hex}")
}

/// The key of `columns` values whose [`id_of_row`] this is; none where it is a digest, or no id of ours.
pub fn key(id: &str, columns: usize) -> Option<Vec<String>> {
    if id.starts_with(DIGEST) {
        return None;
    }
    if columns == 1 {
        return Some(vec![id.to_owned()]);
    }
    let mut parts = vec![String::new()];
    let mut characters = id.chars();
    while let Some(character) = characters.next() {
        match character {
            '|' => parts.push(String::new()),
            '\\' => parts.last_mut()?.push(characters.next()?),
            other => parts.last_mut()?.push(other),
        }
    }
    (parts.len() == columns).then_some(parts)
}

impl Document {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_key_is_the_id() {
        assert_eq!(id(&["a|b\\c"]), "a|b\\c");
    }

    #[test]
    fn an_id_is_never_longer_than_elasticsearch_takes() {
        assert_eq!(id(&[&"x".repeat(512)]), "x".repeat(512));
        let long = id(&[&"x".repeat(513)]);
        assert!(long.starts_with("sha256:") && long.len() == 71, "{long}");
        assert_ne!(long, id(&[&"y".repeat(513)]));
    }

    #[test]
    fn a_number_above_a_version_makes_a_greater_one() {
        for there in [0, 1, version(7), version(7) + 1, version(8) - 1, 1_795_000_000_000_000] {
            assert!(version(number_above(there)) > there, "{there}");
        }
    }

    proptest! {
        #[test]
        fn different_keys_have_different_ids(a in "[ab|\\\\]{0,4}", b in "[ab|\\\\]{0,4}", c in "[ab|\\\\]{0,4}", d in "[ab|\\\\]{0,4}") {
            prop_assert_eq!(id(&[&a, &b]) == id(&[&c, &d]), (a, b) == (c, d));
        }

        #[test]
        fn an_id_tells_its_key(a in "[ab|\\\\]{0,4}", b in "[ab|\\\\]{0,4}") {
            prop_assert_eq!(key(&id(&[&a, &b]), 2), Some(vec![a.clone(), b]));
            prop_assert_eq!(key(&id(&[&a]), 1), Some(vec![a]));
        }
    }
}
