//! Everything that must hold of a pipeline before it is stored, found all at once.
//!
//! domain rules → whitelist → guard → what the server says of the query → the target's columns and key.

mod query;
mod target;

use sqlx::{PgConnection, PgPool};

use crate::{
    domain::{PipelineDraft, Problem, TargetName},
    guard::{GuardError, SourceSchemas},
    store::targets,
};

pub use target::problems as target_problems;

/// All problems of a draft; none means that it can be stored and run.
pub async fn problems(
    db: &PgPool,
    draft: &PipelineDraft,
    schemas: &SourceSchemas,
) -> Result<Vec<Problem>, sqlx::Error> {
    let mut problems = draft.problems();
    let mut connection = db.acquire().await?;
    problems.extend(unlisted(&mut connection, draft).await?);
    let Some((sql, field)) = draft.reader().filter(|(sql, _)| !sql.trim().is_empty()) else { return Ok(problems) };
    match query::read(&mut connection, draft, sql, schemas).await {
        Ok(reader) => {
            problems.extend(reader.problems.into_iter().map(|message| Problem::new(field, message)));
            problems.extend(query::key_problems(draft, &reader.columns));
            problems.extend(target::mismatches(&mut connection, draft, &reader.columns).await?);
        }
        Err(GuardError::Refused(refusal)) => problems.push(Problem::new(field, refusal.to_string())),
        Err(GuardError::Database(error)) => return Err(error),
    }
    Ok(problems)
}

/// Targets that are well written but not in the whitelist.
async fn unlisted(connection: &mut PgConnection, draft: &PipelineDraft) -> Result<Vec<Problem>, sqlx::Error> {
    let mut named = vec![(draft.target_table.as_str(), "target_table")];
    let (last, field) = draft.final_target();
    if last != draft.target_table {
        named.push((last, field));
    }
    let mut problems = Vec::new();
    for (target, field) in named {
        if target.parse::<TargetName>().is_ok() && targets::find(connection, target).await?.is_none() {
            problems.push(Problem::new(
                field,
                format!("target `{target}` is not in the whitelist: an admin adds it with POST /api/v1/targets"),
            ));
        }
    }
    Ok(problems)
}
