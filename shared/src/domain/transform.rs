//! Transforms: the steps of a plan between its reader and its sink, in code of this deployment.
//!
//! A plan names a transform and gives it options. [`Registry::find`] looks the name up, [`TransformKind::configure`] checks
//! the options, and a [`Transform`] declares what the API and the worker must know before a row moves. A [`RowTransform`] also
//! says what becomes of a row: adding one is a file here and a line in `BUILTIN`. All other transforms are executed by the
//! worker, which adds them to its registry (`worker/src/step.rs`).

mod document;
mod mask;
mod rename;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{SourceColumn, Task, TaskKind};

pub use document::{NotADocument, RowDocument};

/// What is known of a transform with its options before a row moves.
pub trait Transform: std::fmt::Debug + Send + Sync {
    /// What becomes of the columns, or why that is impossible. Called before any row, and where a pipeline is checked.
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String>;

    /// The columns that it changes, adds or removes. A target's key must not be among them.
    fn touches(&self) -> Vec<&str>;

    /// Whether the same rows give the same result and nothing else happens, however often it is executed. Only then previews,
    /// replays and comparisons execute it, and pages are read ahead. A batch that failed executes any transform again.
    fn is_pure(&self) -> bool;

    /// Whether rows may be missing from its result without being rejected. Such a row is not in the target after a full run. An
    /// incremental run would leave there what an earlier one wrote, so pipelines of that mode refuse the transform.
    fn drops_rows(&self) -> bool {
        false
    }
}

/// A transform that is a pure function of one row and drops none.
pub trait RowTransform: Transform {
    /// What becomes of a row, or what is wrong with it.
    fn apply(&self, row: &mut RowDocument) -> Result<(), String>;
}

/// A transform whose options were checked.
#[derive(Debug)]
pub enum Configured {
    /// Executed row by row, by its own function.
    Row(Box<dyn RowTransform>),
    /// Executed by the worker's code of the same name.
    Worker(Box<dyn Transform>),
}

impl Configured {
    pub fn declared(&self) -> &dyn Transform {
        match self {
            Self::Row(transform) => transform.as_ref(),
            Self::Worker(transform) => transform.as_ref(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TransformKind {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: fn() -> Value,
    /// Checks options and makes the transform, or says what is wrong with them.
    pub configure: fn(&Map<String, Value>) -> Result<Configured, String>,
}

/// The transforms that every deployment has.
const BUILTIN: &[TransformKind] = &[mask::KIND, rename::KIND];

/// The transforms of this deployment. Code never comes from the database or over the API.
#[derive(Debug, Clone)]
pub struct Registry(Cow<'static, [TransformKind]>);

impl Default for Registry {
    fn default() -> Self {
        Self(Cow::Borrowed(BUILTIN))
    }
}

impl Registry {
    pub fn with(mut self, kind: TransformKind) -> Self {
        self.0.to_mut().push(kind);
        self
    }

    pub fn kinds(&self) -> &[TransformKind] {
        &self.0
    }

    pub fn find(&self, name: &str) -> Option<&TransformKind> {
        self.0.iter().find(|kind| kind.name == name)
    }

    pub fn names(&self) -> String {
        self.0.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
    }

    /// A plan's transforms and their places, in order. Steps that [`super::task_plan`] has complaints about are left out.
    pub fn configured(&self, tasks: &[Task]) -> Vec<(usize, Configured)> {
        let steps = tasks.iter().enumerate().filter(|(_, task)| task.task_type != TaskKind::Sql);
        let configured = |(place, task): (usize, &Task)| {
            let configured = (self.find(&task.body)?.configure)(&task.options).ok()?;
            Some((place, configured))
        };
        steps.filter_map(configured).collect()
    }
}

/// Options, read into a transform; the message names the option that is wrong.
fn options<T: serde::de::DeserializeOwned>(options: &Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(options.clone())).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner();
        if path == "." { message.to_string() } else { format!("{path}: {message}") }
    })
}

/// The column of that name, or a message with the columns that are there.
fn column<'a>(columns: &'a mut [SourceColumn], name: &str) -> Result<&'a mut SourceColumn, String> {
    let known = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = columns.iter_mut().find(|column| column.name == name);
    found.ok_or_else(|| format!("there is no column `{name}` at this step; there is {known}"))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub fn configure(name: &str, options: Value) -> Result<Box<dyn RowTransform>, String> {
        let Value::Object(options) = options else { panic!("options are an object") };
        match (Registry::default().find(name).expect(name).configure)(&options)? {
            Configured::Row(transform) => Ok(transform),
            Configured::Worker(transform) => panic!("{transform:?} is no function of a row"),
        }
    }

    pub fn column(name: &str, type_name: &str) -> SourceColumn {
        SourceColumn { name: name.to_owned(), type_oid: 25, type_name: type_name.to_owned(), ..SourceColumn::default() }
    }

    #[test]
    fn every_transform_refuses_options_that_it_does_not_have() {
        for kind in BUILTIN {
            let refusal = configure(kind.name, json!({"colour": "red"})).expect_err(kind.name);
            assert!(refusal.contains("colour"), "{}: {refusal}", kind.name);
        }
    }

    #[test]
    fn every_transform_describes_its_options_as_an_object_without_others() {
        for kind in BUILTIN {
            let schema = (kind.schema)();
            assert_eq!(schema["type"], "object", "{}", kind.name);
            assert_eq!(schema["additionalProperties"], false, "{}", kind.name);
        }
    }
}
