//! What an index looks like, derived from the reader's columns.
//!
//! Documents are rows as PostgreSQL's `row_to_json` renders them: timestamps in ISO form with microseconds, `uuid` as
//! text, numbers as numbers, `NaN` and the infinities as text, which number fields refuse.

use serde_json::{Map, Value, json};
use vitrina_shared::domain::{IndexOptions, JsonFields, SourceColumn, index_options::is_json};

/// Codes up to this length are searched as a whole and not by their words.
const MAX_CODE: u32 = 64;
/// Longer texts are searched by their words only.
const MAX_KEYWORD: u32 = 256;
/// A keyword's limit is 32,766 bytes, a character has up to 4.
const MAX_TERM: u32 = 8_191;

/// The `mappings` of an index for these columns. What the options say of a field wins.
pub fn mappings(columns: &[SourceColumn], options: &IndexOptions) -> Value {
    let mut mappings = options.mappings.clone();
    let mut fields: Map<String, Value> =
        columns.iter().map(|column| (column.name.clone(), field(column.plain_type(), options.json))).collect();
    if let Some(Value::Object(given)) = mappings.remove("properties") {
        fields.extend(given);
    }
    mappings.insert("dynamic".to_owned(), json!("strict"));
    mappings.insert("properties".to_owned(), Value::Object(fields));
    Value::Object(mappings)
}

/// The mapping of one column by its type's name. An array is mapped like its elements.
fn field(type_name: &str, json_fields: JsonFields) -> Value {
    let (name, arguments) = parts(element(type_name));
    match name {
        _ if is_json(type_name) => match json_fields {
            JsonFields::Object => json!({"type": "object", "enabled": false}),
            JsonFields::Flattened => json!({"type": "flattened", "ignore_above": MAX_TERM}),
        },
        "text" | "xml" | "citext" => text(),
        "character varying" | "character" => match arguments.first() {
            Some(&length) if length <= MAX_CODE => keyword(),
            None if name == "character" => keyword(),
            Some(_) | None => text(),
        },
        "boolean" => json!({"type": "boolean"}),
        "smallint" => json!({"type": "short"}),
        "integer" => json!({"type": "integer"}),
        "bigint" | "oid" => json!({"type": "long"}),
        "numeric" => match arguments[..] {
            [precision, 0] if precision <= 18 => json!({"type": "long"}),
            _ => json!({"type": "double"}),
        },
        "real" => json!({"type": "float"}),
        "double precision" => json!({"type": "double"}),
        "date" => date(),
        // Sorted and searched by milliseconds over the whole range, by nanoseconds from 1970 to 2262.
        "timestamp with time zone" | "timestamp without time zone" => {
            let mut mapping = date();
            mapping["fields"] = json!({
                "nanos": {"type": "date_nanos", "format": "strict_date_optional_time", "ignore_malformed": true}
            });
            mapping
        }
        "bytea" => json!({"type": "keyword", "index": false, "doc_values": false}),
        // uuid, enums, times, intervals, networks, ranges, domains: their text.
        _ => keyword(),
    }
}

/// Whether values of a field of type `wanted` are found as they are in one of type `found`. Whole numbers that do not fit are
/// refused by the server, each with its document.
pub fn holds(found: &str, wanted: &str) -> bool {
    const WHOLE: [&str; 3] = ["short", "integer", "long"];
    found == wanted || WHOLE.contains(&found) && WHOLE.contains(&wanted) || (found, wanted) == ("double", "float")
}

fn keyword() -> Value {
    json!({"type": "keyword", "ignore_above": MAX_TERM})
}

fn text() -> Value {
    json!({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": MAX_KEYWORD}}})
}

fn date() -> Value {
    json!({"type": "date", "format": "strict_date_optional_time"})
}

fn element(type_name: &str) -> &str {
    type_name.trim_end_matches("[]")
}

/// `numeric(10,2)` → `numeric` and `[10, 2]`; `timestamp(3) with time zone` → without the number.
fn parts(type_name: &str) -> (&str, Vec<u32>) {
    for known in ["timestamp", "time"] {
        if let Some(rest) = type_name.strip_prefix(known).and_then(|rest| rest.strip_prefix('(')) {
            let zoned = rest.ends_with("with time zone");
            return match (known, zoned) {
                ("timestamp", true) => ("timestamp with time zone", Vec::new()),
                ("timestamp", false) => ("timestamp without time zone", Vec::new()),
                _ => ("time", Vec::new()),
            };
        }
    }
    let Some((name, rest)) = type_name.split_once('(') else { return (type_name, Vec::new()) };
    let numbers = rest.trim_end_matches(')').split(',').filter_map(|number| number.trim().parse().ok()).collect();
    (name, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(type_name: &str) -> String {
        field(type_name, JsonFields::Object)["type"].as_str().unwrap_or_default().to_owned()
    }

    fn column(name: &str, type_name: &str) -> SourceColumn {
        SourceColumn {
            name: name.to_owned(),
            type_oid: 0,
            type_name: type_name.to_owned(),
            declared: None,
            collation: None,
            nullable: None,
        }
    }

    #[test]
    fn every_type_has_its_field() {
        for (type_name, expected) in [
            ("uuid", "keyword"),
            ("text", "text"),
            ("character varying", "text"),
            ("character varying(255)", "text"),
            ("character varying(20)", "keyword"),
            ("character(2)", "keyword"),
            ("boolean", "boolean"),
            ("smallint", "short"),
            ("integer", "integer"),
            ("bigint", "long"),
            ("numeric", "double"),
            ("numeric(3,1)", "double"),
            ("numeric(18,0)", "long"),
            ("numeric(30,0)", "double"),
            ("real", "float"),
            ("double precision", "double"),
            ("date", "date"),
            ("timestamp with time zone", "date"),
            ("timestamp(3) with time zone", "date"),
            ("timestamp(0) without time zone", "date"),
            ("time(3) without time zone", "keyword"),
            ("interval", "keyword"),
            ("inet", "keyword"),
            ("content.film_type", "keyword"),
            ("jsonb", "object"),
            ("bytea", "keyword"),
            ("integer[]", "integer"),
            ("text[]", "text"),
            ("jsonb[]", "object"),
        ] {
            assert_eq!(kind(type_name), expected, "{type_name}");
        }
        assert_eq!(field("jsonb", JsonFields::Flattened)["type"], "flattened");
    }

    #[test]
    fn a_timestamp_keeps_its_microseconds() {
        let mapping = field("timestamp with time zone", JsonFields::Object);
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
