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
        let json = match (find(document, &self.path), self.made.scalar) {
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

/// What the path leads to. A value keeps the text that it was written in; of two fields of one name the last counts.
pub(super) fn find<'a>(raw: &'a str, path: &[String]) -> Option<&'a str> {
    let [name, rest @ ..] = path else { return Some(raw) };
    let inner: &'a RawValue = match raw.as_bytes().first()? {
        b'{' => serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(raw).ok()?.remove(name.as_str())?,
        b'[' => {
            let is_place = name == "0" || !name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit());
            let place: usize = if is_place { name.parse().ok()? } else { return None };
            serde_json::from_str::<Vec<&RawValue>>(raw).ok()?.get(place).copied()?
        }
        _ => return None,
    };
    find(inner.get(), rest)
}
