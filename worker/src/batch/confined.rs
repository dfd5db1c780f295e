//! A user's query as a relation within a statement of ours.
//!
//! The query is never part of such a statement: it is the text argument of `etl_page.read`, which executes it under a role
//! that can only read. Whatever stands around that call executes with the rights to write marts.

use vitrina_shared::domain::SourceColumn;

use super::pushdown::quote;

/// Selects what `query` returns, column by column in this order. The query gets the parameters of the statement around it: `$4` is the size of a page, `$5`
/// where it begins and `$6` its bound; `by_time` says that its key is a `timestamptz`.
pub fn read<'a>(query: &str, columns: impl IntoIterator<Item = &'a SourceColumn>, by_time: bool) -> String {
    let columns: Vec<_> = columns
        .into_iter()
        .map(|column| {
            // Without it the server would order the rows otherwise than the query has.
            let collation =
                column.collation.as_ref().map(|collation| format!(" collate {collation}")).unwrap_or_default();
            format!("{} {}{collation}", quote(&column.name), of_any_length(&column.type_name))
        })
        .collect();
    format!("select * from etl_page.read({}, $5, $6, $4, {by_time}) as rows ({})", literal(query), columns.join(", "))
}

/// The columns by name. A query that says `*` may have others by now, or these in another order.
pub fn names(columns: &[SourceColumn]) -> String {
    columns.iter().map(|column| quote(&column.name)).collect::<Vec<_>>().join(", ")
}

/// A type as it came. SQL takes the two for types of length one where no length is given.
pub fn of_any_length(type_name: &str) -> String {
    let (element, array) = type_name.split_at(type_name.find('[').unwrap_or(type_name.len()));
    match element {
        "character" => format!("bpchar{array}"),
        "bit" => format!("\"bit\"{array}"),
        _ => type_name.to_owned(),
    }
}

/// A text as SQL writes it, with standard strings: a backslash is a backslash.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
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
            declared: None,
            collation: Some("pg_catalog.\"C\"".to_owned()),
            nullable: None,
        };
        assert_eq!(
            read("select 'it''s'", [&column], true),
            r#"select * from etl_page.read('select ''it''''s''', $5, $6, $4, true) as rows ("a""b" bpchar collate pg_catalog."C")"#,
        );
    }
}
