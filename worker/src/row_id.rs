//! The id of a row, made of the values of its key: what external sinks keep it under, and what it is compared by.

use sha2::{Digest, Sha256};

/// Ids have at most this many bytes: Elasticsearch takes no longer ones.
pub const MAX_ID_BYTES: usize = 512;
/// Begins an id that is a digest.
pub const DIGEST: &str = "sha256:";

/// The id of a row by its key; empty, which is refused by name, where a part of the key is NULL. A key of one column stands as it
/// is; the parts of a longer one are joined by `|`, with `\` before every `|` and `\` in them, so that no two keys have one id.
/// What is longer than [`MAX_ID_BYTES`] is replaced by its digest; the key itself is in the row all the same.
pub fn id_of_row(key: &[Option<String>]) -> String {
    if let [single] = key {
        return single.clone().map(shortened).unwrap_or_default();
    }
    let escaped = |part: &Option<String>| Some(part.as_ref()?.replace('\\', "\\\\").replace('|', "\\|"));
    let parts: Option<Vec<String>> = key.iter().map(escaped).collect();
    parts.map(|parts| shortened(parts.join("|"))).unwrap_or_default()
}

fn shortened(joined: String) -> String {
    if joined.len() <= MAX_ID_BYTES {
        return joined;
    }
    let hex: String = digest(&joined).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{DIGEST}{hex}")
}

/// What two texts that differ do not share.
pub fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(key: &[&str]) -> String {
        id_of_row(&key.iter().map(|part| Some((*part).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn a_single_key_is_the_id() {
        assert_eq!(id(&["a|b\\c"]), "a|b\\c");
    }

    #[test]
    fn an_id_is_never_longer_than_a_sink_takes() {
        assert_eq!(id(&[&"x".repeat(512)]), "x".repeat(512));
        let long = id(&[&"x".repeat(513)]);
        assert!(long.starts_with("sha256:") && long.len() == 71, "{long}");
        assert_ne!(long, id(&[&"y".repeat(513)]));
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
