//! JSON as people read it.

use serde_json::Value;

use crate::output::Table;

/// The objects as a table with these columns.
pub(super) fn table<'a>(names: impl IntoIterator<Item = &'a str>, objects: &[Value]) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let mut table = Table::of(names.iter().copied());
    for object in objects {
        table.row(names.iter().map(|name| text(&object[*name]).into()));
    }
    table.render()
}

/// A value as a person reads it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
