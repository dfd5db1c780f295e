//! The plan of applying a file, and all problems that prevent it.

use serde_json::Value;
use vitrina_api::wire::PipelineInput;
use vitrina_shared::{
    definitions,
    domain::{PipelineDraft, ProblemKind},
};

use super::{
    changes::{self, Change},
    targets::{self, WantedTarget},
};
use crate::{
    client::{Client, ClientError, List, Target},
    pipeline_file::{Entry, FileProblem, PipelineEntry, PipelineFile, found},
};

/// The changes, in this order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) targets: Vec<TargetPlan>,
    pub(crate) pipelines: Vec<PipelinePlan>,
    pub(crate) problems: Vec<FileProblem>,
    /// What an operator has still to do before pipelines run, which does not keep them from being stored.
    pub(crate) to_do: Vec<FileProblem>,
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
        let mut further = Vec::new();
        let wanted = targets::of_file(file, &mut further);
        if !wanted.is_empty() {
            let known: Option<List<Target>> = serde_json::from_value(client.targets().await?).ok();
            let known: Vec<_> = known.into_iter().flat_map(|list| list.items).collect();
            for one in &wanted {
                let allowed = known.iter().find(|target| target.target == one.name);
                further.extend(plan.add_target(client, one, allowed).await?);
            }
        }
        for entry in &file.pipelines {
            plan.add_pipeline(client, entry, &wanted).await?;
        }
        further.extend(plan.conflicts(file));
        // A mistake that is wrong for the pipeline and for its target is reported once.
        further.retain(|one| !plan.problems.iter().any(|known| known.about == one.about));
        plan.problems.extend(further);
        plan.problems.sort_by_key(|problem| problem.place);
        Ok(plan)
    }

    /// Plans to allow a target, unless it is `allowed` and has its table. Returns what is wrong with it.
    async fn add_target(
        &mut self,
        client: &Client,
        wanted: &WantedTarget<'_>,
        allowed: Option<&Target>,
    ) -> Result<Vec<FileProblem>, ClientError> {
        match allowed {
            Some(allowed) if allowed.key != wanted.key => return Ok(vec![wanted.another_key(&allowed.key)]),
            Some(_) if !wanted.is_created() => return Ok(Vec::new()),
            Some(_) | None => {}
        }
        match client.allow_target(&wanted.body, true).await {
            Ok(answer) => {
                let ddl = answer["ddl"].as_str().map(str::to_owned);
                self.targets.push(TargetPlan { name: wanted.name.to_owned(), body: wanted.body.clone(), ddl });
                Ok(Vec::new())
            }
            // The target is allowed already, and its table is created again if it was dropped. If the table exists, or the API
            // creates none, there is nothing to do here; problems are reported with the pipeline.
            Err(ClientError::Refused(_) | ClientError::Forbidden { .. }) if allowed.is_some() => Ok(Vec::new()),
            Err(ClientError::Refused(refusal)) if refusal.status == 422 => {
                Ok(found(refusal.errors, |field, message| wanted.problem(field, message)))
            }
            Err(error) => Err(error),
        }
    }

    async fn add_pipeline(
        &mut self,
        client: &Client,
        entry: &Entry<PipelineEntry>,
        wanted: &[WantedTarget<'_>],
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
        let target = entry.wanted.final_target();
        let planned = self.targets.iter().find(|planned| planned.name == target);
        let errors = client.validate(&body, planned.map(|planned| &planned.body)).await?;
        // What keeps a target that this file wants from being allowed is reported with the target.
        let names = [target, entry.wanted.target_table.as_str()];
        let awaited = entry.wanted.target.is_some() || wanted.iter().any(|one| names.contains(&one.name));
        let errors = errors.into_iter().filter(|error| !(awaited && error.is(ProblemKind::TargetNotAllowed)));
        let (to_do, errors): (Vec<_>, Vec<_>) = errors.partition(|error| error.is(ProblemKind::NoLimit));
        self.to_do.extend(found(to_do, |field, message| entry.problem(field, message)));
        self.problems.extend(found(errors, |field, message| entry.problem(field, message)));
        self.pipelines.push(PipelinePlan { name, body, action });
        Ok(())
    }

    /// Pipelines of the file that cannot write one target together. The API knows only those that are stored.
    fn conflicts(&self, file: &PipelineFile) -> Vec<FileProblem> {
        let drafts = self.pipelines.iter().map(|one| serde_json::from_value(one.body.clone()).ok());
        let drafts: Vec<_> = drafts.map(|input| input.map(|input: PipelineInput| PipelineDraft::from(input))).collect();
        let mut problems = Vec::new();
        for (at, (entry, draft)) in file.pipelines.iter().zip(&drafts).enumerate() {
            let Some(draft) = draft else { continue };
            let mut earlier =
                drafts[..at].iter().flatten().filter(|one| one.final_target().0 == draft.final_target().0);
            let conflict = earlier.find_map(|other| definitions::conflict(draft, other));
            problems.extend(conflict.map(|problem| entry.problem(&problem.field, problem.message)));
        }
        problems
    }
}
