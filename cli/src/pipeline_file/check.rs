//! A file against its schema: unknown keys, missing ones, wrong types and values, all at once, each with its place.
//!
//! It knows the part of JSON Schema that our types produce, and nothing else.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use vitrina_shared::nearest;

use super::{
    FileProblem, entries,
    yaml::{Content, LineColumn, Node},
};

static SCHEMA: LazyLock<Value> = LazyLock::new(entries::schema);

/// All problems of a document. An empty document is valid.
pub(super) fn problems(document: &Node) -> Vec<FileProblem> {
    let mut check = DocumentCheck { document, problems: Vec::new() };
    if !document.is_null() {
        check.value(document, &SCHEMA, "");
    }
    check.problems
}

struct DocumentCheck<'a> {
    document: &'a Node,
    problems: Vec<FileProblem>,
}

impl DocumentCheck<'_> {
    fn report(&mut self, place: LineColumn, path: &str, message: String) {
        self.problems.push(FileProblem { place, about: self.document.about(path), message });
    }

    fn value(&mut self, node: &Node, schema: &Value, path: &str) {
        if node.is_null() && takes_null(schema) {
            return;
        }
        let schema = without_null(schema);
        match (&node.content, kind(schema)) {
            (Content::Map(entries), "object") => self.map(node, entries, schema, path),
            (Content::List(items), "array") => {
                for (at, item) in items.iter().enumerate() {
                    self.value(item, &schema["items"], &format!("{path}[{at}]"));
                }
            }
            (Content::Scalar(value), _) => self.scalar(node.place, value, schema, path),
            (_, "") => {}
            (Content::List(_) | Content::Map(_), kind) => {
                self.report(node.place, path, format!("takes {}, not {}", takes(kind), shape(&node.content)));
            }
        }
    }

    fn map(&mut self, node: &Node, entries: &[(String, LineColumn, Node)], schema: &Value, path: &str) {
        let Some(fields) = schema["properties"].as_object() else { return };
        for (key, place, value) in entries {
            let Some(field) = fields.get(key) else {
                self.report(*place, path, unknown(key, fields, path.is_empty()));
                continue;
            };
            let dot = if path.is_empty() { "" } else { "." };
            self.value(value, field, &format!("{path}{dot}{key}"));
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !entries.iter().any(|(key, _, _)| key == required) {
                self.report(node.place, path, format!("`{required}` is missing"));
            }
        }
    }

    fn scalar(&mut self, place: LineColumn, value: &Value, schema: &Value, path: &str) {
        let kind = kind(schema);
        let fits = match kind {
            "string" => value.is_string(),
            "integer" => value.is_i64(),
            "boolean" => value.is_boolean(),
            "number" => value.is_number(),
            "" => true,
            _ => false,
        };
        if !fits {
            return self.report(place, path, format!("takes {}, not {}", takes(kind), shown(value)));
        }
        if let (Some(allowed), Some(text)) = (schema["enum"].as_array(), value.as_str())
            && !allowed.contains(value)
        {
            let allowed: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
            let hint = nearest::of(text, allowed.iter().copied()).map(|meant| format!("; did you mean `{meant}`?"));
            let message = format!("takes {}, not `{text}`{}", allowed.join(" or "), hint.unwrap_or_default());
            return self.report(place, path, message);
        }
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if value
            .as_f64()
            .is_some_and(|number| least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most))
        {
            let most = most.map(|most| format!(" to {most}")).unwrap_or_default();
            self.report(place, path, format!("takes a number from {}{most}, not {value}", least.unwrap_or_default()));
        }
    }
}

fn unknown(key: &str, fields: &Map<String, Value>, is_root: bool) -> String {
    if let Some(meant) = nearest::of(key, fields.keys().map(String::as_str)) {
        return format!("there is no `{key}` here; did you mean `{meant}`?");
    }
    let hint = if is_root { ": a pipeline is an item of the list `pipelines:`" } else { "" };
    format!("there is no `{key}` here{hint}; it takes {}", fields.keys().cloned().collect::<Vec<_>>().join(", "))
}

/// The type that is not null.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "",
    }
}

/// The alternative that is not null.
fn without_null(schema: &Value) -> &Value {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.into_iter().find(|one| one["type"] != "null").unwrap_or(schema)
}

/// Lists and maps may be left empty: `options:` means none.
fn takes_null(schema: &Value) -> bool {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    alternatives.into_iter().any(|one| one["type"] == "null")
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
        || (schema.get("default").is_some() && schema["type"] == "array")
}

fn takes(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "fields with values",
    }
}

fn shape(content: &Content) -> &'static str {
    match content {
        Content::Scalar(_) => "a value",
        Content::List(_) => "a list",
        Content::Map(_) => "fields with values",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => format!("the text `{}`", text.chars().take(60).collect::<String>()),
        Value::Bool(_) => format!("{value}; put it into quotes to make it text"),
        Value::Number(_) => format!("the number {value}; put it into quotes to make it text"),
        Value::Array(_) | Value::Object(_) => "several values".to_owned(),
    }
}
