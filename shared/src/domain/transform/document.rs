//! A row as JSON, whose values stay as the server wrote them unless a transform touches them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// A row on its way: columns and their values, each still in the JSON text that it came in. A `numeric` keeps all its
/// digits, and a value that no transform asks for is never read.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RowDocument {
    columns: BTreeMap<String, Box<RawValue>>,
    /// How many more bytes steps may make of it.
    #[serde(skip)]
    room: usize,
}

/// By how much steps may lengthen a row.
const ROOM: usize = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
#[error("the row is no JSON object: {0}")]
pub struct NotADocument(#[from] serde_json::Error);

impl RowDocument {
    pub fn parse(text: &str) -> Result<Self, NotADocument> {
        Ok(Self { columns: serde_json::from_str(text)?, room: ROOM })
    }

    pub fn to_text(&self) -> Result<String, NotADocument> {
        Ok(serde_json::to_string(&self.columns)?)
    }

    /// About what it takes as text.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|(name, value)| name.len() + value.get().len()).sum()
    }

    pub fn raw(&self, column: &str) -> Option<&str> {
        self.columns.get(column).map(|value| value.get())
    }

    /// The text of a column; none where it is NULL or not there.
    pub fn text(&self, column: &str) -> Result<Option<String>, String> {
        let Some(value) = self.columns.get(column) else { return Ok(None) };
        serde_json::from_str(value.get()).map_err(|_| format!("column `{column}` is no text"))
    }

    pub fn set_text(&mut self, column: &str, text: &str) -> Result<(), String> {
        let value = serde_json::value::to_raw_value(text).map_err(|error| error.to_string())?;
        self.put(column, value)
    }

    /// Sets a column to a value that is written as JSON.
    pub fn set_json(&mut self, column: &str, json: String) -> Result<(), String> {
        let value = RawValue::from_string(json).map_err(|error| error.to_string())?;
        self.put(column, value)
    }

    fn put(&mut self, column: &str, value: Box<RawValue>) -> Result<(), String> {
        let left = self.room.checked_sub(value.get().len());
        self.room = left.ok_or_else(|| format!("steps make more than {ROOM} bytes of the row"))?;
        self.columns.insert(column.to_owned(), value);
        Ok(())
    }

    pub fn set_null(&mut self, column: &str) {
        self.columns.insert(column.to_owned(), RawValue::NULL.to_owned());
    }

    /// Sets a column to a value that is JSON already.
    pub fn set_raw(&mut self, column: &str, value: Box<RawValue>) {
        self.columns.insert(column.to_owned(), value);
    }

    pub fn remove(&mut self, column: &str) {
        self.columns.remove(column);
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(value) = self.columns.remove(from) {
            self.columns.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lengthen_a_row_only_so_far() {
        let mut row = RowDocument::parse("{}").expect("a document");
        let long = format!("\"{}\"", "x".repeat(ROOM / 4));
        let set: Vec<_> = (0..4).map(|place| row.set_json(&place.to_string(), long.clone()).is_ok()).collect();
        assert_eq!(set, [true, true, true, false]);
    }

    #[test]
    fn values_that_no_transform_touches_stay_as_they_were_written() {
        let text = r#"{"a":12345678901234567890.123456789012345678901,"b":{"y":1,"x":[1.50]},"c":null}"#;
        let row = RowDocument::parse(text).expect("a document");
        assert_eq!(row.to_text().expect("text"), text);
        assert_eq!(row.text("c"), Ok(None));
        assert!(row.text("b").is_err());
    }
}
