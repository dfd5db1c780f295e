//! Transforms: code of this deployment that changes rows between the reader and the sink.
//!
//! A plan names a transform and gives it options. [`find`] looks the name up, [`TransformKind::configure`] checks the
//! options, and [`Transform`] says what becomes of columns and rows. Adding one is a file here and a line in
//! [`REGISTERED`]: neither the API nor the worker knows any by name.

mod document;
mod mask;
mod rename;

use serde_json::{Map, Value};

use super::{SourceColumn, Task, TaskKind};

pub use document::{Document, NotADocument};

/// A row's columns, changed one row at a time. Pure: the same row gives the same result, however often it is repeated.
pub trait Transform: std::fmt::Debug + Send + Sync {
    /// What becomes of the columns, or why that is impossible. Called before any row, and where a pipeline is checked.
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String>;

    /// The columns that it changes, adds or removes. A target's key must not be among them.
    fn touches(&self) -> Vec<&str>;

    /// What becomes of a row, or what is wrong with it.
    fn apply(&self, row: &mut Document) -> Result<(), String>;
}

/// A transform, or what is wrong with its options.
pub type Configured = Result<Box<dyn Transform>, String>;

/// A transform that a plan may name.
#[derive(Debug)]
pub struct TransformKind {
    /// What a plan calls it.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON schema of its options.
    pub schema: fn() -> Value,
    /// Checks options and makes the transform.
    pub configure: fn(&Map<String, Value>) -> Configured,
}

/// The transforms of this deployment. Code never comes from the database or over the API.
pub const REGISTERED: &[TransformKind] = &[mask::KIND, rename::KIND];

/// The transform of that name.
pub fn find(name: &str) -> Option<&'static TransformKind> {
    REGISTERED.iter().find(|kind| kind.name == name)
}

/// The names of all transforms, for messages.
pub fn names() -> String {
    REGISTERED.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// A plan's transforms, in order. Steps that [`super::TaskPlan`] has complaints about are left out.
pub fn configured(tasks: &[Task]) -> Vec<Box<dyn Transform>> {
    let steps = tasks.iter().filter(|task| task.task_type != TaskKind::Sql);
    steps.filter_map(|task| find(&task.body).and_then(|kind| (kind.configure)(&task.options).ok())).collect()
}

/// Options, read into a transform; the message names the option that is wrong.
fn options<T: serde::de::DeserializeOwned>(options: &Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(options.clone())).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner();
        if path == "." { message.to_string() } else { format!("{path}: {message}") }
    })
}

/// The column of that name, or who is there instead.
fn column<'a>(columns: &'a mut [SourceColumn], name: &str) -> Result<&'a mut SourceColumn, String> {
    let known = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = columns.iter_mut().find(|column| column.name == name);
    found.ok_or_else(|| format!("there is no column `{name}` at this step; there is {known}"))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub fn configure(name: &str, options: Value) -> Configured {
        let Value::Object(options) = options else { panic!("options are an object") };
        (find(name).expect(name).configure)(&options)
    }

    pub fn column(name: &str, type_name: &str) -> SourceColumn {
        SourceColumn {
            name: name.to_owned(),
            type_oid: 25,
            type_name: type_name.to_owned(),
            declared: None,
            collation: None,
            nullable: None,
        }
    }

    #[test]
    fn every_transform_refuses_options_that_it_does_not_have() {
        for kind in REGISTERED {
            let refusal = configure(kind.name, json!({"colour": "red"})).expect_err(kind.name);
            assert!(refusal.contains("colour"), "{}: {refusal}", kind.name);
        }
    }

    #[test]
    fn every_transform_describes_its_options_as_an_object_without_others() {
        for kind in REGISTERED {
            let schema = (kind.schema)();
            assert_eq!(schema["type"], "object", "{}", kind.name);
            assert_eq!(schema["additionalProperties"], false, "{}", kind.name);
        }
    }
}
