//! How much a client may send where the form itself sets no end.
//!
//! A body is bounded as a whole, but what is stored is read again by every run, shown in every list and checked item by item.

use serde_json::{Map, Value};

use super::Problem;

pub const MAX_STEPS: usize = 32;
/// Most columns that a step's option names.
pub const MAX_NAMES: usize = 200;
/// Longest name of a column, as in PostgreSQL.
pub const MAX_NAME_BYTES: usize = 63;
pub const MAX_KEY_COLUMNS: usize = 16;
pub const MAX_QUERY_BYTES: usize = 64 * 1024;
pub const MAX_OPTIONS_BYTES: usize = 64 * 1024;
/// Deepest nesting of objects and lists in options, they themselves included.
pub const MAX_OPTIONS_DEPTH: usize = 16;

pub fn options_problem(field: &str, options: &Map<String, Value>) -> Option<Problem> {
    let deepest = 1 + options.values().map(depth).max().unwrap_or(0);
    if deepest > MAX_OPTIONS_DEPTH {
        return Some(Problem::new(field, format!("options are nested at most {MAX_OPTIONS_DEPTH} deep")));
    }
    let bytes = serde_json::to_vec(options).map_or(usize::MAX, |text| text.len());
    let message = || format!("options have at most {MAX_OPTIONS_BYTES} bytes as JSON, these have {bytes}");
    (bytes > MAX_OPTIONS_BYTES).then(|| Problem::new(field, message()))
}

pub fn names_problem<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> Option<String> {
    if names.len() > MAX_NAMES {
        return Some(format!("columns: at most {MAX_NAMES} columns"));
    }
    let fits = |name: &String| (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains('\0');
    let mut names = names;
    (!names.all(fits)).then(|| format!("columns: a column's name has 1 to {MAX_NAME_BYTES} bytes"))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(value: Value) -> Option<String> {
        let Value::Object(options) = value else { panic!("options are an object") };
        options_problem("options", &options).map(|problem| problem.message)
    }

    /// An object in an object, and so on.
    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) })
    }

    #[test]
    fn options_may_be_as_large_and_deep_as_the_bounds_say_and_no_more() {
        let of_bytes = |bytes: usize| json!({"a": "x".repeat(bytes - "{\"a\":\"\"}".len())});
        assert_eq!(options(json!({})), None);
        assert_eq!(options(of_bytes(MAX_OPTIONS_BYTES)), None);
        let message = options(of_bytes(MAX_OPTIONS_BYTES + 1)).expect("too large");
        assert_eq!(message, "options have at most 65536 bytes as JSON, these have 65537");
        assert_eq!(options(json!({ "a": nested(MAX_OPTIONS_DEPTH - 1) })), None);
        let message = options(json!({ "a": nested(MAX_OPTIONS_DEPTH) })).expect("too deep");
        assert_eq!(message, "options are nested at most 16 deep");
    }

    #[test]
    fn columns_may_be_as_many_and_long_as_the_bounds_say_and_no_more() {
        let problem = |count: usize, bytes: usize| names_problem(vec!["x".repeat(bytes); count].iter());
        assert_eq!(problem(MAX_NAMES, MAX_NAME_BYTES), None);
        assert_eq!(problem(MAX_NAMES + 1, 1).as_deref(), Some("columns: at most 200 columns"));
        for bytes in [0, MAX_NAME_BYTES + 1] {
            assert_eq!(problem(1, bytes).as_deref(), Some("columns: a column's name has 1 to 63 bytes"));
        }
    }
}
