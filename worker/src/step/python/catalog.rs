//! The steps of a worker: what its first process found, checked against the types of the server.

use std::sync::Arc;

use sqlx::PgConnection;
use vitrina_shared::{config::PythonConfig, domain::transform::PublishedStep, store::worker_steps};

use super::{
    Python,
    loaded::{Declared, Loaded},
    pool::Pool,
};

/// Types of arrays of which no value can be told to be one.
const NO_SUCH_ARRAYS: [&str; 2] = ["json[]", "jsonb[]"];

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
        if NO_SUCH_ARRAYS.contains(&column.type_name.as_str()) {
            tracing::error!(
                step = declared.name,
                column = name,
                "the step is left out: a list in `{type_name}` may be an element or a dimension, so declare `jsonb`"
            );
            return Ok(None);
        }
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
