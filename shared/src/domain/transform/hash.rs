//! `hash`: replaces values by pseudonyms that only the holder of a key can make. The worker has the key, and so the code
//! (`worker/src/step/hash.rs`); here is what the step declares.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Configured, SourceColumn, Transform, TransformKind, column, columns_schema, options, some_columns};
use crate::domain::column_type::{Scalar, ScalarType};

/// Longest name of a pool of keys.
const MAX_POOL: usize = 63;

pub(super) const KIND: TransformKind = TransformKind {
    name: "hash",
    description: "Replaces values by pseudonyms: their HMAC-SHA-256 with a key from the worker's environment",
    schema,
    configure,
};

/// The options of `hash`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    pub columns: Vec<String>,
    /// The key is the value of `VITRINA_KEYS_<POOL>`.
    pub pool: String,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns", "pool"],
        "properties": {
            "columns": columns_schema("Text, whole number and uuid columns to replace; they become text"),
            "pool": {
                "type": "string",
                "pattern": "^[A-Z][A-Z0-9_]{0,62}$",
                "description": "The key is the value of the variable VITRINA_KEYS_<pool> in the worker's environment"
            }
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    Ok(Configured::Worker(Box::new(Hash::of(given)?)))
}

impl Hash {
    /// Checks options.
    pub fn of(given: &Map<String, Value>) -> Result<Self, String> {
        let hash: Self = options(given)?;
        some_columns(hash.columns.iter())?;
        check_pool(&hash.pool)?;
        Ok(hash)
    }
}

/// Whether a pool of keys can have this name.
pub fn check_pool(pool: &str) -> Result<(), String> {
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = pool.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    if !begins || pool.len() > MAX_POOL || !pool.bytes().all(is_name) {
        return Err(format!(
            "pool: a name of 1 to {MAX_POOL} capital letters, digits and `_` that begins with a letter"
        ));
    }
    Ok(())
}

impl Transform for Hash {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        let text = ScalarType::named("text").ok_or("there is no type text")?;
        for name in &self.columns {
            let found = column(columns, name)?;
            let scalar = found.value_type().scalar();
            let is_exact = matches!(
                scalar,
                Some(Scalar::Text | Scalar::Smallint | Scalar::Integer | Scalar::Bigint | Scalar::Uuid)
            );
            if !is_exact {
                return Err(format!(
                    "column `{name}` is {}: only text, whole numbers and uuids are hashed, because equal values of them read the same",
                    found.type_name
                ));
            }
            let nullable = found.nullable;
            *found = SourceColumn { nullable, ..SourceColumn::made(name, text) };
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    fn is_pure(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::column;
    use super::*;

    fn hash(options: &Value) -> Result<Hash, String> {
        Hash::of(options.as_object().expect("options are an object"))
    }

    #[test]
    fn a_hashed_column_is_text_and_was_of_a_type_whose_equal_values_read_the_same() {
        let step = hash(&json!({"columns": ["a"], "pool": "PEOPLE"})).expect("a hash");
        for (type_name, can) in
            [("bigint", true), ("uuid", true), ("text", true), ("citext", false), ("numeric", false), ("jsonb", false)]
        {
            let mut columns = vec![column("a", type_name)];
            assert_eq!(step.columns(&mut columns).is_ok(), can, "{type_name}");
            assert!(!can || columns[0].type_name == "text", "{type_name}");
        }
    }

    #[test]
    fn a_pool_has_the_name_of_a_variable() {
        for pool in ["", "people", "A B", "1A", "_A", &"A".repeat(64)] {
            assert!(hash(&json!({"columns": ["a"], "pool": pool})).expect_err(pool).starts_with("pool: "), "{pool}");
        }
        assert!(hash(&json!({"columns": ["a"], "pool": "EU_1"})).is_ok());
    }
}
