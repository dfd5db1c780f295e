//! A key of the source beside the one that a mart has.

use vitrina_shared::{domain::SourceColumn, store::tables::TargetColumn};

/// A key's value of the source as the mart's column would have it, so that the two can be compared. Values that the mart
/// would refuse stay as they are: their row is not there, and the comparison must not fail.
pub fn as_stored(value: &str, column: &SourceColumn, own: &TargetColumn) -> String {
    let (from, to) = (column.value_type(), own.value_type());
    let comparable = from.is_same_as(&to) || from.is_text() && to.is_text() || to.is_whole();
    if comparable { value.to_owned() } else { format!("{value}::{}", to.any_length()) }
}

/// Whether a text of the source has a collation besides that of the database, its own or that of its type: the server compares
/// none with a mart's text that has another one.
pub fn has_own_collation(column: &SourceColumn, own: &TargetColumn) -> bool {
    let is_domain = !column.value_type().is_same_as(&column.own_type());
    own.value_type().is_of_texts() && (column.collation.is_some() || is_domain || column.own_type().has_collation())
}

#[cfg(test)]
mod tests {
    use vitrina_shared::domain::Identity;

    use super::*;

    fn own(type_name: &str) -> TargetColumn {
        TargetColumn {
            name: "v".to_owned(),
            type_name: type_name.to_owned(),
            type_oid: 0,
            plain_type: type_name.to_owned(),
            identity: Identity::Equality,
            deterministic: true,
            required: false,
            generated: false,
            computed: false,
        }
    }

    #[test]
    fn a_key_is_compared_as_the_mart_has_it() {
        let column = |type_name: &str| SourceColumn {
            name: "v".to_owned(),
            type_name: type_name.to_owned(),
            ..SourceColumn::default()
        };
        let stored = |from: &str, to: &str| as_stored("s.v", &column(from), &own(to));
        assert_eq!(stored("uuid", "uuid"), "s.v");
        assert_eq!(stored("uuid", "text"), "s.v::text");
        assert_eq!(stored("bigint", "integer"), "s.v", "what is out of range must not fail the comparison");
        assert_eq!(stored("character varying(5)", "character varying(20)"), "s.v");
        assert_eq!(stored("date", "timestamp(3) with time zone"), "s.v::timestamp with time zone");
    }
}
