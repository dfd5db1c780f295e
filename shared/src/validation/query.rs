//! What must hold of the reader's query.

use crate::{
    domain::{ColumnType, Mode, NullKeys, PipelineDraft, Problem, SourceColumn, clock_key::ClockKey},
    guard::{self, Describing, Description, GuardError, Placeholder, Refusal, SourceSchemas},
};

use super::Reader;

/// What PostgreSQL calls a column without a name.
const UNNAMED: &str = "?column?";

/// Takes the query through all layers of the guard.
pub(super) async fn read(
    describing: &Describing,
    sql: &str,
    walk: (Option<&str>, Option<&str>),
    schemas: &SourceSchemas,
) -> Result<Reader, GuardError> {
    let query = guard::parse(sql, schemas)?;
    let (query, Description { columns, types, relations, origins, unsteady }) =
        describing.describe(query, walk, schemas).await?;
    if let Some(place) = columns.iter().position(|column| column.name == UNNAMED) {
        return Err(Refusal::UnnamedColumn { place: place + 1 }.into());
    }
    Ok(Reader { query, arriving: columns.clone(), stages: Vec::new(), columns, types, relations, origins, unsteady })
}

/// A query that pages by itself must do so completely: a forgotten bound would skip or repeat rows.
pub(super) fn paging_problem(draft: &PipelineDraft, reader: &Reader) -> Option<String> {
    let used = reader.query.placeholders();
    if used.is_empty() {
        return None;
    }
    if draft.mode == Mode::Full {
        return Some("placeholders page an incremental query: in mode `full` write the plain query".to_owned());
    }
    let missing: Vec<_> =
        Placeholder::ALL.iter().filter(|one| !used.contains(*one)).map(|one| format!(":{one}")).collect();
    if !missing.is_empty() {
        return Some(format!("a query that pages by itself needs all placeholders: {} missing", missing.join(", ")));
    }
    (!walks_by_time(draft, &reader.columns)).then(|| {
        "a query that pages by itself walks by a column of type timestamp with time zone: \
         only for that can Vitrina tell which rows are settled"
            .to_owned()
    })
}

/// The two columns of an incremental walk must be in the query, comparable and never NULL.
pub(super) fn key_problems(draft: &PipelineDraft, columns: &[SourceColumn]) -> Vec<Problem> {
    if draft.mode != Mode::Incremental {
        return Vec::new();
    }
    let keys = [("incremental_key", &draft.incremental_key), ("incremental_id_key", &draft.incremental_id_key)];
    let of_keys = keys.into_iter().filter_map(|(field, key)| {
        let message = key_problem(draft, key.as_deref()?, columns)?;
        Some(Problem::new(field, message))
    });
    of_keys.chain(lookback_problem(draft, columns)).collect()
}

fn lookback_problem(draft: &PipelineDraft, columns: &[SourceColumn]) -> Option<Problem> {
    draft.options.lookback_seconds?;
    let message = "seconds can be looked back only by an incremental_key of type timestamp with time zone";
    (!walks_by_time(draft, columns)).then(|| Problem::new("options.lookback_seconds", message))
}

fn walks_by_time(draft: &PipelineDraft, columns: &[SourceColumn]) -> bool {
    let key = draft.incremental_key.as_deref();
    columns.iter().any(|column| key == Some(&column.name) && column.own_type().clock() == Some(ClockKey::Timestamp))
}

fn key_problem(draft: &PipelineDraft, key: &str, columns: &[SourceColumn]) -> Option<String> {
    let Some(column) = columns.iter().find(|column| column.name == key) else {
        return Some(format!("the query has no column `{key}`; it has {}", names(columns)));
    };
    if !column.own_type().can_be_walked() {
        return Some(format!(
            "column `{key}` is of type {}; a page can be cut at {}",
            column.type_name,
            ColumnType::walked().join(", ")
        ));
    }
    (column.nullable == Some(true) && draft.options.null_keys.is_none()).then(|| {
        format!(
            "column `{key}` may be NULL and no page would reach such a row: declare the column not null, or set \
             options.null_keys to `error` (a run with such rows fails) or `first` (they are read first)"
        )
    })
}

/// Rows without a key are read again by every run. Of several versions of a row of the target, one without a key would be written
/// over the newer ones, which are not read again.
pub(super) fn null_keys_problem(draft: &PipelineDraft, reader: &Reader, key: &[String]) -> Option<Problem> {
    let walked = |name: &Option<String>| reader.columns.iter().find(|column| Some(&column.name) == name.as_ref());
    let read_again = draft.mode == Mode::Incremental
        && draft.options.null_keys == Some(NullKeys::First)
        && !reader.pages_itself()
        && walked(&draft.incremental_key).is_some_and(|column| column.nullable != Some(false));
    let id = draft.incremental_id_key.as_ref().filter(|id| read_again && !key.contains(id))?;
    let message = format!(
        "`first` needs `{id}`, the incremental_id_key, in the key of the target: otherwise a row of it may have several versions, \
         and one without a key would be written over the newest by every run. Give such rows a key, for instance \
         `coalesce(modified, created) as modified`, or leave them out and set it to `error`"
    );
    Some(Problem::new("options.null_keys", message))
}

fn names(columns: &[SourceColumn]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}
