//! What must hold of a plan's transforms, given what the reader returns.

use crate::domain::{Problem, SourceColumn, Task, TaskKind, transform};

/// The columns after all transforms, or which step cannot work. Steps that are wrong by themselves are passed over.
pub(super) fn arriving(tasks: &[Task], columns: &[SourceColumn]) -> Result<Vec<SourceColumn>, Problem> {
    let mut columns = columns.to_vec();
    for (place, task) in tasks.iter().enumerate().filter(|(_, task)| task.task_type != TaskKind::Sql) {
        let Some(Ok(transform)) = transform::find(&task.body).map(|kind| (kind.configure)(&task.options)) else {
            continue;
        };
        let refused = |message| Problem::new(format!("tasks[{place}].options"), message);
        transform.columns(&mut columns).map_err(refused)?;
    }
    Ok(columns)
}

/// The step that changes a column of the target's key. Pages are walked, and stale rows found, by the reader's key.
pub(super) fn touched_keys(tasks: &[Task], key: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (place, task) in tasks.iter().enumerate().filter(|(_, task)| task.task_type != TaskKind::Sql) {
        let transforms = transform::configured(std::slice::from_ref(task));
        let touched = transforms.iter().flat_map(|transform| transform.touches());
        problems.extend(touched.filter(|name| key.iter().any(|column| column == name)).map(|name| {
            let message =
                format!("`{name}` is part of the target's key, which a transform must leave as the query gives it");
            Problem::new(format!("tasks[{place}].options"), message)
        }));
    }
    problems
}
