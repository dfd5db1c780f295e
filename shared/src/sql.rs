//! SQL as text: names, literals, upserts and rows of binary COPY, written in one way.
//!
//! Nothing here is executed. What a user has named or written gets into a statement through [`quote`] or [`literal`] alone.

pub mod copy;

use crate::domain::{ColumnType, Equal, Identity};

/// A name as SQL writes it, whatever it contains.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(quote).collect::<Vec<_>>().join(", ")
}

/// A text as SQL writes it, with standard strings: a backslash is a backslash.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub fn literals<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(literal).collect::<Vec<_>>().join(", ")
}

pub fn array(values: &[Option<String>]) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or("null".to_owned(), literal);
    format!("array[{}]", values.iter().map(value).collect::<Vec<_>>().join(", "))
}

/// The columns of a record with their types: `"a" integer, "b" text`.
pub fn record<'a>(columns: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let typed = columns.into_iter().map(|(name, type_name)| format!("{} {type_name}", quote(name)));
    typed.collect::<Vec<_>>().join(", ")
}

/// Writes `rows` to a mart, each with values for `columns`. Of a row that is there the columns `changing` are written, and only
/// where one of them differs: a repeated run costs reads and no writes.
pub fn upsert<'a>(
    mart: &str,
    columns: impl IntoIterator<Item = &'a str>,
    key: &[String],
    changing: &[(&str, Identity)],
    rows: &str,
) -> String {
    let assign = |(name, _): &(&str, Identity)| format!("{0} = excluded.{0}", quote(name));
    let action = if changing.is_empty() {
        "nothing".to_owned()
    } else {
        let assigned: Vec<_> = changing.iter().map(assign).collect();
        format!("update set {} where {}", assigned.join(", "), differ(changing))
    };
    format!(
        "insert into analytics.{mart} as target ({columns}) {rows} on conflict ({key}) do {action} returning 1",
        mart = quote(mart),
        columns = quoted(columns),
        key = quoted(key.iter().map(String::as_str)),
    )
}

/// The condition of a row of `target` and one of `excluded` differing in one of these columns, of which there is at least one:
/// what a reader could tell apart is different, even where `=` says otherwise.
fn differ(columns: &[(&str, Identity)]) -> String {
    let of = |relation: &str, columns: &[&(&str, Identity)]| -> String {
        let value = |name: &str| format!("{relation}.{}", quote(name));
        let values = columns.iter().flat_map(|(name, identity)| identified(&value(name), *identity));
        values.collect::<Vec<_>>().join(", ")
    };
    let (by_image, by_value): (Vec<_>, Vec<_>) = columns.iter().partition(|(_, identity)| *identity == Identity::Image);
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

/// Expressions that `=` finds equal only where the value is the same. A type that is compared by its image needs only itself.
pub fn identified(value: &str, identity: Identity) -> Vec<String> {
    match identity {
        Identity::Equality | Identity::Image => vec![value.to_owned()],
        Identity::Scale => vec![value.to_owned(), format!("scale({value})")],
        // Only a zero is written as text: the comparison is on the way of every row.
        Identity::Sign => vec![value.to_owned(), format!("({value} = 0 and {value}::text = '-0')")],
    }
}

/// A value as text, the same for values that the server takes for equal: `1.0` and `1.00`, `0` and `-0`. Of the types of which
/// that cannot be made, values stand as they are.
pub fn text_of_equals(value: &str, column_type: &ColumnType) -> String {
    match column_type.equal() {
        Equal::Scale if !column_type.is_array() => format!("trim_scale({value})::text"),
        Equal::Sign if !column_type.is_array() => format!("({value} + '0'::{})::text", column_type.any_length()),
        Equal::Same | Equal::Scale | Equal::Sign | Equal::Blanks | Equal::Loose => format!("{value}::text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_what_they_are_whatever_quotes_they_have() {
        assert_eq!(quote("a\"b'"), "\"a\"\"b'\"");
        assert_eq!(literal("it's \"x\" \\"), "'it''s \"x\" \\'");
        assert_eq!(array(&[Some("a'".to_owned()), None]), "array['a''', null]");
        assert_eq!(record([("a\"", "text".to_owned()), ("b", "bpchar".to_owned())]), "\"a\"\"\" text, \"b\" bpchar");
    }

    #[test]
    fn every_identity_has_its_condition() {
        let (text, number, json) = (("v", Identity::Equality), ("v", Identity::Scale), ("v", Identity::Image));
        assert_eq!(differ(&[text]), r#"(target."v") is distinct from (excluded."v")"#);
        assert_eq!(
            differ(&[text, number, json]),
            r#"(target."v", target."v", scale(target."v")) is distinct from (excluded."v", excluded."v", scale(excluded."v")) or record_image_ne(row(target."v"), row(excluded."v"))"#,
        );
    }

    #[test]
    fn an_upsert_writes_what_differs_and_nothing_where_all_is_key() {
        let key = ["id".to_owned()];
        assert_eq!(
            upsert("m", ["id"], &key, &[], "select 1"),
            r#"insert into analytics."m" as target ("id") select 1 on conflict ("id") do nothing returning 1"#,
        );
        let statement = upsert("m", ["id", "v"], &key, &[("v", Identity::Equality)], "select 1, 2");
        assert!(
            statement.contains(r#"do update set "v" = excluded."v" where (target."v") is distinct"#),
            "{statement}"
        );
    }

    #[test]
    fn equal_numbers_have_one_text() {
        let text = |type_name: &str| text_of_equals("k", &ColumnType::of(type_name));
        assert_eq!(text("numeric(10,2)"), "trim_scale(k)::text");
        assert_eq!(text("real"), "(k + '0'::real)::text");
        assert_eq!(text("double precision"), "(k + '0'::double precision)::text");
        for other in ["text", "numeric[]", "character(3)", "content.mood"] {
            assert_eq!(text(other), "k::text", "{other}");
        }
    }
}
