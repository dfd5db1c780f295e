//! `json_extract`: makes columns of what a json column has inside.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, by_column_schema, column,
    named_type, options, some_columns, value::fit,
};
use crate::domain::{
    bounds::MAX_NAME_BYTES,
    column_type::{Scalar, ScalarType},
};

const MAX_PATH_BYTES: usize = 1000;
/// Names and places of a path.
const MAX_PATH: usize = 64;

pub(super) const KIND: TransformKind = TransformKind {
    name: "json_extract",
    description: "Makes new columns of values inside a json column, each found by its path",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    column: String,
    columns: BTreeMap<String, Wanted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
    #[serde(rename = "type")]
    made: String,
}

#[derive(Debug)]
struct Extract {
    from: String,
    columns: Vec<Extracted>,
}

#[derive(Debug)]
struct Extracted {
    name: String,
    path: Vec<String>,
    made: &'static ScalarType,
}

fn schema() -> Value {
    let wanted = json!({
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
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["column", "columns"],
        "properties": {
            "column": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "description": "The json column"},
            "columns": by_column_schema(&wanted, "The new columns; NULL where the path leads to nothing")
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let Options { column, columns } = options(given)?;
    some_columns(columns.keys())?;
    some_columns([&column].into_iter()).map_err(|refusal| refusal.replacen("columns", "column", 1))?;
    let extracted = columns.into_iter().map(|(name, wanted)| {
        let of_column = |refusal: String| format!("columns.{name}: {refusal}");
        let path = path(&wanted.path).map_err(of_column)?;
        let made = named_type(&wanted.made).map_err(of_column)?;
        Ok(Extracted { name: name.clone(), path, made })
    });
    let columns = extracted.collect::<Result<Vec<_>, String>>()?;
    Ok(Configured::Row(Box::new(Extract { from: column, columns })))
}

/// The names of a JSON pointer (RFC 6901).
fn path(pointer: &str) -> Result<Vec<String>, String> {
    let names = pointer.strip_prefix('/').ok_or("a path is a JSON pointer, like /address/city")?;
    let names: Vec<_> = names.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    if pointer.len() > MAX_PATH_BYTES || names.len() > MAX_PATH {
        return Err(format!("a path has at most {MAX_PATH} names and {MAX_PATH_BYTES} bytes"));
    }
    Ok(names)
}

/// What the path leads to. A value keeps the text that it was written in; of two fields of one name the last counts.
fn find<'a>(raw: &'a str, path: &[String]) -> Option<&'a str> {
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

impl Transform for Extract {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        let found = column(columns, &self.from)?;
        if found.value_type().scalar() != Some(Scalar::Json) {
            return Err(format!("column `{}` is {}, not json", self.from, found.type_name));
        }
        for Extracted { name, made, .. } in &self.columns {
            if columns.iter().any(|column| column.name == *name) {
                return Err(format!("there is a column `{name}` already"));
            }
            columns.push(SourceColumn::made(name, made));
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn is_pure(&self) -> bool {
        true
    }
}

impl RowTransform for Extract {
    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        for Extracted { name, path, made } in &self.columns {
            let found = row.raw(&self.from).and_then(|raw| find(raw, path));
            let json = match (found, made.scalar) {
                (None, _) => Some("null".to_owned()),
                (Some(raw), Scalar::Json) => Some(raw.to_owned()),
                (Some(raw), scalar) => fit(raw, scalar),
            };
            let json = json.ok_or_else(|| format!("column `{name}` gets a value that is no {}", made.name))?;
            row.set_json(name, json)?;
        }
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    fn extract(path: &str, made: &str) -> Result<Box<dyn RowTransform>, String> {
        configure("json_extract", json!({"column": "doc", "columns": {"new": {"path": path, "type": made}}}))
    }

    #[test]
    fn a_path_leads_through_objects_and_lists_and_a_value_keeps_its_digits() {
        let doc = r#"{"a":{"b/c":[{"d":1.10},"7",null]},"x":1,"x":2}"#;
        for (path, made, expected) in [
            ("/a/b~1c/0/d", "numeric", "1.10"),
            ("/a/b~1c/0/d", "text", r#""1.10""#),
            ("/a/b~1c/1", "integer", "7"),
            ("/a/b~1c/2", "integer", "null"),
            ("/a/b~1c/00", "integer", "null"),
            ("/a/b~1c/3", "integer", "null"),
            ("/a/b~1c/0", "jsonb", r#"{"d":1.10}"#),
            ("/a/none/0", "text", "null"),
            ("/x", "bigint", "2"),
            ("/x/y", "bigint", "null"),
        ] {
            let mut extract = extract(path, made).expect(path);
            let row = applied(&mut extract, &[column("doc", "jsonb")], &format!(r#"{{"doc":{doc}}}"#));
            assert_eq!(row, Ok(Some(format!(r#"{{"doc":{doc},"new":{expected}}}"#))), "{path}");
        }
        let mut wrong = extract("/a", "text").expect("an extract");
        let refusal = applied(&mut wrong, &[column("doc", "json")], &format!(r#"{{"doc":{doc}}}"#));
        assert_eq!(refusal.expect_err("an object"), "column `new` gets a value that is no text");
    }

    #[test]
    fn the_source_is_json_and_the_new_column_is_new() {
        let step = extract("/a", "text").expect("an extract");
        assert!(step.columns(&mut vec![column("doc", "text")]).expect_err("text").contains("not json"));
        assert!(
            step.columns(&mut vec![column("doc", "json"), column("new", "text")])
                .expect_err("taken")
                .contains("already")
        );
        for (path, made) in [("a", "text"), ("", "text"), ("/a", "text[]"), (&"/a".repeat(65), "text")] {
            assert!(extract(path, made).expect_err(path).starts_with("columns.new: "), "{path}");
        }
    }
}
