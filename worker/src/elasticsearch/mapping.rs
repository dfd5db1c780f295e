//! What an index looks like, derived from the reader's columns.
//!
//! Documents are rows as PostgreSQL's `row_to_json` renders them: timestamps in ISO form with microseconds, `uuid` as
//! text, numbers as numbers, `NaN` and the infinities as text, which number fields refuse.

use serde_json::{Map, Value, json};
use vitrina_shared::domain::{ColumnType, IndexOptions, JsonFields, SourceColumn, column_type::Field};

/// Longer texts are searched by their words only.
const MAX_KEYWORD: u32 = 256;
/// A keyword's limit is 32,766 bytes, a character has up to 4.
const MAX_TERM: u32 = 8_191;

/// The `mappings` of an index for these columns. What the options say of a field wins.
pub fn mappings(columns: &[SourceColumn], options: &IndexOptions) -> Value {
    let mut mappings = options.mappings.clone();
    let mut fields: Map<String, Value> =
        columns.iter().map(|column| (column.name.clone(), field(&column.value_type(), options.json))).collect();
    if let Some(Value::Object(given)) = mappings.remove("properties") {
        fields.extend(given);
    }
    mappings.insert("dynamic".to_owned(), json!("strict"));
    mappings.insert("properties".to_owned(), Value::Object(fields));
    Value::Object(mappings)
}

fn field(column_type: &ColumnType, json_fields: JsonFields) -> Value {
    match (column_type.field(), json_fields) {
        (Field::Object, JsonFields::Object) => json!({"type": "object", "enabled": false}),
        (Field::Object, JsonFields::Flattened) => json!({"type": "flattened", "ignore_above": MAX_TERM}),
        (Field::Text, _) => {
            json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": MAX_KEYWORD}}})
        }
        (Field::Keyword, _) => json!({"type": "keyword", "ignore_above": MAX_TERM}),
        (Field::Boolean, _) => json!({"type": "boolean"}),
        (Field::Short, _) => json!({"type": "short"}),
        (Field::Integer, _) => json!({"type": "integer"}),
        (Field::Long, _) => json!({"type": "long"}),
        (Field::Float, _) => json!({"type": "float"}),
        (Field::Double, _) => json!({"type": "double"}),
        (Field::Date, _) => json!({"type": "date", "format": "strict_date_optional_time"}),
        // Sorted and searched by milliseconds over the whole range, by nanoseconds from 1970 to 2262.
        (Field::Timestamp, _) => json!({
            "type": "date",
            "format": "strict_date_optional_time",
            "fields": {
                "nanos": {"type": "date_nanos", "format": "strict_date_optional_time", "ignore_malformed": true}
            }
        }),
        (Field::Opaque, _) => json!({"type": "keyword", "index": false, "doc_values": false}),
    }
}

/// Whether values of a field of type `wanted` are found as they are in one of type `found`. Whole numbers that do not fit are
/// refused by the server, each with its document.
pub fn holds(found: &str, wanted: &str) -> bool {
    const WHOLE: [&str; 3] = ["short", "integer", "long"];
    found == wanted || WHOLE.contains(&found) && WHOLE.contains(&wanted) || (found, wanted) == ("double", "float")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(type_name: &str) -> String {
        field(&ColumnType::of(type_name), JsonFields::Object)["type"].as_str().unwrap_or_default().to_owned()
    }

    fn column(name: &str, type_name: &str) -> SourceColumn {
        SourceColumn { name: name.to_owned(), type_name: type_name.to_owned(), ..SourceColumn::default() }
    }

    #[test]
    fn every_type_has_its_field() {
        for (types, expected) in [
            (&["text", "character varying", "character varying(255)", "character(65)"][..], "text"),
            (&["xml", "public.citext", "text[]"], "text"),
            (&["uuid", "character varying(20)", "character(2)", "bpchar", "content.film_type"], "keyword"),
            (&["time(3) without time zone", "interval", "inet", "bytea"], "keyword"),
            (&["boolean"], "boolean"),
            (&["smallint"], "short"),
            (&["integer", "integer[]"], "integer"),
            (&["bigint", "oid", "numeric(18,0)"], "long"),
            (&["numeric", "numeric(3,1)", "numeric(30,0)", "double precision"], "double"),
            (&["real"], "float"),
            (&["date", "timestamp with time zone", "timestamp(3) with time zone"], "date"),
            (&["timestamp(0) without time zone"], "date"),
            (&["jsonb", "jsonb[]", "public.hstore"], "object"),
        ] {
            types.iter().for_each(|type_name| assert_eq!(kind(type_name), expected, "{type_name}"));
        }
        assert_eq!(field(&ColumnType::of("jsonb"), JsonFields::Flattened)["type"], "flattened");
    }

    #[test]
    fn a_timestamp_keeps_its_microseconds() {
        let mapping = field(&ColumnType::of("timestamp with time zone"), JsonFields::Object);
        assert_eq!(mapping["fields"]["nanos"]["type"], "date_nanos");
    }

    #[test]
    fn the_options_win_and_the_mapping_stays_strict() {
        let options = IndexOptions::parse(&json!({"mappings": {
            "_source": {"enabled": true},
            "properties": {"title": {"type": "text", "analyzer": "russian"}, "extra": {"type": "keyword"}}
        }}));
        let mappings = mappings(&[column("id", "uuid"), column("title", "text")], &options.expect("good options"));
        assert_eq!(mappings["dynamic"], "strict");
        assert_eq!(mappings["_source"]["enabled"], true);
        assert_eq!(mappings["properties"]["title"], json!({"type": "text", "analyzer": "russian"}));
        assert_eq!(mappings["properties"]["extra"]["type"], "keyword");
        assert_eq!(mappings["properties"]["id"]["type"], "keyword");
    }
}
