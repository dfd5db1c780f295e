//! A pipeline's plan: the SQL reader first, then registered transforms.

use super::{
    Problem, TargetName, Task, TaskKind,
    bounds::{self, MAX_STEPS},
    transform::Registry,
};

/// Everything that is wrong with a plan. A broken plan starts nothing. No tasks is no plan, and fine.
pub fn problems(tasks: &[Task], transforms: &Registry) -> Vec<Problem> {
    if tasks.len() > MAX_STEPS {
        return vec![Problem::new(
            "tasks",
            format!("a plan has at most {MAX_STEPS} steps, this one has {}", tasks.len()),
        )];
    }
    let mut problems = order_problems(tasks);
    let last = tasks.len().saturating_sub(1);
    for (place, task) in tasks.iter().enumerate() {
        problems.extend(step_problem(place, task));
        problems.extend(body_problem(place, task, transforms));
        problems.extend(options_problem(place, task, transforms));
        problems.extend(target_problem(place == last, place, task));
    }
    problems
}
fn order_problems(tasks: &[Task]) -> Vec<Problem> {
    let out_of_order = |(place, task): (usize, &Task)| {
        (usize::try_from(task.order_index) != Ok(place + 1)).then(|| {
            Problem::new(
                format!("tasks[{place}].order_index"),
                format!(
                    "steps are numbered 1, 2, 3 … in their order, each once: expected {}, found {}",
                    place + 1,
                    task.order_index
                ),
            )
        })
    };
    tasks.iter().enumerate().filter_map(out_of_order).collect()
}

fn step_problem(place: usize, task: &Task) -> Option<Problem> {
    let message = match (place, task.task_type) {
        (0, TaskKind::Sql) | (1.., TaskKind::Rust | TaskKind::Python) => return None,
        (0, TaskKind::Rust | TaskKind::Python) => "the first step reads the source: its type is SQL",
        (1.., TaskKind::Sql) => {
            "only the first step is SQL: the others are registered transforms, of type RUST, or steps of workers, of type PYTHON"
        }
    };
    Some(Problem::new(format!("tasks[{place}].task_type"), message))
}

fn body_problem(place: usize, task: &Task, transforms: &Registry) -> Option<Problem> {
    let field = format!("tasks[{place}].body");
    if task.body.trim().is_empty() {
        return Some(Problem::new(field, "a step needs a body: a query, or the name of a registered transform"));
    }
    if task.task_type == TaskKind::Sql || transforms.configure(task).is_some() {
        return None;
    }
    Some(Problem::new(field, unknown(task, transforms)))
}

/// What is said of a name that there is no code for, with what would be right.
fn unknown(task: &Task, transforms: &Registry) -> String {
    let name: String = task.body.chars().take(100).collect();
    let other_kind = match task.task_type {
        TaskKind::Python => transforms.find(&name).map(|_| TaskKind::Rust),
        TaskKind::Rust => transforms.find_published(&name).map(|_| TaskKind::Python),
        TaskKind::Sql => None,
    };
    if let Some(kind) = other_kind {
        return format!("no transform `{name}` is of type {}: the step of this name is of type {kind}", task.task_type);
    }
    if task.task_type == TaskKind::Rust {
        let known = transforms.names();
        return format!("no transform `{name}` is registered in this deployment: it has {known}");
    }
    let known: Vec<_> = transforms.published().iter().map(|step| step.name.as_str()).collect();
    let have = match known.is_empty() {
        true => "no live worker has steps in Python. Set VITRINA_PYTHON_PATH of a worker to the directory of its code"
            .to_owned(),
        false => format!("live workers have {}", known.join(", ")),
    };
    format!("no transform `{name}` in Python is on a live worker: {have}")
}

fn options_problem(place: usize, task: &Task, transforms: &Registry) -> Option<Problem> {
    let field = format!("tasks[{place}].options");
    if let Some(problem) = bounds::options_problem(&field, &task.options) {
        return Some(problem);
    }
    let refusal = transforms.configure(task)?.err()?;
    Some(Problem::new(field, refusal))
}

fn target_problem(is_last: bool, place: usize, task: &Task) -> Option<Problem> {
    let field = format!("tasks[{place}].target_table");
    let target = task.target_table.as_ref()?;
    if !is_last {
        return Some(Problem::new(field, "only the last step may override the target"));
    }
    target.parse::<TargetName>().err().map(|error| Problem::new(field, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(order_index: i32, task_type: TaskKind, body: &str) -> Task {
        Task { order_index, task_type, body: body.to_owned(), target_table: None, options: serde_json::Map::new() }
    }

    fn messages(tasks: &[Task]) -> Vec<String> {
        problems(tasks, &Registry::default())
            .into_iter()
            .map(|problem| format!("{}: {}", problem.field, problem.message))
            .collect()
    }

    #[test]
    fn a_plan_of_one_sql_step_is_complete() {
        assert_eq!(messages(&[step(1, TaskKind::Sql, "select 1")]), Vec::<String>::new());
    }

    #[test]
    fn every_rule_has_its_own_message() {
        let mut early_target = step(1, TaskKind::Sql, "select 1");
        early_target.target_table = Some("analytics.film_dim".to_owned());
        let cases: &[(&[Task], &str)] = &[
            (&[step(2, TaskKind::Sql, "select 1")], "tasks[0].order_index"),
            (&[step(1, TaskKind::Sql, "select 1"), step(1, TaskKind::Rust, "x")], "tasks[1].order_index"),
            (&[step(1, TaskKind::Rust, "x")], "the first step reads the source"),
            (&[step(1, TaskKind::Sql, "select 1"), step(2, TaskKind::Sql, "select 2")], "only the first step is SQL"),
            (&[step(1, TaskKind::Sql, "  ")], "a step needs a body"),
            (
                &[step(1, TaskKind::Sql, "select 1"), step(2, TaskKind::Rust, "paint")],
                "no transform `paint` is registered",
            ),
            (&[step(1, TaskKind::Sql, "select 1"), step(2, TaskKind::Rust, "mask")], "missing field `columns`"),
            (
                &[step(1, TaskKind::Sql, "select 1"), step(2, TaskKind::Python, "paint")],
                "no transform `paint` in Python is on a live worker: no live worker has steps in Python",
            ),
            (
                &[step(1, TaskKind::Sql, "select 1"), step(2, TaskKind::Python, "mask")],
                "no transform `mask` is of type PYTHON: the step of this name is of type RUST",
            ),
            (&[early_target, step(2, TaskKind::Rust, "mask")], "only the last step may override"),
        ];
        for (tasks, expected) in cases {
            let found = messages(tasks);
            assert!(found.iter().any(|message| message.contains(expected)), "{expected} not in {found:?}");
        }
    }

    #[test]
    fn the_last_step_may_write_to_another_target_but_not_to_any() {
        let mut task = step(1, TaskKind::Sql, "select 1");
        task.target_table = Some("etl.etl_runs".to_owned());
        assert!(messages(&[task.clone()])[0].contains("is not a target"));
        task.target_table = Some("analytics.film_dim".to_owned());
        assert_eq!(messages(&[task]), Vec::<String>::new());
    }
}
