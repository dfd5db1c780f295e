//! Allowing targets, and creating the table of one where that is wanted and allowed.

use serde_json::Value;
use sqlx::{PgConnection, PgPool};

use super::sharing_problem;
use crate::{
    domain::{
        PipelineDraft, Problem, Target, TargetName,
        bounds::{self, MAX_KEY_COLUMNS},
        transform::Registry,
    },
    guard::{Describing, SourceSchemas},
    lifecycle::{self, Cause, LifecycleError},
    store::{
        self,
        marts::{self, NewMart},
        pipelines, tables, targets,
    },
    validation,
};

#[derive(Debug)]
pub struct WantedTarget<'a> {
    /// The name of the target, as [`crate::domain::TargetName`] parses it.
    pub target: &'a str,
    pub key: &'a [String],
    pub options: &'a Value,
    /// The query whose columns its table gets, if the table is to be created.
    pub create_from: Option<&'a str>,
}

#[derive(Debug)]
pub struct Allowed {
    /// The entry of the whitelist; none if it was only tried.
    pub entry: Option<Target>,
    /// The statement that creates its table; none if the table is there or none was wanted.
    pub ddl: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum AllowError {
    #[error("target `{0}` is in the whitelist already")]
    Taken(String),
    #[error("pipeline `{0}` has an unfinished run that writes the target: cancel it first")]
    Busy(String),
    #[error("wrong fields: {}", .0.len())]
    Wrong(Vec<Problem>),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// A pipeline that would write a target, and the transforms that its plan may name.
pub type PlannedWriter<'a> = (&'a PipelineDraft, &'a Registry);

/// Finds out whether the target could be allowed, what creating it would execute, and what would be wrong with a pipeline that
/// writes it then. All of it is done and undone in one transaction, so that it finds what the real thing would.
pub async fn try_target(
    db: &PgPool,
    describing: &Describing,
    wanted: &WantedTarget<'_>,
    writer: Option<PlannedWriter<'_>>,
    schemas: &SourceSchemas,
) -> Result<(Allowed, Vec<Problem>), AllowError> {
    // The description may take seconds, and needs no lock.
    let described = match writer {
        Some((draft, _)) => validation::describe(describing, draft, schemas).await?,
        None => None,
    };
    let mut tx = db.begin().await?;
    let (allowed, _) = allow(&mut tx, describing, wanted, schemas).await?;
    let mut problems = Vec::new();
    if let Some((draft, transforms)) = writer {
        problems = validation::judge(&mut tx, draft, described, transforms).await?.problems;
        problems.extend(sharing_problem(&mut tx, draft, None).await?);
        problems.extend(validation::missing_limits(&mut tx, draft).await?);
    }
    tx.rollback().await?;
    Ok((Allowed { entry: None, ..allowed }, problems))
}

/// Allows the target, and creates its table before if that is wanted: both or nothing. A target that is allowed already, and
/// whose table was dropped, gets its table again; the pipelines that write it begin at the beginning then.
pub async fn allow_target(
    db: &PgPool,
    describing: &Describing,
    wanted: &WantedTarget<'_>,
    schemas: &SourceSchemas,
    cause: Cause<'_>,
) -> Result<Allowed, AllowError> {
    let mut tx = db.begin().await?;
    let (allowed, again) = allow(&mut tx, describing, wanted, schemas).await?;
    if again {
        begin_anew(&mut tx, wanted.target, cause).await?;
        store::wait_for_disk(&mut tx).await?;
    }
    tx.commit().await?;
    let (created, actor) = (allowed.ddl.is_some(), cause.actor);
    tracing::info!(target_name = wanted.target, key = ?wanted.key, created, again, actor, "target allowed");
    Ok(allowed)
}

/// Does it within a transaction, and says whether the target was allowed already and only lacked its table.
async fn allow(
    tx: &mut PgConnection,
    describing: &Describing,
    wanted: &WantedTarget<'_>,
    schemas: &SourceSchemas,
) -> Result<(Allowed, bool), AllowError> {
    let name = parse(wanted)?;
    let lost = lost(tx, wanted, &name).await?;
    let ddl = match new_mart(tx, describing, wanted, &name, schemas).await? {
        Some(mart) => Some(marts::create(tx, &mart).await.map_err(refusal)?),
        None => None,
    };
    refuse_wrong(validation::target_problems(tx, &name, wanted.key, wanted.options).await?)?;
    if lost.is_some() {
        return Ok((Allowed { entry: lost, ddl }, true));
    }
    let entry = targets::insert(tx, wanted.target, wanted.key, wanted.options).await.map_err(|error| {
        if store::violates(&error, "etl_targets_pkey") {
            AllowError::Taken(wanted.target.to_owned())
        } else {
            error.into()
        }
    })?;
    Ok((Allowed { entry: Some(entry), ddl }, false))
}

/// The entry of a target that is allowed already, if its table is gone and wanted again.
async fn lost(
    connection: &mut PgConnection,
    wanted: &WantedTarget<'_>,
    name: &TargetName,
) -> Result<Option<Target>, AllowError> {
    let TargetName::Mart(table) = name else { return Ok(None) };
    if wanted.create_from.is_none() || tables::exists(connection, table).await? {
        return Ok(None);
    }
    Ok(targets::find(connection, wanted.target).await?.filter(|entry| entry.key == wanted.key))
}

/// Forgets the checkpoints of all pipelines that write a target: an empty table has none of the rows up to them.
async fn begin_anew(tx: &mut PgConnection, target: &str, cause: Cause<'_>) -> Result<(), AllowError> {
    for writer in pipelines::writing(tx, target).await? {
        let Some(pipeline) = pipelines::lock(tx, &writer.id.into()).await? else { continue };
        if pipeline.status.has_unfinished_run() {
            return Err(AllowError::Busy(pipeline.draft.name));
        }
        match lifecycle::forget_checkpoint(tx, &pipeline, CREATED_AGAIN, cause).await {
            Ok(_) => {}
            Err(LifecycleError::Database(error)) => return Err(error.into()),
            Err(_) => return Err(AllowError::Busy(pipeline.draft.name)),
        }
    }
    Ok(())
}

const CREATED_AGAIN: &str =
    "checkpoint forgotten: the table of the target was created again, the next run reads everything";

#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error("there is no target `{0}`")]
    NoTarget(String),
    #[error("target `{target}` is written by {}: remove or change them first", .pipelines.join(", "))]
    Written { target: String, pipelines: Vec<String> },
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Takes a target off the whitelist. Its table or index stays.
pub async fn forget_target(db: &PgPool, target: &str, cause: Cause<'_>) -> Result<(), ForgetError> {
    let mut connection = db.acquire().await?;
    // PostgreSQL cannot even look for such a name.
    if target.contains('\0') {
        return Err(ForgetError::NoTarget(target.to_owned()));
    }
    match targets::delete(&mut connection, target).await {
        Ok(true) => {
            tracing::info!(target_name = target, actor = cause.actor, "target taken off the whitelist");
            Ok(())
        }
        Ok(false) => Err(ForgetError::NoTarget(target.to_owned())),
        Err(error)
            if store::violates(&error, "etl_pipelines_target_fkey")
                || store::violates(&error, "etl_pipeline_tasks_target_fkey") =>
        {
            let names = targets::named_by(&mut connection, target).await?;
            let pipelines = names.into_iter().map(|name| format!("`{name}`")).collect();
            Err(ForgetError::Written { target: target.to_owned(), pipelines })
        }
        Err(error) => Err(error.into()),
    }
}

fn parse(wanted: &WantedTarget<'_>) -> Result<TargetName, AllowError> {
    refuse_wrong(too_much(wanted))?;
    let parsed: Result<TargetName, _> = wanted.target.parse();
    parsed.map_err(|error| AllowError::Wrong(vec![Problem::new("target", error.to_string())]))
}

/// What has no end by its form. It is looked at first: everything else is looked at one by one.
fn too_much(wanted: &WantedTarget<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if wanted.key.len() > MAX_KEY_COLUMNS {
        problems.push(Problem::new("key", format!("a key has 1 to {MAX_KEY_COLUMNS} columns")));
    }
    problems.extend(wanted.options.as_object().and_then(|options| bounds::options_problem("options", options)));
    problems
}

fn refuse_wrong(problems: Vec<Problem>) -> Result<(), AllowError> {
    if problems.is_empty() { Ok(()) } else { Err(AllowError::Wrong(problems)) }
}

/// The table to create: none if the client wants none, or if it is there.
async fn new_mart(
    connection: &mut PgConnection,
    describing: &Describing,
    wanted: &WantedTarget<'_>,
    name: &TargetName,
    schemas: &SourceSchemas,
) -> Result<Option<NewMart>, AllowError> {
    let Some(sql) = wanted.create_from else { return Ok(None) };
    if let TargetName::Mart(table) = name
        && tables::exists(connection, table).await?
    {
        return Ok(None);
    }
    let planned = validation::plan_mart(connection, describing, name, wanted.key, sql, schemas).await?;
    planned.map(Some).map_err(AllowError::Wrong)
}

/// What the server says against the table is for the author of the query: a key of a type that cannot be ordered, a
/// name that something else has.
fn refusal(error: sqlx::Error) -> AllowError {
    let complaint = error.as_database_error().filter(|complaint| {
        complaint.code().is_some_and(|code| code.starts_with("42") || code.starts_with("54") || code.starts_with("0A"))
    });
    match complaint {
        Some(complaint) => AllowError::Wrong(vec![Problem::new("create", format!("PostgreSQL refuses: {complaint}"))]),
        None => error.into(),
    }
}
