//! `mask`: hides text, all of it or all but its end.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, column, options};
use crate::domain::bounds::{MAX_NAME_BYTES, MAX_NAMES, names_problem};

pub(super) const KIND: TransformKind = TransformKind {
    name: "mask",
    description: "Replaces the characters of text columns by `*`, all of them or all but the last few",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mask {
    columns: Vec<String>,
    #[serde(default)]
    show_last: usize,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns"],
        "properties": {
            "columns": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_NAMES,
                "items": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES},
                "description": "Text columns to hide"
            },
            "show_last": {"type": "integer", "minimum": 0, "default": 0, "description": "How many characters stay readable"}
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let mask: Mask = options(given)?;
    if mask.columns.is_empty() {
        return Err("columns: name at least one column".to_owned());
    }
    if let Some(problem) = names_problem(mask.columns.iter()) {
        return Err(problem);
    }
    Ok(Configured::Row(Box::new(mask)))
}

impl Transform for Mask {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for name in &self.columns {
            let found = column(columns, name)?;
            if !found.own_type().can_be_masked() {
                return Err(format!("column `{name}` is {}: only text can be masked, cast it", found.type_name));
            }
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

impl RowTransform for Mask {
    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        for name in &self.columns {
            if let Some(text) = row.text(name)? {
                row.set_text(name, &self.hide(&text))?;
            }
        }
        Ok(Outcome::Kept)
    }
}

impl Mask {
    fn hide(&self, text: &str) -> String {
        let hidden = text.chars().count().saturating_sub(self.show_last);
        text.chars().enumerate().map(|(place, c)| if place < hidden { '*' } else { c }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{column, configure};
    use super::*;

    #[test]
    fn all_but_the_last_characters_are_hidden_and_null_stays_null() {
        let mask = configure("mask", json!({"columns": ["mail", "none"], "show_last": 2})).expect("a mask");
        let mut row = RowDocument::parse(r#"{"id":1,"mail":"äöü@x","none":null}"#).expect("a row");
        mask.apply(&mut row).expect("masked");
        assert_eq!(row.to_text().expect("text"), r#"{"id":1,"mail":"***@x","none":null}"#);
    }

    #[test]
    fn only_text_columns_that_are_there_can_be_masked() {
        let mask = configure("mask", json!({"columns": ["mail"]})).expect("a mask");
        assert_eq!(mask.columns(&mut vec![column("mail", "character varying(20)")]), Ok(()));
        assert!(mask.columns(&mut vec![column("mail", "integer")]).expect_err("integer").contains("only text"));
        assert!(mask.columns(&mut vec![column("name", "text")]).expect_err("absent").contains("there is name"));
        assert!(configure("mask", json!({"columns": []})).expect_err("empty").contains("at least one"));
        assert!(configure("mask", json!({"columns": vec!["a"; 201]})).expect_err("many").contains("at most 200"));
        assert!(configure("mask", json!({"columns": ["a".repeat(64)]})).expect_err("long").contains("1 to 63 bytes"));
    }
}
