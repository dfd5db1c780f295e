//! Checks options against the part of JSON schema that published steps describe them in (`python/vitrina/_schema.py` refuses
//! the rest).

use serde_json::{Map, Value};

/// Whether options are as the schema of an object says; otherwise what is wrong with which of them. Options that it does not
/// name are refused, unless it says otherwise.
pub(super) fn check(schema: &Value, options: &Map<String, Value>) -> Result<(), String> {
    object("", schema, options)
}

fn object(path: &str, schema: &Value, given: &Map<String, Value>) -> Result<(), String> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            return Err(said(path, &format!("`{name}` is missing")));
        }
    }
    for (name, value) in given {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match properties.get(name) {
            Some(property) => check_value(&inner, property, value)?,
            None if schema["additionalProperties"] == true => {}
            None => {
                let known: Vec<_> = properties.keys().map(String::as_str).collect();
                let has = if known.is_empty() { "has none".to_owned() } else { format!("has {}", known.join(", ")) };
                return Err(said(&inner, &format!("there is no such option: the step {has}")));
            }
        }
    }
    Ok(())
}

fn check_value(path: &str, schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(expected) = schema["type"].as_str().filter(|expected| !is_of(expected, value)) {
        return Err(said(path, &format!("is {}, not {}", article(expected), article(type_of(value)))));
    }
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        return Err(said(path, &format!("is always {only}")));
    }
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.contains(value)) {
        let list: Vec<_> = choices.iter().map(Value::to_string).collect();
        return Err(said(path, &format!("is one of {}", list.join(", "))));
    }
    let number = value.as_f64();
    let length = match value {
        Value::String(text) => Some(("Length", text.chars().count(), "characters")),
        Value::Array(list) => Some(("Items", list.len(), "items")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    for (limit, at_least) in [("min", true), ("max", false)] {
        let breaks = |value: f64, limit: f64| if at_least { value < limit } else { value > limit };
        let most = if at_least { "least" } else { "most" };
        let bound = &schema[format!("{limit}imum")];
        if let (Some(number), Some(limit)) = (number, bound.as_f64())
            && breaks(number, limit)
        {
            return Err(said(path, &format!("is at {most} {bound}")));
        }
        if let Some((suffix, length, unit)) = length
            && let Some(bound) = schema[format!("{limit}{suffix}")].as_u64()
            && breaks(length as f64, bound as f64)
        {
            return Err(said(path, &format!("has at {most} {bound} {unit}")));
        }
    }
    match value {
        Value::Object(inner) if schema.get("properties").is_some() => object(path, schema, inner),
        Value::Array(list) => {
            let Some(items) = schema.get("items") else { return Ok(()) };
            list.iter().enumerate().try_for_each(|(at, item)| check_value(&format!("{path}[{at}]"), items, item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Ok(()),
    }
}

fn said(path: &str, message: &str) -> String {
    if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") }
}

fn is_of(expected: &str, value: &Value) -> bool {
    match expected {
        "integer" => value.is_i64() || value.is_u64(),
        expected => type_of(value) == expected,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        _ if name.starts_with(['a', 'i', 'o']) => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_rule_of_a_schema_has_its_own_message() {
        let schema = json!({
            "type": "object",
            "required": ["from"],
            "properties": {
                "from": {"type": "string", "minLength": 2, "maxLength": 3},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"enum": ["fast", "good"]},
                "columns": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "more": {"type": "object", "properties": {"on": {"type": "boolean"}}},
                "any": {"type": "object"}
            }
        });
        let cases = [
            (json!({"from": "ab"}), None),
            (
                json!({"from": "ab", "count": 9, "mode": "fast", "columns": ["a"], "more": {"on": true}, "any": {"x": 1}}),
                None,
            ),
            (json!({}), Some("`from` is missing")),
            (json!({"from": "a"}), Some("from: has at least 2 characters")),
            (json!({"from": "abcd"}), Some("from: has at most 3 characters")),
            (json!({"from": 1}), Some("from: is a string, not a number")),
            (json!({"from": "ab", "count": 0}), Some("count: is at least 1")),
            (json!({"from": "ab", "count": 10}), Some("count: is at most 9")),
            (json!({"from": "ab", "count": 1.5}), Some("count: is an integer, not a number")),
            (json!({"from": "ab", "mode": "slow"}), Some("mode: is one of \"fast\", \"good\"")),
            (json!({"from": "ab", "columns": []}), Some("columns: has at least 1 items")),
            (json!({"from": "ab", "columns": [null]}), Some("columns[0]: is a string, not null")),
            (json!({"from": "ab", "more": {"on": 1}}), Some("more.on: is a boolean, not a number")),
            (json!({"from": "ab", "more": {"off": 1}}), Some("more.off: there is no such option: the step has on")),
            (json!({"from": "ab", "colour": 1}), Some("colour: there is no such option")),
        ];
        for (options, expected) in cases {
            let Value::Object(given) = &options else { panic!("options are an object") };
            match (check(&schema, given), expected) {
                (Ok(()), None) => {}
                (Err(found), Some(expected)) => assert!(found.starts_with(expected), "{options}: {found}"),
                (found, expected) => panic!("{options}: {found:?} instead of {expected:?}"),
            }
        }
        let open = json!({"type": "object", "additionalProperties": true});
        assert_eq!(check(&open, &Map::from_iter([("x".to_owned(), json!(1))])), Ok(()));
    }
}
