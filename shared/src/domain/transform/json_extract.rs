//! `json_extract`: makes columns of what a json column has inside.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, by_column_schema, column,
    options,
    pointer::{Extracted, Wanted, extracted, wanted_schema},
    some_columns,
};
use crate::domain::{bounds::MAX_NAME_BYTES, column_type::Scalar};

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

#[derive(Debug)]
struct Extract {
    from: String,
    columns: Vec<Extracted>,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["column", "columns"],
        "properties": {
            "column": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "description": "The json column"},
            "columns": by_column_schema(&wanted_schema(), "The new columns; NULL where the path leads to nothing")
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let Options { column, columns } = options(given)?;
    some_columns(columns.keys())?;
    some_columns([&column].into_iter()).map_err(|refusal| refusal.replacen("columns", "column", 1))?;
    let columns = extracted(columns)?;
    Ok(Configured::Row(Box::new(Extract { from: column, columns })))
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
        for column in &self.columns {
            let json = column.read(row.raw(&self.from).unwrap_or("null"))?;
            row.set_json(&column.name, json)?;
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
    fn a_document_that_cannot_be_read_rejects_its_row() {
        for (doc, path) in [
            (r#"{"\ud800":1,"a":2}"#, "/a"),
            (r#"{"a":{"\udfff\ud800":1,"b":2}}"#, "/a/b"),
            (r#"[{"\ud800":1}]"#, "/0/x"),
        ] {
            let mut extract = extract(path, "bigint").expect(path);
            let refusal = applied(&mut extract, &[column("doc", "json")], &format!(r#"{{"doc":{doc}}}"#));
            assert_eq!(refusal, Err("column `new`: the json has a name that cannot be read".to_owned()), "{path}");
        }
        let mut past = extract("/a/b", "bigint").expect("an extract");
        let row = applied(&mut past, &[column("doc", "json")], r#"{"doc":{"a":[{"\ud800":1}]}}"#);
        assert_eq!(row, Ok(Some(r#"{"doc":{"a":[{"\ud800":1}]},"new":null}"#.to_owned())));
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
