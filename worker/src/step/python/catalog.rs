//! The steps of a worker: what its first process found, checked against the types of the server.

use std::sync::Arc;

use sqlx::{PgConnection, PgPool};
use vitrina_shared::{domain::transform::PublishedStep, store::worker_steps};

use super::{Interpreter, Python, loaded::Declared};

/// Types of arrays of which no value can be told to be one.
const NO_SUCH_ARRAYS: [&str; 2] = ["json[]", "jsonb[]"];

impl Python {
    /// Finds the steps of this worker; none where it has no directory, or no Python. What is wrong is logged: pipelines without
    /// such steps run all the same.
    pub async fn find(interpreter: &Arc<Interpreter>, db: &PgPool) -> sqlx::Result<Option<Self>> {
        let Some(pool) = interpreter.pool().await else { return Ok(None) };
        let (loaded, mut connection) = (pool.published(), db.acquire().await?);
        let mut steps = Vec::new();
        for step in loaded.steps.clone() {
            steps.extend(published(&mut connection, step, &loaded.version).await?.map(Arc::new));
        }
        let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
        tracing::info!(version = loaded.version, steps = names.join(", "), "steps in Python found");
        Ok(Some(Self { steps, pool }))
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
