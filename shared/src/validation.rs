//! Everything that must hold of a pipeline before it is stored, found all at once.
//!
//! domain rules → whitelist → guard → what the server says of the query → the target's columns and key.

mod creation;
mod index;
mod key;
mod late;
mod plan;
mod query;
mod target;

use std::collections::BTreeSet;

use sqlx::{PgConnection, PgPool};

use crate::{
    domain::{PipelineDraft, Problem, SourceColumn, TargetName},
    guard::{Describing, GuardError, Refusal, SourceQuery, SourceSchemas},
    store::{targets, value_types::ValueType},
};

pub use creation::plan as plan_mart;
pub use target::problems as target_problems;

/// What was found out about a draft.
#[derive(Debug)]
pub struct Review {
    /// Everything that is wrong; empty means that it can be stored and run.
    pub problems: Vec<Problem>,
    /// The reader's query, where it passed the guard.
    pub reader: Option<Reader>,
    /// Whether the server did not answer in time, so that the same draft may pass later.
    pub timed_out: bool,
}

/// A reader's query that passed the guard.
#[derive(Debug)]
pub struct Reader {
    /// The query.
    pub query: SourceQuery,
    /// What it returns.
    pub columns: Vec<SourceColumn>,
    /// What the types of its columns are made of, in the same order.
    pub types: Vec<ValueType>,
    /// The tables and views that it names, as SQL writes them.
    pub relations: BTreeSet<String>,
    /// The column of a table or view that each of its columns is: oid and number, zero where it is none.
    pub origins: Vec<(u32, i16)>,
    /// What makes it return other values each time it is read, such as `now()`.
    pub unsteady: BTreeSet<String>,
    /// What arrives at the target, after the plan's transforms.
    pub arriving: Vec<SourceColumn>,
}

impl Reader {
    /// The names of what arrives at the target.
    pub fn arriving_names(&self) -> Vec<&str> {
        self.arriving.iter().map(|column| column.name.as_str()).collect()
    }

    /// The types of the columns that an incremental run walks by.
    pub fn walk_types(&self, draft: &PipelineDraft) -> Vec<&str> {
        let names = draft.incremental_key.iter().chain(&draft.incremental_id_key);
        let column = |name: &String| self.columns.iter().find(|column| column.name == *name);
        names.filter_map(column).map(|column| column.type_name.as_str()).collect()
    }
}

/// Finds out everything about a draft.
pub async fn review(
    db: &PgPool,
    describing: &Describing,
    draft: &PipelineDraft,
    schemas: &SourceSchemas,
) -> Result<Review, sqlx::Error> {
    review_over(&mut *db.acquire().await?, describing, draft, schemas).await
}

/// Finds out everything about a draft over a connection that the caller has.
pub async fn review_over(
    mut connection: &mut PgConnection,
    describing: &Describing,
    draft: &PipelineDraft,
    schemas: &SourceSchemas,
) -> Result<Review, sqlx::Error> {
    let mut problems = draft.problems();
    problems.extend(unlisted(&mut connection, draft).await?);
    let Some((sql, field)) = draft.reader().filter(|(sql, _)| !sql.trim().is_empty()) else {
        problems.extend(target::alone(&mut connection, draft).await?);
        return Ok(Review { problems, reader: None, timed_out: false });
    };
    let walk = (draft.incremental_key.as_deref(), draft.incremental_id_key.as_deref());
    match query::read(describing, sql, walk, schemas).await {
        Ok(mut reader) => {
            match plan::arriving(&draft.tasks, &reader.columns) {
                Ok(columns) => reader.arriving = columns,
                Err(problem) => problems.push(problem),
            }
            problems.extend(query::paging_problem(draft, &reader).map(|message| Problem::new(field, message)));
            problems.extend(query::key_problems(draft, &reader.columns));
            problems.extend(late::problems(&mut connection, draft, &reader, field).await?);
            problems.extend(target::mismatches(&mut connection, draft, &reader).await?);
            Ok(Review { problems, reader: Some(reader), timed_out: false })
        }
        Err(GuardError::Refused(refusal)) => {
            problems.push(Problem::new(field, refusal.to_string()));
            problems.extend(target::alone(&mut connection, draft).await?);
            let timed_out = matches!(refusal, Refusal::NotDescribed { .. });
            Ok(Review { problems, reader: None, timed_out })
        }
        Err(GuardError::Database(error)) => Err(error),
    }
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
