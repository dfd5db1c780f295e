//! What must hold between the columns that arrive and an index. Elasticsearch itself is not asked: workers do that.

use serde_json::Value;

use super::{IndexOptions, Mode, PipelineDraft, Problem, SourceColumn, WriteMode};

/// Names that Elasticsearch keeps for itself.
const RESERVED: &[&str] =
    &["_id", "_index", "_type", "_source", "_routing", "_version", "_seq_no", "_field_names", "_ignored", "_doc_count"];

pub(super) fn mismatches(draft: &PipelineDraft, options: &Value, arriving: &[SourceColumn]) -> Vec<Problem> {
    let (target, field) = draft.final_target();
    let (_, query) = draft.reader().unwrap_or(("", "source_query"));
    let mut problems: Vec<Problem> =
        arriving.iter().filter_map(name_problem).map(|message| Problem::new(query, message)).collect();
    if draft.options.full_strategy.is_some() {
        let message = "an index is always built anew and swapped: leave full_strategy out";
        problems.push(Problem::new("options.full_strategy", message));
    }
    match IndexOptions::parse(options) {
        Ok(options) => {
            let problem = write_problem(draft, &options, arriving);
            problems.extend(problem.map(|message| Problem::new(field, message)));
        }
        Err(wrong) => {
            let said = |problem: Problem| format!("target `{target}`: {} {}", problem.field, problem.message);
            problems.extend(wrong.into_iter().map(|problem| Problem::new(field, said(problem))));
        }
    }
    problems
}

fn name_problem(column: &SourceColumn) -> Option<String> {
    let name = &column.name;
    if name.contains('.') {
        Some(format!("column `{name}` has a dot, which Elasticsearch takes for a path: give it an alias"))
    } else if RESERVED.contains(&name.as_str()) {
        Some(format!("column `{name}` has a name that Elasticsearch keeps for itself: give it an alias"))
    } else {
        None
    }
}

fn write_problem(draft: &PipelineDraft, options: &IndexOptions, arriving: &[SourceColumn]) -> Option<String> {
    if draft.mode == Mode::Full {
        return None;
    }
    let target = draft.final_target().0;
    if options.write? != WriteMode::Update {
        return None;
    }
    let column = arriving.iter().find(|column| column.value_type().is_json())?;
    Some(format!(
        "`{target}` has the option write `update`, which would merge the objects of column `{}` with those that are there: \
         leave the option out, or choose `index`",
        column.name
    ))
}
