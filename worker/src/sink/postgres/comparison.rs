//! Whether a mart has a value already: what a reader could tell apart is different, even where `=` says otherwise.

use vitrina_shared::{
    domain::SourceColumn,
    store::{tables::TargetColumn, value_types::Identity},
};

use crate::confined::quote;

/// Types of texts, without their lengths.
const TEXTS: &[&str] = &["text", "character varying", "character", "bpchar", "name"];

/// The condition of a row of `target` and one of `excluded` differing in one of these columns, of which there is at least one.
pub fn differ(columns: &[&TargetColumn]) -> String {
    let of = |relation: &str, columns: &[&&TargetColumn]| -> String {
        let values = columns
            .iter()
            .flat_map(|column| identified(&format!("{relation}.{}", quote(&column.name)), column.identity));
        values.collect::<Vec<_>>().join(", ")
    };
    let (by_image, by_value): (Vec<_>, Vec<_>) = columns.iter().partition(|column| column.identity == Identity::Image);
    let mut conditions = Vec::new();
    if !by_value.is_empty() {
        conditions.push(format!("({}) is distinct from ({})", of("target", &by_value), of("excluded", &by_value)));
    }
    if !by_image.is_empty() {
        // Compares bytes, unpacked where they are stored packed, and needs no operator of any type.
        conditions.push(format!(
            "record_image_ne(row({}), row({}))",
            of("target", &by_image),
            of("excluded", &by_image)
        ));
    }
    conditions.join(" or ")
}

/// Values that are all equal, for `=`, only where the value is the same. One that is told by its image stands as it is.
pub fn identified(value: &str, identity: Identity) -> Vec<String> {
    match identity {
        Identity::Equality | Identity::Image => vec![value.to_owned()],
        Identity::Scale => vec![value.to_owned(), format!("scale({value})")],
        // Only a zero is written as text: the comparison is on the way of every row.
        Identity::Sign => vec![value.to_owned(), format!("({value} = 0 and {value}::text = '-0')")],
    }
}

/// A key's value of the source as the mart's column would have it, so that the two can be compared. Values that the mart
/// would refuse stay as they are: their row is not there, and the comparison must not fail.
pub fn as_stored(value: &str, column: &SourceColumn, own: &TargetColumn) -> String {
    let (from, to) = (without_length(column.plain_type()), without_length(&own.plain_type));
    let whole = ["smallint", "integer", "bigint"];
    let comparable =
        from == to || TEXTS.contains(&from.as_str()) && TEXTS.contains(&to.as_str()) || whole.contains(&to.as_str());
    if comparable { value.to_owned() } else { format!("{value}::{to}") }
}

/// Whether a text of the source has a collation besides that of the database, its own or that of its type: the server compares
/// none with a mart's text that has another one.
pub fn has_own_collation(column: &SourceColumn, own: &TargetColumn) -> bool {
    let element = |type_name: &str| without_length(type_name.trim_end_matches("[]"));
    let of_type = column.type_name == "name" || element(column.plain_type()) != element(&column.type_name);
    TEXTS.contains(&element(&own.plain_type).as_str()) && (column.collation.is_some() || of_type)
}

/// `numeric(10,2)` → `numeric`, `timestamp(3) with time zone` → `timestamp with time zone`.
pub fn without_length(type_name: &str) -> String {
    match (type_name.find('('), type_name.find(')')) {
        (Some(open), Some(close)) if open < close => format!("{}{}", &type_name[..open], &type_name[close + 1..]),
        (_, _) => type_name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(type_name: &str, identity: Identity) -> TargetColumn {
        TargetColumn {
            name: "v".to_owned(),
            type_name: type_name.to_owned(),
            type_oid: 0,
            plain_type: type_name.to_owned(),
            identity,
            deterministic: true,
            required: false,
            generated: false,
            computed: false,
        }
    }

    #[test]
    fn every_identity_has_its_condition() {
        let (text, number, json) =
            (own("text", Identity::Equality), own("numeric", Identity::Scale), own("jsonb", Identity::Image));
        assert_eq!(differ(&[&text]), r#"(target."v") is distinct from (excluded."v")"#);
        assert_eq!(
            differ(&[&text, &number, &json]),
            r#"(target."v", target."v", scale(target."v")) is distinct from (excluded."v", excluded."v", scale(excluded."v")) or record_image_ne(row(target."v"), row(excluded."v"))"#,
        );
    }

    #[test]
    fn a_key_is_compared_as_the_mart_has_it() {
        let column = |type_name: &str| SourceColumn {
            name: "v".to_owned(),
            type_oid: 0,
            type_name: type_name.to_owned(),
            declared: None,
            collation: None,
            nullable: None,
        };
        let stored = |from: &str, to: &str| as_stored("s.v", &column(from), &own(to, Identity::Equality));
        assert_eq!(stored("uuid", "uuid"), "s.v");
        assert_eq!(stored("uuid", "text"), "s.v::text");
        assert_eq!(stored("bigint", "integer"), "s.v", "what is out of range must not fail the comparison");
        assert_eq!(stored("character varying(5)", "character varying(20)"), "s.v");
        assert_eq!(stored("date", "timestamp(3) with time zone"), "s.v::timestamp with time zone");
    }
}
