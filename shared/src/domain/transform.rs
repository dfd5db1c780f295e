//! Transforms: the steps of a plan between its reader and its sink, in code of this deployment.
//!
//! A plan names a transform and gives it options. [`Registry::find`] looks the name up, [`TransformKind::configure`] checks
//! the options, and a [`Transform`] declares what the API and the worker must know before a row moves. A [`RowTransform`] also
//! says what becomes of a row: adding one is a file here and a line in `BUILTIN`. All other transforms are executed by the
//! worker, which adds them to its registry (`worker/src/step.rs`). A [`PublishedStep`] is one that workers bring with them: a
//! step in Python.

mod cast;
mod document;
mod expression;
mod filter;
mod hash;
pub mod http;
mod json_extract;
mod mask;
mod pointer;
mod published;
mod rename;
mod schema;
mod select;
mod set;
mod trim;
mod value;

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    SourceColumn, Task, TaskKind,
    bounds::{MAX_NAME_BYTES, MAX_NAMES, names_problem},
    column_type::ScalarType,
};

pub use document::{NotADocument, RowDocument};
pub use hash::{Hash, check_pool};
pub use pointer::Extracted;
pub use published::{PublishedColumn, PublishedStep};

/// What is known of a transform with its options before a row moves.
pub trait Transform: std::fmt::Debug + Send + Sync {
    /// What becomes of the columns, or why that is impossible. Called before any row, and where a pipeline is checked.
    fn columns(&self, columns: &mut Vec<SourceColumn>) -> Result<(), String>;

    /// The columns that it changes, adds or removes. A target's key must not be among them.
    fn touches(&self) -> Vec<&str>;

    /// Whether the same rows give the same result and nothing else happens, however often it is executed. Only then previews
    /// execute it, and pages are read ahead. A batch that failed executes any transform again.
    fn is_pure(&self) -> bool;

    /// Whether nothing more happens when it is executed again for the same rows, because it is pure or because its effects are
    /// remembered. Replays and comparisons execute such a transform too.
    fn repeats(&self) -> bool {
        self.is_pure()
    }

    /// The columns that name what it works on, where it remembers what it did by them.
    fn entity(&self) -> &[String] {
        &[]
    }

    /// How many calls to services it makes at once.
    fn concurrency(&self) -> Option<usize> {
        None
    }

    /// Whether rows may be missing from its result without being rejected. Such a row is not in the target after a full run. An
    /// incremental run would leave there what an earlier one wrote, so pipelines of that mode refuse the transform.
    fn drops_rows(&self) -> bool {
        false
    }
}

/// What becomes of a row that nothing is wrong with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Kept,
    /// Only a transform that declares `drops_rows` returns it.
    Dropped,
}

/// A transform that is a pure function of one row.
pub trait RowTransform: Transform {
    /// Tells it which columns arrive, before the first row. `columns` has accepted them.
    fn prepare(&mut self, _columns: &[SourceColumn]) -> Result<(), String> {
        Ok(())
    }

    /// What becomes of a row, or what is wrong with it. The reason quotes no value of the row.
    fn apply(&self, row: &mut RowDocument) -> Result<Outcome, String>;
}

/// The names of all columns that a transform changes, adds or removes, by its own words or by comparing what arrives with what
/// leaves.
pub fn touched(transform: &dyn Transform, arriving: &[SourceColumn], leaving: &[SourceColumn]) -> BTreeSet<String> {
    let differ = |from: &[SourceColumn], to: &[SourceColumn]| -> Vec<String> {
        from.iter().filter(|column| !to.contains(column)).map(|column| column.name.clone()).collect()
    };
    let mut touched: BTreeSet<String> = transform.touches().into_iter().map(str::to_owned).collect();
    touched.extend(differ(arriving, leaving));
    touched.extend(differ(leaving, arriving));
    touched
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
const BUILTIN: &[TransformKind] = &[
    cast::KIND,
    filter::KIND,
    hash::KIND,
    http::KIND,
    json_extract::KIND,
    mask::KIND,
    rename::KIND,
    select::KIND,
    set::KIND,
    trim::KIND,
];

/// The transforms of this deployment. Code never comes from the database or over the API.
#[derive(Debug, Clone)]
pub struct Registry {
    kinds: Cow<'static, [TransformKind]>,
    published: Arc<[Arc<PublishedStep>]>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { kinds: Cow::Borrowed(BUILTIN), published: Arc::default() }
    }
}

impl Registry {
    pub fn with(mut self, kind: TransformKind) -> Self {
        self.kinds.to_mut().push(kind);
        self
    }

    /// The same with the steps in Python that workers have.
    pub fn with_published(self, steps: impl IntoIterator<Item = PublishedStep>) -> Self {
        Self { published: steps.into_iter().map(Arc::new).collect(), ..self }
    }

    pub fn kinds(&self) -> &[TransformKind] {
        &self.kinds
    }

    pub fn published(&self) -> &[Arc<PublishedStep>] {
        &self.published
    }

    pub fn find(&self, name: &str) -> Option<&TransformKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub fn find_published(&self, name: &str) -> Option<&Arc<PublishedStep>> {
        self.published.iter().find(|step| step.name == name)
    }

    pub fn names(&self) -> String {
        self.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
    }

    /// Checks the options of a plan's step. None where there is no such step, or the task is a query.
    pub fn configure(&self, task: &Task) -> Option<Result<Configured, String>> {
        match task.task_type {
            TaskKind::Sql => None,
            TaskKind::Rust => Some((self.find(&task.body)?.configure)(&task.options)),
            TaskKind::Python => Some(self.find_published(&task.body)?.configure(&task.options)),
        }
    }

    /// A plan's transforms and their places, in order. Steps that [`super::task_plan`] has complaints about are left out.
    pub fn configured(&self, tasks: &[Task]) -> Vec<(usize, Configured)> {
        let configured = |(place, task): (usize, &Task)| Some((place, self.configure(task)?.ok()?));
        tasks.iter().enumerate().filter_map(configured).collect()
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

/// Refuses a list of columns that is empty, too long or has a name that no column can have.
fn some_columns<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> Result<(), String> {
    if names.len() == 0 {
        return Err("columns: name at least one column".to_owned());
    }
    names_problem(names).map_or(Ok(()), Err)
}

/// The schema of a list of columns.
fn columns_schema(description: &str) -> Value {
    json!({
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_NAMES,
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES},
        "description": description
    })
}

/// The schema of an object with a value for each column.
fn by_column_schema(value: &Value, description: &str) -> Value {
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": MAX_NAMES,
        "propertyNames": {"minLength": 1, "maxLength": MAX_NAME_BYTES},
        "additionalProperties": value,
        "description": description
    })
}

/// The type that an option names.
fn named_type(name: &str) -> Result<&'static ScalarType, String> {
    ScalarType::named(name).ok_or_else(|| {
        let known = ScalarType::names().collect::<Vec<_>>().join(", ");
        format!("`{name}` is no type that a step can make; it can make {known}")
    })
}

#[cfg(test)]
pub(super) mod tests {
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

    /// What a transform makes of a row with these columns, as JSON; none where it drops the row.
    pub fn applied(
        transform: &mut Box<dyn RowTransform>,
        columns: &[SourceColumn],
        row: &str,
    ) -> Result<Option<String>, String> {
        transform.columns(&mut columns.to_vec())?;
        transform.prepare(columns)?;
        let mut row = RowDocument::parse(row).expect("a row");
        let outcome = transform.apply(&mut row)?;
        Ok((outcome == Outcome::Kept).then(|| row.to_text().expect("text")))
    }
}
