//! Whether documents say the same, however each is written.
//!
//! Elasticsearch returns a document that was indexed byte by byte, and one that was updated written anew: with its numbers
//! as doubles and its fields in another order. So values are compared and not their text. A null field is as good as none.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use serde_json::value::RawValue;

/// How deep values are looked into. What is nested deeper counts by its text.
const DEEPEST: u32 = 64;

/// The fields of a document, each still in its JSON text.
pub type DocumentFields<'a> = BTreeMap<String, &'a RawValue>;

/// A number that is the same for documents with the same values in these fields, and hardly for others.
pub fn fingerprint(document: &str, fields: &[String]) -> i64 {
    let mut hasher = DefaultHasher::new();
    match serde_json::from_str::<DocumentFields<'_>>(document) {
        Err(_) => hash_text(document, &mut hasher),
        Ok(found) => {
            for field in fields {
                let Some(value) = found.get(field).filter(|value| value.get() != "null") else { continue };
                field.hash(&mut hasher);
                hash_value(value.get(), 0, &mut hasher);
            }
        }
    }
    hasher.finish().cast_signed()
}

/// Whether two values, in their JSON texts, are the same.
pub fn same_value(one: &str, other: &str) -> bool {
    let hash = |text: &str| {
        let mut hasher = DefaultHasher::new();
        hash_value(text, 0, &mut hasher);
        hasher.finish()
    };
    hash(one) == hash(other)
}

fn hash_value(text: &str, depth: u32, hasher: &mut DefaultHasher) {
    let known = match text.as_bytes().first() {
        Some(b'{') if depth < DEEPEST => hash_object(text, depth, hasher),
        Some(b'[') if depth < DEEPEST => hash_array(text, depth, hasher),
        Some(b'"') => serde_json::from_str::<String>(text).map(|string| string.hash(hasher)).is_ok(),
        Some(b'-' | b'0'..=b'9') => hash_number(text, hasher),
        Some(_) | None => false,
    };
    if !known {
        hash_text(text, hasher);
    }
}

fn hash_object(text: &str, depth: u32, hasher: &mut DefaultHasher) -> bool {
    let Ok(members) = serde_json::from_str::<DocumentFields<'_>>(text) else { return false };
    ('{', members.len()).hash(hasher);
    for (name, value) in members {
        name.hash(hasher);
        hash_value(value.get(), depth + 1, hasher);
    }
    true
}

fn hash_array(text: &str, depth: u32, hasher: &mut DefaultHasher) -> bool {
    let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(text) else { return false };
    ('[', elements.len()).hash(hasher);
    for element in elements {
        hash_value(element.get(), depth + 1, hasher);
    }
    true
}

/// A whole number by its digits, any other as the double that Elasticsearch makes of it.
fn hash_number(text: &str, hasher: &mut DefaultHasher) -> bool {
    if let Ok(whole) = text.parse::<i128>() {
        ('n', whole).hash(hasher);
        return true;
    }
    let Ok(number) = text.parse::<f64>() else { return false };
    if number.fract() == 0.0 && number.abs() < 1e38 {
        ('n', number as i128).hash(hasher);
    } else {
        ('f', number.to_bits()).hash(hasher);
    }
    true
}

/// What cannot be read (half a surrogate pair) was written as it is, without its line breaks.
fn hash_text(text: &str, hasher: &mut DefaultHasher) {
    for byte in text.bytes() {
        hasher.write_u8(if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(document: &str) -> i64 {
        fingerprint(document, &["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn documents_that_say_the_same_have_one_fingerprint() {
        for (one, other) in [
            (r#"{"a":1,"b":"x"}"#, r#"{ "b" : "\u0078", "a" : 1.0 }"#),
            (r#"{"a":12345678901234567890.123456789}"#, r#"{"a":1.2345678901234567E19}"#),
            (r#"{"a":0.10}"#, r#"{"a":1e-1,"b":null}"#),
            (r#"{"a":{"y":[1,2.50],"x":null}}"#, r#"{"a":{"x":null,"y":[1.0,2.5]},"other":1}"#),
            ("{\"a\":{\"half\":\"\\ud800\",\n\"b\":1}}", "{\"a\":{\"half\":\"\\ud800\", \"b\":1}}"),
        ] {
            assert_eq!(of(one), of(other), "{one} and {other}");
        }
    }

    #[test]
    fn documents_that_do_not_have_others() {
        let documents = [
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"b":1}"#,
            r#"{"a":[1]}"#,
            r#"{"a":[]}"#,
            r#"{"a":{}}"#,
            r#"{"a":{"x":null}}"#,
            r#"{"a":9007199254740993}"#,
            r#"{"a":9007199254740992}"#,
            r#"{"a":true}"#,
            r#"{"a":"true"}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud801"}"#,
            "{}",
        ];
        for (place, one) in documents.iter().enumerate() {
            for other in &documents[..place] {
                assert_ne!(of(one), of(other), "{one} and {other}");
            }
        }
    }
}
