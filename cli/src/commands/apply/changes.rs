//! The differences between a file and a stored pipeline.

use serde_json::Value;
use vitrina_shared::domain::Status;

/// Fields that may change while a run is unfinished.
const FREE: [&str; 3] = ["description", "batch_size", "enabled"];

/// A field that changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) field: String,
    pub(crate) from: Value,
    pub(crate) to: Value,
}

/// The fields in which the stored pipeline differs from the file.
pub(super) fn between(stored: &Value, wanted: &Value) -> Vec<Change> {
    let fields = wanted.as_object().into_iter().flatten();
    let changed = fields.filter(|(field, to)| plain(&stored[field.as_str()]) != plain(to));
    changed
        .map(|(field, to)| Change { field: field.clone(), from: stored[field.as_str()].clone(), to: to.clone() })
        .collect()
}

/// The first change that the pipeline's status forbids, as the rest of a sentence.
pub(super) fn forbidden(stored: &Value, changes: &[Change]) -> Option<(String, String)> {
    let status = stored["status"].as_str().unwrap_or_default();
    if !status.parse().is_ok_and(Status::has_unfinished_run) {
        return None;
    }
    let change = changes.iter().find(|change| !FREE.contains(&change.field.as_str()))?;
    let message = format!("cannot change while the pipeline is {status}: let its run end, or `vitrina cancel` it");
    Some((change.field.clone(), message))
}

/// A null field and an absent one are the same.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_a_change() {
        let stored = json!({"name": "a", "batch_size": 10, "options": {}, "tasks": [{"body": "x", "target_table": null}], "status": "IDLE"});
        let wanted = json!({"name": "a", "batch_size": 20, "options": {"null_keys": null}, "tasks": [{"body": "x"}]});
        let changes = between(&stored, &wanted);
        assert_eq!(changes, [Change { field: "batch_size".into(), from: 10.into(), to: 20.into() }]);
    }

    #[test]
    fn a_run_on_its_way_forbids_all_but_a_few_changes() {
        let stored = json!({"status": "RUNNING", "mode": "full", "batch_size": 1});
        let changes = between(&stored, &json!({"mode": "incremental", "batch_size": 2}));
        assert_eq!(forbidden(&stored, &changes).map(|(field, _)| field).as_deref(), Some("mode"));
        assert!(forbidden(&stored, &between(&stored, &json!({"batch_size": 2}))).is_none());
        assert!(forbidden(&json!({"status": "FAILED"}), &changes).is_none());
    }
}
