//! The plan of applying a file, and all problems that prevent it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vitrina_shared::domain::ProblemKind;

use super::changes::{self, Change};
use crate::{
    client::{Client, ClientError, FieldError, List, Target},
    pipeline_file::{Entry, FileProblem, PipelineEntry, PipelineFile, found},
};

/// The changes, in this order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) targets: Vec<TargetPlan>,
    pub(crate) pipelines: Vec<PipelinePlan>,
    pub(crate) problems: Vec<FileProblem>,
}

#[derive(Debug)]
pub(crate) struct TargetPlan {
    pub(crate) name: String,
    /// What `POST /targets` takes.
    pub(crate) body: Value,
    /// The statement that creates its table, if one is created.
    pub(crate) ddl: Option<String>,
}

#[derive(Debug)]
pub(crate) struct PipelinePlan {
    pub(crate) name: String,
    /// What `POST /pipelines` takes.
    pub(crate) body: Value,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Create,
    Change { version: i64, changes: Vec<Change> },
    Keep,
}

impl Plan {
    /// Compares the file with what the API has, and has the API check what is new.
    pub(crate) async fn compute(client: &Client, file: &PipelineFile) -> Result<Self, ClientError> {
        let mut plan = Self::default();
        let names_targets = !file.targets.is_empty() || file.pipelines.iter().any(|one| one.wanted.target.is_some());
        if names_targets {
            let known: Option<List<Target>> = serde_json::from_value(client.targets().await?).ok();
            let known = known.into_iter().flat_map(|list| list.items);
            let mut known = known.map(|target| (target.target, target.key)).collect();
            plan.add_targets(client, file, &mut known).await?;
        }
        for entry in &file.pipelines {
            let allowed_here = entry.wanted.target.is_some()
                || file.targets.iter().any(|target| target.wanted.target == entry.wanted.target_table);
            plan.add_pipeline(client, entry, allowed_here).await?;
        }
        Ok(plan)
    }

    async fn add_targets(
        &mut self,
        client: &Client,
        file: &PipelineFile,
        known: &mut BTreeMap<String, Vec<String>>,
    ) -> Result<(), ClientError> {
        for entry in &file.targets {
            let body = serde_json::to_value(&entry.wanted).unwrap_or_default();
            let problem = |field: &str, message: String| entry.problem(field, message);
            self.add_target(client, &entry.wanted.target, &entry.wanted.key, body, known, problem).await?;
        }
        for entry in &file.pipelines {
            let Some(target) = &entry.wanted.target else { continue };
            let mut body = json!({ "target": entry.wanted.target_table, "key": target.key });
            if target.create && entry.wanted.tasks.len() > 1 {
                let message = "a table is made from the columns of a query: with transforms, create it yourself";
                self.problems.push(entry.problem("target.create", message));
                continue;
            }
            if target.create {
                body["create"] = json!({ "source_query": entry.wanted.reader().unwrap_or_default() });
            }
            let problem = |field: &str, message: String| entry.problem(field_of_pipeline(field), message);
            self.add_target(client, &entry.wanted.target_table, &target.key, body, known, problem).await?;
        }
        Ok(())
    }

    async fn add_target(
        &mut self,
        client: &Client,
        name: &str,
        key: &[String],
        body: Value,
        known: &mut BTreeMap<String, Vec<String>>,
        problem: impl Fn(&str, String) -> FileProblem,
    ) -> Result<(), ClientError> {
        let is_allowed = known.contains_key(name);
        let allowed = known.entry(name.to_owned()).or_insert_with(|| key.to_vec());
        if allowed != key {
            let message = format!("{name} is allowed with the key ({}), and a target's key stays", allowed.join(", "));
            self.problems.push(problem("key", message));
            return Ok(());
        }
        if is_allowed && body.get("create").is_none() {
            return Ok(());
        }
        match client.allow_target(&body, true).await {
            Ok(answer) => {
                let ddl = answer["ddl"].as_str().map(str::to_owned);
                self.targets.push(TargetPlan { name: name.to_owned(), body, ddl });
            }
            // The target is allowed already, and its table is created again if it was dropped. If the table exists, or the API
            // creates none, there is nothing to do here; problems are reported with the pipeline.
            Err(ClientError::Refused(_) | ClientError::Forbidden { .. }) if is_allowed => {}
            Err(ClientError::Refused(refusal)) if refusal.status == 422 => {
                self.problems.extend(found(refusal.errors, |field, message| problem(field, message)));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn add_pipeline(
        &mut self,
        client: &Client,
        entry: &Entry<PipelineEntry>,
        allowed_here: bool,
    ) -> Result<(), ClientError> {
        let (name, mut body) = (entry.wanted.name.clone(), entry.wanted.body());
        let stored = client.find_pipeline(&name).await?;
        let action = match &stored {
            None => Action::Create,
            Some(stored) => match changes::between(stored, &body) {
                changes if changes.is_empty() => Action::Keep,
                changes => {
                    let forbidden = changes::forbidden(stored, &changes);
                    self.problems.extend(forbidden.map(|(field, message)| entry.problem(&field, message)));
                    Action::Change { version: stored["version"].as_i64().unwrap_or_default(), changes }
                }
            },
        };
        if let (Some(stored), None) = (&stored, entry.wanted.enabled) {
            body["enabled"] = stored["enabled"].clone();
        }
        // An unchanged pipeline may no longer work: its mart or a table of its query may be gone.
        let errors = client.validate(&body).await?;
        // A target that this file allows does not exist yet, and its problems are reported with it.
        let created =
            self.targets.iter().any(|target| target.name == entry.wanted.target_table && target.ddl.is_some());
        let awaited = |error: &FieldError| {
            allowed_here && error.is(ProblemKind::TargetNotAllowed) || created && error.is(ProblemKind::NoTable)
        };
        let errors = errors.into_iter().filter(|error| !awaited(error)).collect();
        self.problems.extend(found(errors, |field, message| entry.problem(field, message)));
        self.pipelines.push(PipelinePlan { name, body, action });
        Ok(())
    }
}

/// The place of a field of `POST /targets` in a pipeline.
fn field_of_pipeline(field: &str) -> &str {
    match field {
        "key" => "target.key",
        "create" => "target.create",
        "create.source_query" => "source_query",
        _ => "target_table",
    }
}
