//! What must hold of the key, by which full runs walk and rows are found again: its order, its equality and its text agree,
//! and no two keys of the source become one in the mart.

use crate::{
    domain::{ColumnType, Equal, Mode, PipelineDraft, SourceColumn},
    store::{tables::TargetColumn, value_types::ValueType},
};

use super::Reader;

/// Where the columns of a key, and those of an incremental walk, cannot be ones. `mart` is the target's columns and its name,
/// where it is a table.
pub(super) fn problems(
    draft: &PipelineDraft,
    key: &[String],
    reader: &Reader,
    mart: Option<(&[TargetColumn], &str)>,
) -> Vec<String> {
    let mut messages = Vec::new();
    for name in key {
        let Some((column, value)) = find(reader, name) else { continue };
        let own = mart.and_then(|(columns, target)| Some((columns.iter().find(|own| &own.name == name)?, target)));
        let problem = type_problem(column, value);
        let problem = problem.or_else(|| if mart.is_none() { text_problem(column, value) } else { None });
        messages.extend(problem.or_else(|| own_problem(column, value, own?)));
    }
    let walk = [&draft.incremental_key, &draft.incremental_id_key];
    let walk = walk.into_iter().flatten().filter(|name| draft.mode == Mode::Incremental && !key.contains(name));
    messages.extend(
        walk.filter_map(|name| find(reader, name)).filter_map(|(column, value)| collation_problem(column, value)),
    );
    messages
}

fn find<'r>(reader: &'r Reader, name: &str) -> Option<(&'r SourceColumn, &'r ValueType)> {
    reader.columns.iter().zip(&reader.types).find(|(column, _)| column.name == name)
}

fn type_problem(column: &SourceColumn, value: &ValueType) -> Option<String> {
    // The operators of enums do not take domains.
    let enumerated = value.is_enum && value.resolved.is_none();
    if !enumerated && !ColumnType::of(&value.leaf).can_be_key() {
        return Some(format!(
            "column `{}` is part of the target's key and of type {}, by which rows are not reliably ordered and told apart: \
             cast it in the query, for instance to text",
            column.name, column.type_name
        ));
    }
    collation_problem(column, value)
}

/// A target outside of the database knows a row by the key's text, so equal keys must have one text. Of single numbers one is made.
fn text_problem(column: &SourceColumn, value: &ValueType) -> Option<String> {
    let several = match ColumnType::of(&value.leaf).equal() {
        Equal::Same | Equal::Blanks => false,
        Equal::Scale | Equal::Sign => !column.value_type().is_single(&value.leaf),
        Equal::Loose => !value.is_enum,
    };
    several.then(|| {
        format!(
            "column `{}` is part of the target's key and of type {}, of which equal values read differently, so that one row \
             would be written under two keys: cast it in the query, for instance to text",
            column.name, column.type_name
        )
    })
}

fn collation_problem(column: &SourceColumn, value: &ValueType) -> Option<String> {
    (!value.deterministic).then(|| {
        format!(
            "column `{0}` has a collation that takes different texts for equal, so that one row would be taken for another: \
             write `{0} collate \"C\"` in the query",
            column.name
        )
    })
}

/// Where the mart would store two keys as one.
fn own_problem(column: &SourceColumn, value: &ValueType, (own, target): (&TargetColumn, &str)) -> Option<String> {
    if !own.deterministic {
        return Some(format!(
            "the key column `{}` of `{target}` has a collation that takes different texts for equal, so that one row would \
             replace another: give it another collation, for instance \"C\"",
            own.name
        ));
    }
    if value.is_enum && own.plain_type == column.plain_type() && own.type_oid != column.type_oid {
        return Some(format!(
            "the key column `{}` of `{target}` is a domain over an enum, which PostgreSQL does not compare: make it {}",
            own.name, own.plain_type
        ));
    }
    (!column.value_type().keeps_apart(&own.value_type())).then(|| {
        format!(
            "the key column `{0}` is {1} in the query and {2} in `{target}`, where two keys could become one: cast it in the \
             query (`{0}::{2}`), or change the column of the mart",
            column.name,
            column.plain_type(),
            own.plain_type
        )
    })
}
