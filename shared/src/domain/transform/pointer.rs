//! Values inside of JSON, each found by a JSON pointer (RFC 6901), that become columns.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{named_type, value::fit};
use crate::domain::column_type::{Scalar, ScalarType};

const MAX_PATH_BYTES: usize = 1000;
/// Names and places of a path.
const MAX_PATH: usize = 64;

/// A new column, as options say it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    path: String,
    #[serde(rename = "type")]
    made: String,
}

#[derive(Debug, Clone)]
pub struct Extracted {
    pub name: String,
    path: Vec<String>,
    pub(super) made: &'static ScalarType,
}

pub(super) fn wanted_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path", "type"],
        "properties": {
            "path": {
                "type": "string",
                "pattern": "^(/[^/]*)+$",
                "maxLength": MAX_PATH_BYTES,
                "description": "A JSON pointer: /address/city is the city of the address, /tags/0 the first tag"
            },
            "type": {"enum": ScalarType::all_names().collect::<Vec<_>>(), "description": "The type of the new column"}
        }
    })
}

/// Checks the new columns of options.
pub(super) fn extracted(columns: BTreeMap<String, Wanted>) -> Result<Vec<Extracted>, String> {
    let extracted = columns.into_iter().map(|(name, wanted)| {
        let of_column = |refusal: String| format!("columns.{name}: {refusal}");
        let path = path(&wanted.path).map_err(of_column)?;
        let made = named_type(&wanted.made).map_err(of_column)?;
        Ok(Extracted { name: name.clone(), path, made })
    });
    extracted.collect()
}

impl Extracted {
    /// The column's value in a document, as JSON of its type; NULL where the path leads to nothing.
    pub fn read(&self, document: &str) -> Result<String, String> {
        let found = find(document, &self.path).map_err(|unreadable| format!("column `{}`: {unreadable}", self.name))?;
        let json = match (found, self.made.scalar) {
            (None, _) => Some("null".to_owned()),
            (Some(raw), Scalar::Json) => Some(raw.to_owned()),
            (Some(raw), scalar) => fit(raw, scalar),
        };
        json.ok_or_else(|| format!("column `{}` gets a value that is no {}", self.name, self.made.name))
    }
}

/// The names of a JSON pointer (RFC 6901).
pub(super) fn path(pointer: &str) -> Result<Vec<String>, String> {
    let names = pointer.strip_prefix('/').ok_or("a path is a JSON pointer, like /address/city")?;
    let names: Vec<_> = names.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    if pointer.len() > MAX_PATH_BYTES || names.len() > MAX_PATH {
        return Err(format!("a path has at most {MAX_PATH} names and {MAX_PATH_BYTES} bytes"));
    }
    Ok(names)
}

/// A document in which nothing can be found. `json` takes names and texts that are none, such as half of a surrogate pair.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the json has a name that cannot be read")]
pub struct Unreadable;

/// What the path leads to. A value keeps the text that it was written in; of two fields of one name the last counts.
pub(super) fn find<'a>(raw: &'a str, path: &[String]) -> Result<Option<&'a str>, Unreadable> {
    let [name, rest @ ..] = path else { return Ok(Some(raw)) };
    let inner: Option<&'a RawValue> = match raw.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(raw).map_err(|_| Unreadable)?;
            fields.get(name.as_str()).copied()
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| Unreadable)?;
            place(name).and_then(|place| elements.get(place).copied())
        }
        Some(_) | None => None,
    };
    inner.map_or(Ok(None), |inner| find(inner.get(), rest))
}

/// A place in a list, as a path has it.
fn place(name: &str) -> Option<usize> {
    let is_place = name == "0" || !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit());
    is_place.then(|| name.parse().ok())?
}
