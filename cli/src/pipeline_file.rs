//! Files with pipelines and targets: YAML, one document or several.
//!
//! text → `yaml` (a tree that knows its places) → `check` (against the schema, all problems at once) → `entries` (typed).
//! The schema is generated from the types of `entries`, so that the three agree.

mod check;
mod entries;
mod yaml;

use std::{collections::HashSet, fmt, path::Path};

use serde_json::Value;
use vitrina_shared::process::Failure;

pub use entries::{PipelineEntry, TargetEntry, schema};
pub use yaml::LineColumn;

use self::entries::YamlDocument;
use self::yaml::Node;
use crate::client::FieldError;

#[derive(Debug)]
pub struct PipelineFile {
    pub name: String,
    pub targets: Vec<Entry<TargetEntry>>,
    pub pipelines: Vec<Entry<PipelineEntry>>,
}

#[derive(Debug)]
pub struct Entry<T> {
    pub wanted: T,
    /// Kind and name.
    title: String,
    node: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    pub place: LineColumn,
    /// What it is about: a pipeline, a target, a field.
    pub about: String,
    pub message: String,
}

impl PipelineFile {
    /// Reads a file, or standard input where it is called `-`.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let (name, text) = if path == Path::new("-") {
            ("standard input".to_owned(), std::io::read_to_string(std::io::stdin()))
        } else {
            (path.display().to_string(), std::fs::read_to_string(path))
        };
        let text = text.map_err(|error| format!("{name} cannot be read: {error}"))?;
        Self::parse(&name, &text).map_err(|problems| report(&name, &problems).into())
    }

    /// Reads a file's text. All problems come at once.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<FileProblem>> {
        let documents = yaml::parse(text).map_err(|problem| vec![problem])?;
        if documents.iter().all(Node::is_null) {
            let message = "there is nothing in it: write `pipelines:` and a list of them".to_owned();
            return Err(vec![FileProblem { place: Node::default().place(""), about: String::new(), message }]);
        }
        let problems: Vec<_> = documents.iter().flat_map(check::problems).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut file = Self { name: name.to_owned(), targets: Vec::new(), pipelines: Vec::new() };
        for node in documents.iter().filter(|node| !node.is_null()) {
            file.add(node).map_err(|problem| vec![problem])?;
        }
        let twice = file.named_twice();
        if twice.is_empty() { Ok(file) } else { Err(twice) }
    }

    fn add(&mut self, node: &Node) -> Result<(), FileProblem> {
        // serde finds what the schema cannot express, for instance numbers that are too large.
        let document: YamlDocument = serde_path_to_error::deserialize(node.to_json()).map_err(|error| {
            let field = error.path().to_string();
            FileProblem {
                place: node.place(&field),
                about: node.about(&field),
                message: error.into_inner().to_string(),
            }
        })?;
        let entry =
            |field: &str, at: usize| node.child(field).and_then(|list| list.item(at)).cloned().unwrap_or_default();
        self.targets.extend(document.targets.into_iter().enumerate().map(|(at, wanted)| {
            let title = format!("target {}", wanted.target);
            Entry { wanted, title, node: entry("targets", at) }
        }));
        self.pipelines.extend(document.pipelines.into_iter().enumerate().map(|(at, wanted)| {
            let title = format!("pipeline {}", wanted.name);
            Entry { wanted, title, node: entry("pipelines", at) }
        }));
        Ok(())
    }

    fn named_twice(&self) -> Vec<FileProblem> {
        let mut names = HashSet::new();
        let again = self.pipelines.iter().filter(|entry| !names.insert(&entry.wanted.name));
        again.map(|entry| entry.problem("name", "another pipeline of this file has the same name")).collect()
    }
}

impl<T> Entry<T> {
    /// A problem of one of its fields; with an empty field, of the whole entry.
    pub fn problem(&self, field: &str, message: impl Into<String>) -> FileProblem {
        FileProblem { place: self.node.place(field), about: joined(&self.title, field), message: message.into() }
    }
}

impl Node {
    /// What a path such as `pipelines[0].tasks[1].body` is about, in the words of [`Entry::problem`]: `pipeline films, tasks[1].body`.
    fn about(&self, path: &str) -> String {
        let (entry, field) = path.split_once('.').unwrap_or((path, ""));
        joined(self.title(entry).as_deref().unwrap_or(entry), field)
    }

    fn title(&self, entry: &str) -> Option<String> {
        let (list, at) = entry.strip_suffix(']')?.split_once('[')?;
        let item = self.child(list)?.item(at.parse().ok()?)?;
        let (kind, name) = if list == "targets" { ("target", "target") } else { ("pipeline", "name") };
        item.child(name)?.to_json().as_str().map(|name| format!("{kind} {name}"))
    }
}

fn joined(title: &str, field: &str) -> String {
    let comma = if field.is_empty() { "" } else { ", " };
    format!("{title}{comma}{field}")
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.about.is_empty() { "" } else { ": " };
        write!(f, "{}: {}{separator}{}", self.place, self.about, self.message)
    }
}

/// All problems of a file as one message, a line each.
pub fn report(name: &str, problems: &[FileProblem]) -> String {
    let many = if problems.len() == 1 { "1 problem".to_owned() } else { format!("{} problems", problems.len()) };
    let lines = problems.iter().map(|problem| format!("\n  {name}:{problem}"));
    format!("{name} has {many}, nothing was changed:{}", lines.collect::<String>())
}

/// Problems that the API found, as problems of an entry.
pub fn found(
    errors: impl IntoIterator<Item = FieldError>,
    problem: impl Fn(&str, String) -> FileProblem,
) -> Vec<FileProblem> {
    errors.into_iter().map(|error| problem(&error.field, error.message)).collect()
}

/// The schema as it is published.
pub fn schema_text() -> String {
    let value: Value = schema();
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests;
