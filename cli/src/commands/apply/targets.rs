//! The targets that a file wants to be allowed, each once: in `targets:`, or in `target:` of the pipelines that write it.

use serde_json::{Value, json};

use crate::pipeline_file::{Entry, FileProblem, PipelineEntry, PipelineFile, TargetEntry};

/// A target that the file wants to be allowed.
pub(super) struct WantedTarget<'a> {
    pub(super) name: &'a str,
    pub(super) key: &'a [String],
    /// What `POST /targets` takes.
    pub(super) body: Value,
    owner: Owner<'a>,
    /// The pipeline from whose query its table is created.
    creator: Option<&'a Entry<PipelineEntry>>,
}

/// The entry that names the target first.
enum Owner<'a> {
    Target(&'a Entry<TargetEntry>),
    Pipeline(&'a Entry<PipelineEntry>),
}

impl<'a> WantedTarget<'a> {
    fn of_target(entry: &'a Entry<TargetEntry>) -> Self {
        let TargetEntry { target, key, .. } = &entry.wanted;
        let body = serde_json::to_value(&entry.wanted).unwrap_or_default();
        Self { name: target, key, body, owner: Owner::Target(entry), creator: None }
    }

    fn of_pipeline(entry: &'a Entry<PipelineEntry>) -> Option<Self> {
        let (name, target) = (&entry.wanted.target_table, entry.wanted.target.as_ref()?);
        let mut body = json!({ "target": name, "key": target.key });
        if target.create {
            body["create"] = json!({ "source_query": entry.wanted.reader().unwrap_or_default() });
        }
        let creator = target.create.then_some(entry);
        Some(Self { name, key: &target.key, body, owner: Owner::Pipeline(entry), creator })
    }

    pub(super) fn is_created(&self) -> bool {
        self.creator.is_some()
    }

    /// A problem of a field of `POST /targets`, at its place in the file.
    pub(super) fn problem(&self, field: &str, message: impl Into<String>) -> FileProblem {
        match (field, self.creator, &self.owner) {
            ("create", Some(entry), _) => entry.problem("target.create", message),
            ("create.source_query", Some(entry), _) => entry.problem(entry.wanted.reader_field(), message),
            (_, _, Owner::Target(entry)) => entry.problem(field, message),
            ("key", _, Owner::Pipeline(entry)) => entry.problem("target.key", message),
            (_, _, Owner::Pipeline(entry)) => entry.problem("target_table", message),
        }
    }

    pub(super) fn another_key(&self, key: &[String]) -> FileProblem {
        let message = format!("{} is allowed with the key ({}), and a target's key stays", self.name, key.join(", "));
        self.problem("key", message)
    }
}

/// All of a file. Several pipelines may name one target, and one of them may have its table created.
pub(super) fn of_file<'a>(file: &'a PipelineFile, problems: &mut Vec<FileProblem>) -> Vec<WantedTarget<'a>> {
    let of_pipelines = file.pipelines.iter().filter_map(WantedTarget::of_pipeline);
    let mut all: Vec<WantedTarget<'a>> = Vec::new();
    for mut wanted in file.targets.iter().map(WantedTarget::of_target).chain(of_pipelines) {
        if let Some(entry) = wanted.creator.filter(|entry| entry.wanted.tasks.len() > 1) {
            let message = "a table is made from the columns of a query: with transforms, create it yourself";
            problems.push(entry.problem("target.create", message));
            continue;
        }
        match all.iter_mut().find(|earlier| earlier.name == wanted.name) {
            None => all.push(wanted),
            Some(earlier) if earlier.key != wanted.key => problems.push(wanted.another_key(earlier.key)),
            Some(earlier) if earlier.creator.is_none() && wanted.is_created() => {
                earlier.creator = wanted.creator;
                earlier.body["create"] = wanted.body["create"].take();
            }
            Some(_) => {}
        }
    }
    all
}
