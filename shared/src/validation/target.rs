//! What must hold between the reader's columns and the target's.

use serde_json::Value;
use sqlx::PgConnection;

use crate::{
    domain::{ExternalKind, FullStrategy, PipelineDraft, Problem, ProblemKind, SourceColumn, TargetName},
    guard::{self, GuardError},
    store::tables::{self, MartTable, TargetColumn, UniqueIndex},
};

use super::{FoundTarget, Reader, TargetPlace, key, query};

/// What is wrong with an entry of the whitelist: no such table, no such key, no rights, no such option.
pub async fn problems(
    connection: &mut PgConnection,
    target: &TargetName,
    key: &[String],
    options: &Value,
) -> Result<Vec<Problem>, sqlx::Error> {
    let place = TargetPlace::find(connection, target, key).await?;
    Ok(own_problems(&target.to_string(), key, options, &place))
}

fn own_problems(target: &str, key: &[String], options: &Value, place: &TargetPlace) -> Vec<Problem> {
    let mut problems = key_problems(key);
    match place {
        TargetPlace::Mart(_, table) => {
            let well_written = problems.is_empty();
            problems.extend(table_problem(table, target, key, well_written));
        }
        TargetPlace::External(scheme, _) => {
            problems.extend(ExternalKind::of(scheme).into_iter().flat_map(|kind| (kind.option_problems)(options)));
        }
    }
    problems
}

fn table_problem(table: &MartTable, target: &str, key: &[String], well_written: bool) -> Option<Problem> {
    let columns = &table.columns;
    if columns.is_empty() {
        let message = format!(
            "there is no table `{target}`: create it first, or have it created (`create: true` in a file for `vitrina apply`)"
        );
        return Some(Problem::new("target", message).of_kind(ProblemKind::NoTable));
    }
    if let Some(unknown) = key.iter().find(|name| !columns.iter().any(|column| &column.name == *name)) {
        let message = format!("`{target}` has no column `{unknown}`; it has {}", names(columns));
        return Some(Problem::new("key", message));
    }
    if well_written && !table.has_unique_key {
        let message = format!(
            "`{target}` has no unique index or primary key on exactly ({}), which an upsert needs; a deferrable one does not count, \
             and is in the way of another one",
            key.join(", ")
        );
        return Some(Problem::new("key", message));
    }
    if !table.is_writable {
        let message = format!(
            "the role vitrina_mart cannot write `{target}`: run `vitrina migrate` again, or \
             grant select, insert, update, delete on {target} to vitrina_mart"
        );
        return Some(Problem::new("target", message));
    }
    storage_problem(table, target).map(|message| Problem::new("target", message))
}

/// Why rows cannot be entrusted to a table as the server keeps it.
fn storage_problem(table: &MartTable, target: &str) -> Option<String> {
    if table.inherits {
        Some(format!(
            "`{target}` shares its rows with another table by inheritance: a run that removes rows would remove those of \
             the tables that inherit from it, wherever they are. Take the tables apart with alter table … no inherit …, or \
             use partitions"
        ))
    } else if let Some(trigger) = &table.deferred_trigger {
        Some(format!(
            "`{target}` has the trigger `{trigger}`, which is deferrable: when a batch is committed it would execute with the \
             rights of Vitrina's service instead of those of vitrina_mart. Make it not deferrable"
        ))
    } else if table.unlogged {
        Some(format!(
            "`{target}` is unlogged: a crash of the server empties it, and no run would notice. \
             Execute alter table {target} set logged"
        ))
    } else {
        None
    }
}

pub(super) fn key_problems(key: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !(1..=16).contains(&key.len()) {
        problems.push(Problem::new("key", "a key has 1 to 16 columns"));
    }
    if key.iter().any(|name| name.is_empty() || name.len() > 63 || name.contains('\0')) {
        problems.push(Problem::new("key", "a column's name has 1 to 63 bytes"));
    }
    let mut sorted: Vec<_> = key.iter().collect();
    sorted.sort();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        problems.push(Problem::new("key", "a column stands in the key once"));
    }
    problems
}

pub(super) async fn mismatches(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    reader: &Reader,
    found: &FoundTarget,
) -> Result<Vec<Problem>, sqlx::Error> {
    let FoundTarget { entry, place } = found;
    let (target, field) = draft.final_target();
    let mut problems: Vec<Problem> = entry
        .key
        .iter()
        .filter(|key| !reader.columns.iter().any(|column| &column.name == *key))
        .map(|key| Problem::new(field, format!("the query lacks `{key}`, which is part of the key of `{target}`")))
        .collect();
    problems.extend(query::null_keys_problem(draft, reader, &entry.key));
    let (_, query_field) = draft.reader().unwrap_or(("", "source_query"));
    let of_query = |message| Problem::new(query_field, message);
    match place {
        TargetPlace::Mart(name, table) => {
            problems.extend(alone(draft, Some(found)));
            problems.extend(strategy_problem(draft, target, &table.other_unique(&reader.arriving_names())));
            let columns = &table.columns;
            if !columns.is_empty() {
                let mut messages = key::problems(draft, &entry.key, reader, Some((columns, target)));
                messages.extend(column_problems(connection, draft, target, &reader.arriving, columns).await?);
                messages.extend(value_problem(connection, &reader.arriving, columns, name).await?);
                problems.extend(messages.into_iter().map(of_query));
            }
        }
        TargetPlace::External(scheme, _) => {
            let kind = ExternalKind::of(scheme);
            problems
                .extend(kind.into_iter().flat_map(|kind| (kind.mismatches)(draft, &entry.options, &reader.arriving)));
            problems.extend(key::problems(draft, &entry.key, reader, None).into_iter().map(of_query));
        }
    }
    Ok(problems)
}

/// A page cannot give a value that is unique besides the key to another row while the old one is still there.
fn strategy_problem(draft: &PipelineDraft, target: &str, unique: &[UniqueIndex]) -> Option<Problem> {
    let options = &draft.options;
    if options.full_strategy != Some(FullStrategy::Merge) || options.rejects_allowed().is_some() {
        return None;
    }
    unique.first().map(|index| {
        let message = format!(
            "`{target}` has the unique index `{}` besides its key, and a value may pass from one row to another: such \
             a mart changes all at once, so leave the option out or choose `swap`",
            index.name
        );
        Problem::new("options.full_strategy", message)
    })
}

/// What is wrong with the target by itself.
pub(super) fn alone(draft: &PipelineDraft, found: Option<&FoundTarget>) -> Vec<Problem> {
    let Some(FoundTarget { entry, place }) = found else { return Vec::new() };
    let (target, field) = draft.final_target();
    let own = own_problems(target, &entry.key, &entry.options, place);
    own.into_iter().map(|problem| Problem { field: field.to_owned(), ..problem }).collect()
}

async fn column_problems(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    target: &str,
    source: &[SourceColumn],
    columns: &[TargetColumn],
) -> Result<Vec<String>, sqlx::Error> {
    let mut messages = absent(draft, target, source, columns);
    messages.extend(unfilled(target, source, columns));
    messages.extend(misfits(connection, target, source, columns).await?);
    Ok(messages)
}

/// Columns of the query that the target lacks or computes itself. The two keys of the walk may be absent.
fn absent(draft: &PipelineDraft, target: &str, source: &[SourceColumn], columns: &[TargetColumn]) -> Vec<String> {
    let only_for_walking = [draft.incremental_key.as_deref(), draft.incremental_id_key.as_deref()];
    source
        .iter()
        .filter_map(|column| match columns.iter().find(|own| own.name == column.name) {
            Some(own) if own.generated => {
                Some(format!("column `{}` of `{target}` is generated and cannot be written", column.name))
            }
            Some(_) => None,
            None if only_for_walking.contains(&Some(column.name.as_str())) => None,
            None => Some(format!("`{target}` has no column `{}`; it has {}", column.name, names(columns))),
        })
        .collect()
}

/// Columns of the target that need a value which the query does not give.
fn unfilled(target: &str, source: &[SourceColumn], columns: &[TargetColumn]) -> Vec<String> {
    columns
        .iter()
        .filter(|own| own.required && !source.iter().any(|column| column.name == own.name))
        .map(|own| format!("the query lacks `{}`, which `{target}` declares not null without a default", own.name))
        .collect()
}

async fn misfits(
    connection: &mut PgConnection,
    target: &str,
    source: &[SourceColumn],
    columns: &[TargetColumn],
) -> Result<Vec<String>, sqlx::Error> {
    let pairs = pairs(source, columns);
    let from: Vec<_> = pairs.iter().map(|(column, _)| column.type_oid).collect();
    let to: Vec<_> = pairs.iter().map(|(_, own)| own.type_oid).collect();
    let places = tables::unassignable(connection, &from, &to).await?;
    Ok(places
        .into_iter()
        .filter_map(|place| pairs.get(place))
        .map(|(column, own)| {
            format!(
                "column `{}` is {} in the query and {} in `{target}`: cast it",
                column.name, column.type_name, own.type_name
            )
        })
        .collect())
}

/// Values that call a function of another account on their way into a column: it would execute with the rights to write marts.
async fn value_problem(
    connection: &mut PgConnection,
    source: &[SourceColumn],
    columns: &[TargetColumn],
    table: &str,
) -> Result<Option<String>, sqlx::Error> {
    let (from, to): (Vec<_>, Vec<_>) =
        pairs(source, columns).into_iter().map(|(column, own)| (column.type_oid, own.type_oid)).unzip();
    match guard::check_arriving(connection, &from, &to, table).await {
        Ok(()) => Ok(None),
        Err(GuardError::Refused(refusal)) => Ok(Some(refusal.to_string())),
        Err(GuardError::Database(error)) => Err(error),
    }
}

/// The columns that arrive, each with the target's column of that name.
fn pairs<'a>(source: &'a [SourceColumn], columns: &'a [TargetColumn]) -> Vec<(&'a SourceColumn, &'a TargetColumn)> {
    let own = |name: &str| columns.iter().find(|own| own.name == name);
    source.iter().filter_map(|column| Some((column, own(&column.name)?))).collect()
}

fn names(columns: &[TargetColumn]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}
