//! Whether the limits that a plan names are there.

use sqlx::PgConnection;

use crate::{
    domain::{PipelineDraft, Problem, ProblemKind, TaskKind},
    store::limits,
};

/// What keeps runs of a draft from beginning, though it may be stored: limits that an operator has still to set.
pub async fn missing_limits(connection: &mut PgConnection, draft: &PipelineDraft) -> Result<Vec<Problem>, sqlx::Error> {
    let named = draft.tasks.iter().enumerate().filter_map(|(place, task)| {
        let calls = task.task_type == TaskKind::Rust && task.body == "http";
        Some((place, task.options.get("limit").filter(|_| calls)?.as_str()?))
    });
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = named.iter().map(|(_, name)| (*name).to_owned()).collect();
    let known = limits::known(connection, &names).await?;
    let missing = named.into_iter().filter(|(_, name)| !known.iter().any(|known| known == name));
    let problems = missing.map(|(place, name)| {
        let message = format!(
            "there is no limit `{name}`, and runs fail until an operator sets it: `vitrina limits set {name} --tokens 10 --period 1s`"
        );
        Problem::new(format!("tasks[{place}].options.limit"), message).of_kind(ProblemKind::NoLimit)
    });
    Ok(problems.collect())
}
