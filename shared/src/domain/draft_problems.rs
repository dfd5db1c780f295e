//! What can be wrong with a pipeline's draft by itself.

use uuid::Uuid;

use super::{
    FullStrategy, Mode, PipelineDraft, Problem, TargetName, TaskKind,
    bounds::{MAX_NAME_BYTES, MAX_QUERY_BYTES},
    task_plan,
    transform::Registry,
};

/// Largest batch. Beyond it a transaction would be long without being faster.
const MAX_BATCH_SIZE: i32 = 1_000_000;
const MAX_DESCRIPTION: usize = 2_000;

impl PipelineDraft {
    /// Everything that is wrong with the draft by itself, without looking at a database.
    pub fn problems(&self, transforms: &Registry) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.name_problem().into_iter().collect();
        problems.extend(self.size_problems());
        problems.extend(self.mode_problems());
        problems.extend(self.row_error_problems());
        problems.extend(self.options.hooks.problems());
        problems.extend(self.source_problems());
        problems.extend(task_plan::problems(&self.tasks, transforms));
        if let Err(error) = self.target_table.parse::<TargetName>() {
            problems.push(Problem::new("target_table", error.to_string()));
        }
        problems
    }

    fn name_problem(&self) -> Option<Problem> {
        let well_formed = self.name.len() <= 100
            && self.name.starts_with(|c: char| c.is_ascii_alphabetic())
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        if !well_formed {
            return Some(Problem::new(
                "name",
                "a name has 1 to 100 letters, digits, `_`, `.` or `-` and begins with a letter",
            ));
        }
        Uuid::try_parse(&self.name).is_ok().then(|| Problem::new("name", "a name must not look like an id"))
    }

    fn size_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !(1..=MAX_BATCH_SIZE).contains(&self.batch_size) {
            problems.push(Problem::new("batch_size", format!("a batch has 1 to {MAX_BATCH_SIZE} rows")));
        }
        if self.description.chars().count() > MAX_DESCRIPTION {
            problems.push(Problem::new("description", format!("at most {MAX_DESCRIPTION} characters")));
        }
        // The reader's query is the guard's to judge; this one a plan has taken the place of.
        if !self.tasks.is_empty() && self.source_query.as_ref().is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
            problems.push(Problem::new("source_query", format!("a query has at most {MAX_QUERY_BYTES} bytes")));
        }
        if self.description.contains('\0') {
            problems.push(Problem::new("description", "text must not contain NUL characters"));
        }
        problems
    }

    fn mode_problems(&self) -> Vec<Problem> {
        let keys = [("incremental_key", &self.incremental_key), ("incremental_id_key", &self.incremental_id_key)];
        let mut problems = Vec::new();
        for (field, column) in keys {
            match (self.mode, column) {
                (Mode::Incremental, None) => {
                    problems.push(Problem::new(field, "an incremental pipeline needs this column of its query"));
                }
                (_, Some(column)) if column.is_empty() || column.len() > MAX_NAME_BYTES || column.contains('\0') => {
                    problems.push(Problem::new(field, format!("a column's name has 1 to {MAX_NAME_BYTES} bytes")));
                }
                (Mode::Full | Mode::Incremental, _) => {}
            }
        }
        if self.mode == Mode::Incremental
            && self.incremental_key.is_some()
            && self.incremental_key == self.incremental_id_key
        {
            let message = "the id tells apart rows with equal keys, so it is another column than incremental_key: the \
                 primary key is the usual one";
            problems.push(Problem::new("incremental_id_key", message));
        }
        if self.mode == Mode::Incremental && self.options.full_strategy.is_some() {
            problems.push(Problem::new("options.full_strategy", "only a pipeline in mode `full` has a full strategy"));
        }
        if self.mode == Mode::Full && self.options.lookback_seconds.is_some() {
            problems
                .push(Problem::new("options.lookback_seconds", "a pipeline in mode `full` reads everything anyway"));
        }
        if self.mode == Mode::Full && self.options.key_order.is_some() {
            problems.push(Problem::new("options.key_order", "a pipeline in mode `full` reads everything anyway"));
        }
        problems
    }

    fn row_error_problems(&self) -> Vec<Problem> {
        let options = &self.options;
        let mut problems = Vec::new();
        if options.max_rejects.is_some() && options.rejects_allowed().is_none() {
            problems
                .push(Problem::new("options.max_rejects", "rows are put aside only with on_row_error `dead_letter`"));
        }
        if options.rejects_allowed().is_some() && options.full_strategy == Some(FullStrategy::Swap) {
            problems
                .push(Problem::new("options.on_row_error", "a swap takes all rows or none: use full_strategy `merge`"));
        }
        problems
    }

    fn source_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.tasks.is_empty() && self.source_query.as_deref().is_none_or(|query| query.trim().is_empty()) {
            problems.push(Problem::new("source_query", "a pipeline needs a query here or a plan in `tasks`"));
        }
        if self.kind != TaskKind::Sql && !self.tasks.iter().any(|task| task.task_type != TaskKind::Sql) {
            problems.push(Problem::new(
                "type",
                format!("a pipeline of type {} needs a plan with a registered transform", self.kind),
            ));
        }
        problems
    }
}
