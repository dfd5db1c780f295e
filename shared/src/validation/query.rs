//! What must hold of the reader's query.

use sqlx::PgConnection;

use crate::{
    domain::{Mode, PipelineDraft, Problem},
    guard::{self, GuardError, Placeholder, QueryLimits, SourceColumn, SourceQuery, SourceSchemas},
};

/// Types whose text form is exact and whose order the server and a page agree on.
const KEY_TYPES: &[&str] = &[
    "timestamp with time zone",
    "timestamp without time zone",
    "date",
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "uuid",
    "text",
    "character varying",
];

/// A query that passed the guard.
pub(super) struct Reader {
    /// What it returns.
    pub columns: Vec<SourceColumn>,
    /// What is wrong with it all the same.
    pub problems: Vec<String>,
}

/// Takes the query through all layers of the guard.
pub(super) async fn read(
    connection: &mut PgConnection,
    draft: &PipelineDraft,
    sql: &str,
    schemas: &SourceSchemas,
) -> Result<Reader, GuardError> {
    let query = guard::parse(sql, schemas)?;
    guard::check_functions(connection, &query).await?;
    let columns = guard::describe(connection, &query, &QueryLimits::default()).await?;
    Ok(Reader { columns, problems: placeholder_problems(draft.mode, &query).into_iter().collect() })
}

/// A query that pages by itself must do so completely: a forgotten bound would skip or repeat rows.
fn placeholder_problems(mode: Mode, query: &SourceQuery) -> Option<String> {
    let used = query.placeholders();
    if used.is_empty() {
        return None;
    }
    if mode == Mode::Full {
        return Some("placeholders page an incremental query: in mode `full` write the plain query".to_owned());
    }
    let missing: Vec<_> =
        Placeholder::ALL.into_iter().filter(|one| !used.contains(one)).map(|one| format!(":{}", one.name())).collect();
    (!missing.is_empty())
        .then(|| format!("a query that pages by itself needs all placeholders: {} missing", missing.join(", ")))
}

/// The two columns of an incremental walk must be in the query, comparable and never NULL.
pub(super) fn key_problems(draft: &PipelineDraft, columns: &[SourceColumn]) -> Vec<Problem> {
    if draft.mode != Mode::Incremental {
        return Vec::new();
    }
    let keys = [("incremental_key", &draft.incremental_key), ("incremental_id_key", &draft.incremental_id_key)];
    keys.into_iter()
        .filter_map(|(field, key)| {
            let message = key_problem(draft, key.as_deref()?, columns)?;
            Some(Problem::new(field, message))
        })
        .collect()
}

fn key_problem(draft: &PipelineDraft, key: &str, columns: &[SourceColumn]) -> Option<String> {
    let Some(column) = columns.iter().find(|column| column.name == key) else {
        return Some(format!("the query has no column `{key}`; it has {}", names(columns)));
    };
    if !KEY_TYPES.contains(&column.type_name.as_str()) {
        return Some(format!(
            "column `{key}` is of type {}; a page can be cut at {}",
            column.type_name,
            KEY_TYPES.join(", ")
        ));
    }
    (column.nullable == Some(true) && draft.options.null_keys.is_none()).then(|| {
        format!(
            "column `{key}` may be NULL and no page would reach such a row: add a condition, declare the column \
             not null, or set options.null_keys to `error` or `first`"
        )
    })
}

fn names(columns: &[SourceColumn]) -> String {
    columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}
