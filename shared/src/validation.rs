//! Everything that must hold of a pipeline before it is stored, found all at once.
//!
//! domain rules → whitelist → guard → what the server says of the query → the target's columns and key.

mod creation;
mod hooks;
mod key;
mod late;
mod limits;
mod plan;
mod query;
mod target;

use std::collections::BTreeSet;

use sqlx::{PgConnection, PgPool};

use crate::{
    domain::{
        PipelineDraft, Problem, ProblemKind, SourceColumn, Target, TargetName, bounds::MAX_STEPS, task_plan,
        transform::Registry,
    },
    guard::{Describing, GuardError, Refusal, SourceQuery, SourceSchemas},
    store::{
        tables::{self, MartTable},
        targets,
        value_types::ValueType,
    },
};

pub use creation::plan as plan_mart;
pub use hooks::problems as hook_problems;
pub use limits::missing_limits;
pub use target::problems as target_problems;

#[derive(Debug)]
pub struct Review {
    /// Everything that is wrong; empty means that it can be stored and run.
    pub problems: Vec<Problem>,
    /// The reader's query, where it passed the guard.
    pub reader: Option<Reader>,
    /// What the draft writes, where it is in the whitelist.
    pub target: Option<FoundTarget>,
    /// Whether the server did not answer in time, so that the same draft may pass later.
    pub timed_out: bool,
}

#[derive(Debug)]
pub struct FoundTarget {
    pub entry: Target,
    pub place: TargetPlace,
}

#[derive(Debug)]
pub enum TargetPlace {
    Mart(String, MartTable),
    /// What a sink of this scheme keeps under this name. Workers ask it what is there when a run begins.
    External(&'static str, String),
}

impl TargetPlace {
    async fn find(connection: &mut PgConnection, name: &TargetName, key: &[String]) -> sqlx::Result<Self> {
        Ok(match name {
            TargetName::Mart(table) => Self::Mart(table.clone(), tables::read_mart(connection, table, key).await?),
            TargetName::External(scheme, name) => Self::External(scheme, name.clone()),
        })
    }
}

/// A reader's query that passed the guard.
#[derive(Debug)]
pub struct Reader {
    pub query: SourceQuery,
    pub columns: Vec<SourceColumn>,
    pub types: Vec<ValueType>,
    pub relations: BTreeSet<String>,
    /// The column of a table or view that each of its columns is: oid and number, zero where it is none.
    pub origins: Vec<(u32, i16)>,
    pub unsteady: BTreeSet<String>,
    /// The columns before the plan's first transform and after each.
    pub stages: Vec<Vec<SourceColumn>>,
    /// What arrives at the target, after the plan's transforms.
    pub arriving: Vec<SourceColumn>,
}

impl Reader {
    pub fn arriving_names(&self) -> Vec<&str> {
        self.arriving.iter().map(|column| column.name.as_str()).collect()
    }

    pub fn pages_itself(&self) -> bool {
        !self.query.placeholders().is_empty()
    }

    pub fn walk_types(&self, draft: &PipelineDraft) -> Vec<&str> {
        let names = draft.incremental_key.iter().chain(&draft.incremental_id_key);
        let column = |name: &String| self.columns.iter().find(|column| column.name == *name);
        names.filter_map(column).map(|column| column.type_name.as_str()).collect()
    }
}

pub async fn review(
    db: &PgPool,
    describing: &Describing,
    draft: &PipelineDraft,
    schemas: &SourceSchemas,
    transforms: &Registry,
) -> Result<Review, sqlx::Error> {
    // The description may take seconds: meanwhile other requests need the connection.
    let described = describe(describing, draft, schemas).await?;
    judge(&mut *db.acquire().await?, draft, described, transforms).await
}

/// What a source says of a draft's query: what it returns, or why it is refused; none where the draft has no query.
pub type Described = Option<Result<Reader, Refusal>>;

/// What the server says of the draft's query, if there is one.
pub async fn describe(
    describing: &Describing,
    draft: &PipelineDraft,
    schemas: &SourceSchemas,
) -> Result<Described, sqlx::Error> {
    let Some((sql, _)) = written(draft).filter(|_| !is_too_long(draft)) else { return Ok(None) };
    let walk = (draft.incremental_key.as_deref(), draft.incremental_id_key.as_deref());
    match query::read(describing, sql, walk, schemas).await {
        Ok(reader) => Ok(Some(Ok(reader))),
        Err(GuardError::Refused(refusal)) => Ok(Some(Err(refusal))),
        Err(GuardError::Database(error)) => Err(error),
    }
}

/// A plan that is too long is not checked step by step.
fn is_too_long(draft: &PipelineDraft) -> bool {
    draft.tasks.len() > MAX_STEPS
}

/// The draft's query and its field, unless it is empty.
fn written(draft: &PipelineDraft) -> Option<(&str, &'static str)> {
    draft.reader().filter(|(sql, _)| !sql.trim().is_empty())
}

pub async fn judge(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    described: Described,
    transforms: &Registry,
) -> Result<Review, sqlx::Error> {
    if is_too_long(draft) {
        let problems = task_plan::problems(&draft.tasks, transforms);
        return Ok(Review { problems, reader: None, target: None, timed_out: false });
    }
    let mut problems = draft.problems(transforms);
    problems.extend(hooks::problems(connection, &draft.options.hooks).await?);
    let (unlisted, target) = find_target(connection, draft).await?;
    problems.extend(unlisted);
    let field = written(draft).map_or("source_query", |(_, field)| field);
    let mut reader = match described {
        None => {
            problems.extend(target::alone(draft, target.as_ref()));
            return Ok(Review { problems, reader: None, target, timed_out: false });
        }
        Some(Err(refusal)) => {
            problems.push(Problem::new(field, refusal.to_string()));
            problems.extend(target::alone(draft, target.as_ref()));
            let timed_out = matches!(refusal, Refusal::NotDescribed { .. });
            return Ok(Review { problems, reader: None, target, timed_out });
        }
        Some(Ok(reader)) => reader,
    };
    let steps = transforms.configured(&draft.tasks);
    let (stages, problem) = plan::stages(&steps, &reader.columns);
    match problem {
        None => reader.arriving = stages.last().cloned().unwrap_or_default(),
        Some(problem) => problems.push(problem),
    }
    reader.stages = stages;
    problems.extend(query::paging_problem(draft, &reader).map(|message| Problem::new(field, message)));
    problems.extend(query::key_problems(draft, &reader.columns));
    problems.extend(late::problems(connection, draft, &reader, field).await?);
    if let Some(target) = &target {
        problems.extend(plan::touched_keys(&steps, &reader.stages, &target.entry.key));
        problems.extend(plan::dropped_rows(&steps, draft, &target.place));
        problems.extend(target::mismatches(connection, draft, &reader, target).await?);
    }
    Ok(Review { problems, reader: Some(reader), target, timed_out: false })
}

/// What the draft writes, as it is found; and its targets that are well written but not in the whitelist.
async fn find_target(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
) -> Result<(Vec<Problem>, Option<FoundTarget>), sqlx::Error> {
    let mut named = vec![(draft.target_table.as_str(), "target_table")];
    let (last, field) = draft.final_target();
    if last != draft.target_table {
        named.push((last, field));
    }
    named.retain(|(target, _)| target.parse::<TargetName>().is_ok());
    let names: Vec<_> = named.iter().map(|(target, _)| (*target).to_owned()).collect();
    let mut entries = targets::find_all(connection, &names).await?;
    named.retain(|(target, _)| !entries.iter().any(|entry| entry.target == *target));
    let unlisted = named.into_iter().map(|(target, field)| {
        let message = format!(
            "target `{target}` is not in the whitelist: an admin adds it with `target: {{key: […]}}` in the file of \
             `vitrina apply`, or with POST /api/v1/targets"
        );
        Problem::new(field, message).of_kind(ProblemKind::TargetNotAllowed)
    });
    let unlisted = unlisted.collect();
    entries.retain(|entry| entry.target == last);
    let (Some(entry), Ok(name)) = (entries.pop(), last.parse()) else { return Ok((unlisted, None)) };
    let place = TargetPlace::find(connection, &name, &entry.key).await?;
    Ok((unlisted, Some(FoundTarget { entry, place })))
}
