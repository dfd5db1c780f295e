//! The output of a plan: as a coloured diff for people, as JSON for programs.

use serde_json::{Value, json};

use super::{
    changes::Change,
    plan::{Action, PipelinePlan, Plan},
};
use crate::{
    commands::objects::{self, says_something},
    output::{BAD, BOLD, DIM, GOOD, WARN, paint, printable},
};

/// Fields whose change makes an incremental pipeline forget its checkpoint.
const FORGETTING: [&str; 3] = ["incremental_key", "incremental_id_key", "target_table"];
const FORGETS: &str = "      its checkpoint is forgotten: the next run reads everything";

pub(super) fn plan(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for target in &plan.targets {
        let what = if target.ddl.is_some() { "target, created" } else { "target" };
        lines.push(format!("{} {} {}", paint(GOOD, "+"), paint(BOLD, printable(&target.name)), paint(DIM, what)));
        let ddl = target.ddl.iter().flat_map(|ddl| ddl.lines());
        lines.extend(ddl.map(|line| paint(GOOD, format!("      {}", printable(line)))));
    }
    for one in &plan.pipelines {
        lines.extend(pipeline(one));
    }
    lines.join("\n")
}

fn pipeline(pipeline: &PipelinePlan) -> Vec<String> {
    let name = paint(BOLD, printable(&pipeline.name));
    match &pipeline.action {
        Action::Create => {
            let fields = pipeline.body.as_object().into_iter().flatten();
            let said = fields.filter(|(field, value)| *field != "name" && says_something(value));
            let added = said.map(|(field, to)| Change { field: field.clone(), from: Value::Null, to: to.clone() });
            let head = format!("{} {name}", paint(GOOD, "+"));
            [head].into_iter().chain(added.flat_map(|change| difference(&change))).collect()
        }
        Action::Change { changes, .. } => {
            let head = format!("{} {name}", paint(WARN, "~"));
            let forgets = changes.iter().any(|change| FORGETTING.contains(&change.field.as_str()));
            let warning = (pipeline.body["mode"] == "incremental" && forgets).then(|| paint(WARN, FORGETS));
            [head].into_iter().chain(changes.iter().flat_map(difference)).chain(warning).collect()
        }
        Action::Keep => vec![format!("{} {name} {}", paint(DIM, "="), paint(DIM, "unchanged"))],
    }
}

/// A field's value; a plan step by step.
fn shown(value: &Value) -> String {
    let steps = |tasks: &Vec<Value>| {
        let steps = objects::steps(tasks).map(|(name, step)| format!("{name}: {}", step.replace('\n', "\n  ")));
        steps.collect::<Vec<_>>().join("\n")
    };
    value.as_array().map_or_else(|| printable(&objects::text(value)), steps)
}

/// One field: on a line where both fit there, else line by line.
fn difference(change: &Change) -> Vec<String> {
    let (from, to) = (shown(&change.from), shown(&change.to));
    let field = &change.field;
    if from.contains('\n') || to.contains('\n') || from.len() + to.len() > 60 {
        let head = format!("      {field}:");
        return [head].into_iter().chain(line_by_line(&from, &to)).collect();
    }
    match (says_something(&change.from), says_something(&change.to)) {
        (false, _) => vec![format!("      {field}: {}", paint(GOOD, to))],
        (true, false) => vec![format!("      {field}: {} → {}", paint(BAD, from), paint(DIM, "nothing"))],
        (true, true) => vec![format!("      {field}: {} → {}", paint(BAD, from), paint(GOOD, to))],
    }
}

/// The lines without the common beginning and end.
fn line_by_line(from: &str, to: &str) -> Vec<String> {
    let (from, to): (Vec<_>, Vec<_>) = (from.lines().collect(), to.lines().collect());
    let before = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let rest = from.len().min(to.len()) - before;
    let after = from.iter().rev().zip(to.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let same = |line: &&str| paint(DIM, format!("          {line}"));
    let mut lines: Vec<_> = from[before.saturating_sub(1)..before].iter().map(same).collect();
    lines.extend(from[before..from.len() - after].iter().map(|line| paint(BAD, format!("        - {line}"))));
    lines.extend(to[before..to.len() - after].iter().map(|line| paint(GOOD, format!("        + {line}"))));
    lines.extend(from[from.len() - after..].iter().take(1).map(same));
    lines
}

pub(super) fn totals(plan: &Plan, dry_run: bool) -> String {
    let count = |wanted: fn(&Action) -> bool| plan.pipelines.iter().filter(|one| wanted(&one.action)).count();
    let created = count(|action| matches!(action, Action::Create));
    let changed = count(|action| matches!(action, Action::Change { .. }));
    let kept = count(|action| matches!(action, Action::Keep));
    let targets = match plan.targets.len() {
        0 => String::new(),
        1 => "1 target, ".to_owned(),
        some => format!("{some} targets, "),
    };
    let summary = format!("{targets}{created} created, {changed} changed, {kept} unchanged");
    if dry_run {
        paint(DIM, format!("dry run, nothing was written; it would be: {summary}"))
    } else {
        format!("applied: {summary}")
    }
}

pub(super) fn json(plan: &Plan, dry_run: bool) -> Value {
    let targets =
        plan.targets.iter().map(|target| json!({ "target": target.name, "action": "create", "ddl": target.ddl }));
    let pipelines = plan.pipelines.iter().map(|pipeline| {
        let (action, changes) = match &pipeline.action {
            Action::Create => ("create", &[][..]),
            Action::Change { changes, .. } => ("change", &changes[..]),
            Action::Keep => ("keep", &[][..]),
        };
        let changes =
            changes.iter().map(|change| json!({ "field": change.field, "from": change.from, "to": change.to }));
        json!({ "name": pipeline.name, "action": action, "changes": changes.collect::<Vec<_>>() })
    });
    json!({ "dry_run": dry_run, "targets": targets.collect::<Vec<_>>(), "pipelines": pipelines.collect::<Vec<_>>() })
}
