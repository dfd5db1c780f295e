//! JSON as people read it.

use serde::de::DeserializeOwned;
use serde_json::Value;
use vitrina_shared::process::Failure;

use crate::{
    client::List,
    output::{self, Cell, Format, Table, printable},
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

/// The tasks of a plan, with the options and the target that a task has of its own.
pub(super) fn steps(tasks: &[Value]) -> impl Iterator<Item = (String, String)> {
    tasks.iter().zip(1..).map(|(task, place)| {
        let mut step = text(&task["body"]).trim_end().to_owned();
        for field in ["options", "target_table"].into_iter().filter(|field| says_something(&task[*field])) {
            step.push_str(&format!("\n{field}: {}", text(&task[field])));
        }
        (format!("step {place}"), printable(&step))
    })
}

pub(super) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The key of a row, in the order of the target's key: `shop_id=1, order_no=200`.
pub(super) fn key<'a>(columns: impl Iterator<Item = (&'a String, String)>, order: &[String]) -> String {
    let mut columns: Vec<_> = columns.collect();
    columns.sort_by_key(|(name, _)| order.iter().position(|column| column == *name));
    columns.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
