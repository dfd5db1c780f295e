//! The hooks of a pipeline.

use salvo::oapi::ToSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vitrina_shared::domain::Hooks;

/// Functions of the database that are called for an event: `schema.function`, in this order, at most 8 each.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema, JsonSchema)]
#[salvo(schema(name = "Hooks"))]
#[schemars(rename = "Hooks")]
#[serde(deny_unknown_fields, default)]
pub struct HooksValue {
    /// When a run begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false, max_items = 8))]
    #[schemars(length(max = 8))]
    pub before_run: Vec<String>,
    /// When a batch is committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false, max_items = 8))]
    #[schemars(length(max = 8))]
    pub after_batch: Vec<String>,
    /// When a run has succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false, max_items = 8))]
    #[schemars(length(max = 8))]
    pub on_success: Vec<String>,
    /// When a run has failed for good.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false, max_items = 8))]
    #[schemars(length(max = 8))]
    pub on_failure: Vec<String>,
    /// When a row is put aside that was not before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[salvo(schema(required = false, max_items = 8))]
    #[schemars(length(max = 8))]
    pub on_row_rejected: Vec<String>,
}

impl From<HooksValue> for Hooks {
    fn from(hooks: HooksValue) -> Self {
        let HooksValue { before_run, after_batch, on_success, on_failure, on_row_rejected } = hooks;
        Self { before_run, after_batch, on_success, on_failure, on_row_rejected }
    }
}

impl From<Hooks> for HooksValue {
    fn from(hooks: Hooks) -> Self {
        let Hooks { before_run, after_batch, on_success, on_failure, on_row_rejected } = hooks;
        Self { before_run, after_batch, on_success, on_failure, on_row_rejected }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::views::OptionsInput;

    /// `vitrina apply` compares what a file has with what the API shows.
    #[test]
    fn hooks_that_call_nothing_are_left_out_as_they_are_where_a_pipeline_is_shown() {
        for (hooks, kept) in
            [(json!({}), false), (json!({"on_failure": []}), false), (json!({"on_failure": ["a.b"]}), true)]
        {
            let options: OptionsInput = serde_json::from_value(json!({ "hooks": hooks })).expect("options");
            let written = serde_json::to_value(options).expect("JSON");
            assert_eq!(written.get("hooks").is_some(), kept, "{hooks}");
        }
    }
}
