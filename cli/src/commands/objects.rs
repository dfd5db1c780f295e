//! JSON as people read it.

use serde::de::DeserializeOwned;
use serde_json::Value;
use vitrina_shared::process::Failure;

use crate::{
    client::List,
    output::{self, Cell, Format, Table},
};

/// Prints a list: as JSON, as a table, or `none` where it is empty.
pub(super) fn print_list<T: DeserializeOwned, const N: usize>(
    format: Format,
    list: Value,
    none: &str,
    columns: [&str; N],
    row: impl FnMut(&T) -> [Cell; N],
) -> Result<(), Failure> {
    format.show(list, |list: List<T>| match &list.items[..] {
        [] => none.to_owned(),
        items => output::table(columns, items.iter().map(row)),
    })
}

pub(super) fn table<'a>(names: impl IntoIterator<Item = &'a str>, objects: &[Value]) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let mut table = Table::of(names.iter().copied());
    for object in objects {
        table.row(names.iter().map(|name| text(&object[*name]).into()));
    }
    table.render()
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
