//! What is in the operator's directory: found by the first process, checked against the types of the server.

use std::{path::Path, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use sqlx::PgConnection;
use vitrina_shared::{config::PythonConfig, domain::transform::PublishedStep, store::worker_steps};

use super::{
    Python,
    pool::Pool,
    process::{Process, ProcessError},
};

/// The pauses before a worker starts its first process again.
const FIRST_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// What a process says of the directory.
#[derive(Debug, Deserialize)]
pub(super) struct Loaded {
    pub version: String,
    pub steps: Vec<Declared>,
    problems: Vec<ImportProblem>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Declared {
    name: String,
    description: String,
    columns: Vec<(String, String)>,
    removes: Vec<String>,
    needs: Vec<String>,
    options_schema: Value,
    per_row: bool,
    pure: bool,
}

/// A module that could not be imported.
#[derive(Debug, Deserialize)]
struct ImportProblem {
    module: String,
    error: String,
    place: String,
}

impl Loaded {
    /// Starts a process, and logs what it could not import.
    pub async fn start(config: &PythonConfig, path: &Path) -> Result<(Process, Self), ProcessError> {
        let (process, loaded) = Process::start(config, path).await?;
        let loaded: Self = serde_json::from_slice(&loaded).map_err(|_| ProcessError::Rubbish)?;
        for ImportProblem { module, error, place } in &loaded.problems {
            tracing::error!(module, error, place, "a module of VITRINA_PYTHON_PATH could not be imported");
        }
        Ok((process, loaded))
    }

    /// Starts the first process. What it lacks the worker lacks, so it is tried several times.
    async fn start_first(config: &PythonConfig, path: &Path) -> Result<(Process, Self), ProcessError> {
        for delay in FIRST_DELAYS {
            match Self::start(config, path).await {
                Err(error) if error.may_pass() => {
                    tracing::warn!(path = %path.display(), error = %error, "Python is started again");
                    tokio::time::sleep(delay).await;
                }
                started => return started,
            }
        }
        Self::start(config, path).await
    }
}

impl Python {
    /// Finds the steps of this worker; none where it has no directory, or no Python. What is wrong is logged: pipelines without
    /// such steps run all the same.
    pub async fn find(
        config: &PythonConfig,
        processes: usize,
        connection: &mut PgConnection,
    ) -> sqlx::Result<Option<Self>> {
        let Some(path) = &config.path else { return Ok(None) };
        let (process, loaded) = match Loaded::start_first(config, path).await {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(path = %path.display(), error = %error, "this worker has no steps in Python");
                return Ok(None);
            }
        };
        let mut steps = Vec::new();
        for step in loaded.steps.clone() {
            steps.extend(published(connection, step, &loaded.version).await?.map(Arc::new));
        }
        let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
        tracing::info!(path = %path.display(), version = loaded.version, steps = names.join(", "), "steps in Python found");
        let pool = Pool::new(config.clone(), path.clone(), processes, (process, loaded));
        Ok(Some(Self { steps, pool: Arc::new(pool) }))
    }
}

/// The declaration as it is published; none where the server has no such type.
async fn published(
    connection: &mut PgConnection,
    declared: Declared,
    version: &str,
) -> sqlx::Result<Option<PublishedStep>> {
    let mut columns = Vec::new();
    for (name, type_name) in &declared.columns {
        let Some(column) = worker_steps::column(connection, name, type_name).await? else {
            tracing::error!(
                step = declared.name,
                column = name,
                "the step is left out: `{type_name}` is no type of PostgreSQL's own"
            );
            return Ok(None);
        };
        columns.push(column);
    }
    let Declared { name, description, removes, needs, options_schema, per_row, pure, .. } = declared;
    let version = version.to_owned();
    Ok(Some(PublishedStep {
        name,
        description,
        options_schema,
        columns,
        removes,
        needs,
        per_row,
        is_pure: pure,
        version,
    }))
}
