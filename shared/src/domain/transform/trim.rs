//! `trim`: removes what surrounds texts.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, column, columns_schema,
    options, some_columns,
};

/// Most characters that an option names.
const MAX_CHARACTERS: usize = 100;

pub(super) const KIND: TransformKind = TransformKind {
    name: "trim",
    description: "Removes white space, or other characters, from the beginning and the end of text columns",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trim {
    columns: Vec<String>,
    #[serde(default)]
    side: Side,
    characters: Option<String>,
    #[serde(default)]
    empty_as_null: bool,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Left,
    Right,
    #[default]
    Both,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["columns"],
        "properties": {
            "columns": columns_schema("Text columns to trim"),
            "side": {"enum": ["left", "right", "both"], "default": "both", "description": "Where characters are removed"},
            "characters": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_CHARACTERS,
                "description": "The characters that are removed; white space if it is left out"
            },
            "empty_as_null": {"type": "boolean", "default": false, "description": "Whether a text that is empty then becomes NULL"}
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let trim: Trim = options(given)?;
    some_columns(trim.columns.iter())?;
    let count = trim.characters.as_ref().map_or(1, |characters| characters.chars().count());
    if !(1..=MAX_CHARACTERS).contains(&count) {
        return Err(format!("characters: 1 to {MAX_CHARACTERS} characters"));
    }
    Ok(Configured::Row(Box::new(trim)))
}

impl Trim {
    fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        let goes = |c: char| self.characters.as_ref().map_or(c.is_whitespace(), |characters| characters.contains(c));
        match self.side {
            Side::Left => text.trim_start_matches(goes),
            Side::Right => text.trim_end_matches(goes),
            Side::Both => text.trim_matches(goes),
        }
    }
}

impl Transform for Trim {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for name in &self.columns {
            let found = column(columns, name)?;
            if !found.own_type().can_be_masked() {
                return Err(format!("column `{name}` is {}: only text can be trimmed, cast it", found.type_name));
            }
            if self.empty_as_null {
                found.nullable = None;
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

impl RowTransform for Trim {
    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        for name in &self.columns {
            let Some(text) = row.text(name)? else { continue };
            match self.trimmed(&text) {
                "" if self.empty_as_null => row.set_null(name),
                trimmed => row.set_text(name, trimmed)?,
            }
        }
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    #[test]
    fn texts_are_trimmed_on_the_side_and_of_the_characters_that_the_options_name() {
        let columns = [column("a", "text"), column("b", "text")];
        for (options, expected) in [
            (json!({"columns": ["a", "b"]}), r#"{"a":"x-","b":""}"#),
            (json!({"columns": ["a", "b"], "empty_as_null": true}), r#"{"a":"x-","b":null}"#),
            (json!({"columns": ["a"], "side": "left"}), r#"{"a":"x- ","b":"  "}"#),
            (json!({"columns": ["a"], "side": "right", "characters": "- "}), r#"{"a":" \tx","b":"  "}"#),
        ] {
            let mut trim = configure("trim", options.clone()).expect("a trim");
            let row = applied(&mut trim, &columns, r#"{"a":" \tx- ","b":"  "}"#);
            assert_eq!(row, Ok(Some(expected.to_owned())), "{options}");
        }
    }

    #[test]
    fn only_texts_are_trimmed_and_of_a_bounded_list_of_characters() {
        let trim = configure("trim", json!({"columns": ["a"]})).expect("a trim");
        assert!(trim.columns(&mut vec![column("a", "integer")]).expect_err("integer").contains("only text"));
        for characters in [String::new(), "x".repeat(MAX_CHARACTERS + 1)] {
            let options = json!({"columns": ["a"], "characters": characters});
            assert!(configure("trim", options).expect_err("characters").contains("1 to 100"));
        }
        assert!(configure("trim", json!({"columns": ["a"], "side": "top"})).expect_err("side").contains("side"));
    }
}
