//! `rename`: gives columns the names that the target has.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, column, options};
use crate::domain::bounds::{MAX_NAME_BYTES, MAX_NAMES, names_problem};

pub(super) const KIND: TransformKind =
    TransformKind { name: "rename", description: "Gives columns other names", schema, configure };

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    columns: BTreeMap<String, String>,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns"],
        "properties": {
            "columns": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": MAX_NAMES,
                "propertyNames": {"minLength": 1, "maxLength": MAX_NAME_BYTES},
                "additionalProperties": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES},
                "description": "The new name of each column"
            }
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let rename: Rename = options(given)?;
    let to: BTreeSet<_> = rename.columns.values().collect();
    if rename.columns.is_empty() {
        return Err("columns: name at least one column".to_owned());
    }
    if let Some(problem) = names_problem(rename.columns.keys()).or_else(|| names_problem(rename.columns.values())) {
        return Err(problem);
    }
    if to.len() < rename.columns.len() {
        return Err("columns: two columns cannot get the same name".to_owned());
    }
    if let Some(both) = to.into_iter().find(|name| rename.columns.contains_key(*name)) {
        return Err(format!("columns: `{both}` is both an old and a new name: use two steps"));
    }
    Ok(Configured::Row(Box::new(rename)))
}

impl Transform for Rename {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for (from, to) in &self.columns {
            if columns.iter().any(|column| &column.name == to) {
                return Err(format!("there is a column `{to}` already"));
            }
            column(columns, from)?.name.clone_from(to);
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        self.columns.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect()
    }

    fn is_pure(&self) -> bool {
        true
    }
}

impl RowTransform for Rename {
    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        for (from, to) in &self.columns {
            row.rename(from, to);
        }
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{column, configure};
    use super::*;

    #[test]
    fn a_renamed_column_keeps_its_value_and_type() {
        let rename = configure("rename", json!({"columns": {"title": "name"}})).expect("a rename");
        let mut columns = vec![column("id", "bigint"), column("title", "text")];
        rename.columns(&mut columns).expect("renamed");
        assert_eq!(columns, [column("id", "bigint"), column("name", "text")]);
        let mut row = RowDocument::parse(r#"{"id":1,"title":1.50}"#).expect("a row");
        rename.apply(&mut row).expect("renamed");
        assert_eq!(row.to_text().expect("text"), r#"{"id":1,"name":1.50}"#);
    }

    #[test]
    fn names_that_clash_are_refused() {
        for columns in [json!({"a": "c", "b": "c"}), json!({"a": "b", "b": "c"}), json!({})] {
            assert!(configure("rename", json!({ "columns": columns })).is_err(), "{columns}");
        }
        let many: BTreeMap<String, String> = (0..201).map(|n| (format!("a{n}"), format!("b{n}"))).collect();
        assert!(configure("rename", json!({ "columns": many })).expect_err("many").contains("at most 200"));
        for columns in [json!({"a": "b".repeat(64)}), json!({"a".repeat(64): "b"}), json!({"a": ""})] {
            assert!(configure("rename", json!({ "columns": columns })).expect_err("long").contains("1 to 63 bytes"));
        }
        let rename = configure("rename", json!({"columns": {"a": "b"}})).expect("a rename");
        let refusal = rename.columns(&mut vec![column("a", "text"), column("b", "text")]).expect_err("taken");
        assert!(refusal.contains("already"), "{refusal}");
    }
}
