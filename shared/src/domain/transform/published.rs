//! A step that workers bring with them, as they say of it. Its code is with them: here it can be checked and not executed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Configured, SourceColumn, Transform, column, schema};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedStep {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub options_schema: Value,
    /// The columns that it adds or changes.
    pub columns: Vec<PublishedColumn>,
    #[serde(default)]
    pub removes: Vec<String>,
    /// Further columns that it reads.
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default)]
    pub per_row: bool,
    #[serde(default)]
    pub is_pure: bool,
    /// Tells its code from any other.
    #[serde(default)]
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedColumn {
    pub name: String,
    /// As `format_type` writes it.
    pub type_name: String,
    pub type_oid: u32,
}

impl PublishedStep {
    /// Checks options, or says what is wrong with them.
    pub(super) fn configure(self: &Arc<Self>, options: &Map<String, Value>) -> Result<Configured, String> {
        schema::check(&self.options_schema, options)?;
        Ok(Configured::Worker(Box::new(Published(self.clone()))))
    }
}

#[derive(Debug)]
struct Published(Arc<PublishedStep>);

impl Transform for Published {
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String> {
        for name in self.0.needs.iter().chain(&self.0.removes) {
            column(columns, name)?;
        }
        columns.retain(|column| !self.0.removes.contains(&column.name));
        for PublishedColumn { name, type_name, type_oid } in &self.0.columns {
            let set = SourceColumn {
                name: name.clone(),
                type_oid: *type_oid,
                type_name: type_name.clone(),
                ..SourceColumn::default()
            };
            match columns.iter_mut().find(|column| column.name == *name) {
                Some(column) => *column = set,
                None => columns.push(set),
            }
        }
        Ok(())
    }

    fn touches(&self) -> Vec<&str> {
        let set = self.0.columns.iter().map(|column| column.name.as_str());
        set.chain(self.0.removes.iter().map(String::as_str)).collect()
    }

    fn is_pure(&self) -> bool {
        self.0.is_pure
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step() -> Arc<PublishedStep> {
        Arc::new(PublishedStep {
            name: "slug".to_owned(),
            description: String::new(),
            options_schema: json!({"type": "object", "properties": {"sign": {"type": "string"}}}),
            columns: vec![PublishedColumn { name: "slug".to_owned(), type_name: "text".to_owned(), type_oid: 25 }],
            removes: vec!["secret".to_owned()],
            needs: vec!["title".to_owned()],
            per_row: true,
            is_pure: true,
            version: "1".to_owned(),
        })
    }

    fn configured(options: Value) -> Result<Configured, String> {
        let Value::Object(options) = options else { panic!("options are an object") };
        step().configure(&options)
    }

    #[test]
    fn columns_are_added_changed_and_removed_as_declared() {
        let column = super::super::tests::column;
        let step = configured(json!({})).expect("options");
        let mut columns = vec![column("title", "text"), column("slug", "integer"), column("secret", "text")];
        step.declared().columns(&mut columns).expect("columns");
        let found: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.type_name.as_str())).collect();
        assert_eq!(found, [("title", "text"), ("slug", "text")]);
        assert_eq!(step.declared().touches(), ["slug", "secret"]);
        for lacking in [vec![column("title", "text")], vec![column("secret", "text")]] {
            let refusal = step.declared().columns(&mut lacking.clone()).expect_err("a column is missing");
            assert!(refusal.starts_with("there is no column"), "{refusal}");
        }
    }

    #[test]
    fn options_are_checked_against_the_schema() {
        let refusal = configured(json!({"sign": 1})).expect_err("a number");
        assert_eq!(refusal, "sign: is a string, not a number");
    }
}
