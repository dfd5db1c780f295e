//! What must hold of the key, by which full runs walk and rows are found again: its order, its equality and its text agree,
//! and no two keys of the source become one in the mart.

use crate::{
    domain::{Mode, PipelineDraft, SourceColumn},
    store::{tables::TargetColumn, value_types::ValueType},
};

use super::Reader;

/// Types of the server's own whose order, equality and text agree. Arrays and ranges of them, domains over them and enums do too.
const KEY_TYPES: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "money",
    "boolean",
    "uuid",
    "text",
    "character varying",
    "character",
    "name",
    "\"char\"",
    "bytea",
    "bit",
    "bit varying",
    "date",
    "timestamp with time zone",
    "timestamp without time zone",
    "time with time zone",
    "time without time zone",
    "interval",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "oid",
    "pg_lsn",
];

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
        let problem = problem.or_else(|| if mart.is_none() { index_problem(column, value) } else { None });
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
    if !enumerated && !KEY_TYPES.contains(&value.leaf.as_str()) {
        return Some(format!(
            "column `{}` is part of the target's key and of type {}, by which rows are not reliably ordered and told apart: \
             cast it in the query, for instance to text",
            column.name, column.type_name
        ));
    }
    collation_problem(column, value)
}

/// The `_id` of a document is the key's text, so equal keys must have one text. Of single numbers one is made.
fn index_problem(column: &SourceColumn, value: &ValueType) -> Option<String> {
    let single = parts(column.plain_type()).0 == value.leaf;
    let several = match value.leaf.as_str() {
        "interval" => true,
        "numeric" | "real" | "double precision" => !single,
        _ => false,
    };
    several.then(|| {
        format!(
            "column `{}` is part of the index's key and of type {}, of which equal values read differently, so that one row \
             would become two documents: cast it in the query, for instance to text",
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
    (!keeps_apart(column.plain_type(), &own.plain_type)).then(|| {
        format!(
            "the key column `{0}` is {1} in the query and {2} in `{target}`, where two keys could become one: cast it in the \
             query (`{0}::{2}`), or change the column of the mart",
            column.name,
            column.plain_type(),
            own.plain_type
        )
    })
}

/// Whether different values stay different when they are assigned from one type to another, or are refused.
fn keeps_apart(from: &str, to: &str) -> bool {
    let ((from, from_args), (to, to_args)) = (parts(from), parts(to));
    let length = |args: &[i32]| args.first().copied().unwrap_or(i32::MAX);
    let precision = |args: &[i32]| args.first().copied().unwrap_or(6);
    // Without a scale a numeric keeps every digit; with a precision alone it keeps none behind the point.
    let scale = |args: &[i32]| if args.is_empty() { i32::MAX } else { args.get(1).copied().unwrap_or(0) };
    let whole = |name: &str| matches!(name, "smallint" | "integer" | "bigint");
    let stamp = |name: &str| matches!(name, "timestamp with time zone" | "timestamp without time zone");
    match (from.as_str(), to.as_str()) {
        // Every type has a text of its own for each value.
        (_, "text") => true,
        ("text" | "character varying" | "character" | "bpchar", "character varying") => {
            length(&to_args) >= length(&from_args)
        }
        (_, "character varying") => to_args.is_empty(),
        ("character" | "bpchar", "character" | "bpchar") => length(&to_args) >= length(&from_args),
        ("numeric", "numeric") => scale(&to_args) >= scale(&from_args),
        ("numeric", to) if whole(to) => scale(&from_args) <= 0,
        (from, to) if whole(from) && whole(to) => true,
        (from, "numeric") if whole(from) => scale(&to_args) >= 0,
        ("smallint" | "integer" | "real", "double precision") | ("smallint", "real") => true,
        (from, to) if stamp(from) && stamp(to) => precision(&to_args) >= precision(&from_args),
        ("date", to) if stamp(to) => true,
        (from, to) if from == to && from.starts_with("time ") => precision(&to_args) >= precision(&from_args),
        ("bit" | "bit varying", "bit varying") => length(&to_args) >= length(&from_args),
        ("cidr", "inet") => true,
        (from, to) => from == to && (to_args.is_empty() || to_args == from_args),
    }
}

/// `numeric(10,2)` → `numeric` and `[10, 2]`, `timestamp(3) with time zone` → without the number.
fn parts(type_name: &str) -> (String, Vec<i32>) {
    let Some((open, close)) = type_name.find('(').zip(type_name.find(')')).filter(|(open, close)| open < close) else {
        return (type_name.to_owned(), Vec::new());
    };
    let numbers = type_name[open + 1..close].split(',').filter_map(|number| number.trim().parse().ok()).collect();
    (format!("{}{}", &type_name[..open], &type_name[close + 1..]), numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_that_could_make_one_key_of_two_are_known() {
        for (from, to) in [
            ("uuid", "text"),
            ("uuid", "uuid"),
            ("bigint", "integer"),
            ("integer", "numeric(10,2)"),
            ("numeric(10,0)", "bigint"),
            ("numeric(10,2)", "numeric(12,3)"),
            ("numeric(10,2)", "numeric"),
            ("character varying(5)", "character varying(20)"),
            ("text", "character varying"),
            ("character(5)", "text"),
            ("timestamp with time zone", "timestamp without time zone"),
            ("timestamp(3) with time zone", "timestamp with time zone"),
            ("date", "timestamp with time zone"),
            ("bit(3)", "bit(3)"),
            ("integer[]", "integer[]"),
            ("content.mood", "text"),
        ] {
            assert!(keeps_apart(from, to), "{from} as {to}");
        }
        for (from, to) in [
            ("numeric", "integer"),
            ("numeric(10,2)", "bigint"),
            ("numeric", "numeric(10,2)"),
            ("integer", "numeric(5,-2)"),
            ("timestamp with time zone", "date"),
            ("timestamp with time zone", "timestamp(0) with time zone"),
            ("text", "character varying(20)"),
            ("character varying(30)", "character varying(20)"),
            ("text", "character(5)"),
            ("text", "public.citext"),
            ("bigint", "double precision"),
            ("double precision", "real"),
            ("inet", "cidr"),
            ("character varying(5)[]", "character varying(3)[]"),
        ] {
            assert!(!keeps_apart(from, to), "{from} as {to}");
        }
    }
}
