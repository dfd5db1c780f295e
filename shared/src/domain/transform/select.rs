//! `select`: which columns go on.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Configured, Outcome, RowDocument, RowTransform, SourceColumn, Transform, TransformKind, column, columns_schema,
    options, some_columns,
};

pub(super) const KIND: TransformKind = TransformKind {
    name: "select",
    description: "Keeps the named columns and leaves out all others, or the reverse",
    schema,
    configure,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    keep: Option<Vec<String>>,
    remove: Option<Vec<String>>,
}

#[derive(Debug)]
struct Select {
    keeps: bool,
    named: BTreeSet<String>,
    /// What leaves the row, once it is known what arrives.
    removed: Vec<String>,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "oneOf": [{"required": ["keep"]}, {"required": ["remove"]}],
        "properties": {
            "keep": columns_schema("Columns that go on; all others are left out"),
            "remove": columns_schema("Columns that are left out; all others go on")
        }
    })
}

fn configure(given: &Map<String, Value>) -> Result<Configured, String> {
    let (keeps, named) = match options(given)? {
        Options { keep: Some(named), remove: None } => (true, named),
        Options { keep: None, remove: Some(named) } => (false, named),
        Options { .. } => return Err("give either `keep` or `remove`".to_owned()),
    };
    some_columns(named.iter())?;
    Ok(Configured::Row(Box::new(Select { keeps, named: named.into_iter().collect(), removed: Vec::new() })))
}

impl Select {
    fn goes_on(&self, name: &str) -> bool {
        self.named.contains(name) == self.keeps
    }
}

impl Transform for Select {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for name in &self.named {
            column(columns, name)?;
        }
        if !columns.iter().any(|column| self.goes_on(&column.name)) {
            return Err("remove: no column is left".to_owned());
        }
        columns.retain(|column| self.goes_on(&column.name));
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        if self.keeps { Vec::new() } else { self.named.iter().map(String::as_str).collect() }
    }

    fn is_pure(&self) -> bool {
        true
    }
}

impl RowTransform for Select {
    fn prepare(&mut self, columns: &[SourceColumn]) -> Result<(), String> {
        let names = columns.iter().map(|column| &column.name);
        self.removed = names.filter(|name| !self.goes_on(name)).cloned().collect();
        Ok(())
    }

    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String> {
        self.removed.iter().for_each(|name| row.remove(name));
        Ok(Outcome::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{applied, column, configure};
    use super::*;

    #[test]
    fn columns_are_kept_or_removed_by_name() {
        let columns = [column("id", "bigint"), column("a", "text"), column("b", "text")];
        for (options, left) in
            [(json!({"keep": ["id", "b"]}), r#"{"b":"y","id":1}"#), (json!({"remove": ["b"]}), r#"{"a":"x","id":1}"#)]
        {
            let mut select = configure("select", options).expect("a select");
            let row = applied(&mut select, &columns, r#"{"a":"x","b":"y","id":1}"#);
            assert_eq!(row, Ok(Some(left.to_owned())));
        }
    }

    #[test]
    fn one_of_both_is_given_and_leaves_something() {
        for options in [json!({}), json!({"keep": ["a"], "remove": ["b"]})] {
            assert!(configure("select", options).expect_err("not one").contains("either `keep` or `remove`"));
        }
        assert!(configure("select", json!({"keep": []})).expect_err("empty").contains("at least one"));
        let select = configure("select", json!({"remove": ["a"]})).expect("a select");
        assert!(
            select.columns(&mut vec![column("a", "text")]).expect_err("nothing left").contains("no column is left")
        );
        assert!(select.columns(&mut vec![column("b", "text")]).expect_err("absent").contains("there is b"));
    }
}
