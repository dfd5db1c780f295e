//! A user's query as a relation within a statement of ours.
//!
//! The query is never part of such a statement: it is the text argument of `etl_page.read`, which executes it under a role
//! that can only read. Whatever stands around that call executes with the rights to write marts.
//!
//! Such a statement names the types of the query's columns. They were judged by their oids: where a name means another type by
//! now, the statement fails before it has a value ([`unless_exchanged`]).

use vitrina_shared::{
    domain::{SourceColumn, column_type::FIRST_ADDED},
    sql::{literal, record},
};

/// Selects what `query` returns, column by column in this order. The query gets the parameters of the statement around it: `$4` is the size of a page, `$5`
/// where it begins and `$6` its bound; `by_time` says that its key is a `timestamptz`.
pub fn read<'a>(query: &str, columns: impl IntoIterator<Item = &'a SourceColumn>, by_time: bool) -> String {
    let columns: Vec<_> = columns.into_iter().collect();
    let typed = |column: &&'a SourceColumn| {
        // Without it the server would order the rows otherwise than the query has.
        let collation = column.collation.as_ref().map(|collation| format!(" collate {collation}")).unwrap_or_default();
        (column.name.as_str(), format!("{}{collation}", column.cast_type()))
    };
    format!(
        "select * from etl_page.read({}, $5, $6, $4, {by_time}) as rows ({})",
        unless_exchanged(&columns, &literal(query), &literal(NOTHING)),
        record(columns.iter().map(typed))
    )
}

/// A query without columns: `etl_page.read` fails with 42804, as for every query that does not return what it should. A run is
/// tried again then, and what it reads is judged anew.
const NOTHING: &str = "select";

/// The expression `value` of a statement that names the types of these columns, where the names mean the types that were
/// judged; else `otherwise`, which must fail. It is decided when the statement is executed, and so after its names were
/// resolved. Types of the server's own stay what they are, and cost nothing.
fn unless_exchanged(columns: &[&SourceColumn], value: &str, otherwise: &str) -> String {
    let same =
        |column: &&&SourceColumn| format!("to_regtype({}) = {}::oid", literal(&column.cast_type()), column.type_oid);
    let mut same: Vec<_> = columns.iter().filter(|column| column.type_oid >= FIRST_ADDED).map(|c| same(&c)).collect();
    same.sort();
    same.dedup();
    if same.is_empty() {
        return value.to_owned();
    }
    // A select by itself: it is asked once, not for every row.
    format!("case when (select {}) then {value} else {otherwise} end", same.join(" and "))
}

/// The JSON of a row whose values are read as the types of these columns; fails where one of the types was exchanged.
pub fn document(columns: &[&SourceColumn], doc: &str) -> String {
    let fails = format!(
        "(select nothing from etl_page.read({}, null, null, 0, false) as rows (nothing json))",
        literal(NOTHING)
    );
    unless_exchanged(columns, doc, &fails)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_an_argument_whatever_quotes_it_has() {
        let column = SourceColumn {
            name: "a\"b".to_owned(),
            type_oid: 1042,
            type_name: "character".to_owned(),
            collation: Some("pg_catalog.\"C\"".to_owned()),
            ..SourceColumn::default()
        };
        assert_eq!(
            read("select 'it''s'", [&column], true),
            r#"select * from etl_page.read('select ''it''''s''', $5, $6, $4, true) as rows ("a""b" bpchar collate pg_catalog."C")"#,
        );
    }

    #[test]
    fn types_that_were_added_to_the_server_are_bound_to_what_was_judged() {
        let column = |name: &str, type_oid, type_name: &str| SourceColumn {
            name: name.to_owned(),
            type_oid,
            type_name: type_name.to_owned(),
            ..SourceColumn::default()
        };
        let columns = [column("id", 23, "integer"), column("a", 16_400, "o'.t"), column("b", 16_400, "o'.t")];
        assert_eq!(
            read("select 1", &columns, false),
            "select * from etl_page.read(case when (select to_regtype('o''.t') = 16400::oid) then 'select 1' else 'select' \
             end, $5, $6, $4, false) as rows (\"id\" integer, \"a\" o'.t, \"b\" o'.t)",
        );
        let columns: Vec<_> = columns.iter().collect();
        assert_eq!(document(&columns[..1], "doc"), "doc");
        assert!(document(&columns, "doc").contains("16400"));
    }
}
