//! How one pipeline of the demo ended.

use serde::Serialize;
use serde_json::Value;

use crate::client::Run;

/// The form is a promise: programs read it from `demo --json`.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) name: String,
    status: String,
    pub(super) rows_read: i64,
    pub(super) rows_written: i64,
    pub(super) duration_ms: i64,
    reconciled: bool,
    #[serde(skip)]
    pub(super) rows_per_second: Option<i64>,
    #[serde(skip)]
    differing: i64,
    #[serde(skip)]
    error: Option<String>,
}

impl Outcome {
    pub(super) fn new(run: &Run, reconciliation: &Value) -> Self {
        let rows = |kind: &str| reconciliation[kind].as_i64().unwrap_or_default();
        Self {
            name: run.pipeline.clone(),
            status: run.status.clone(),
            rows_read: run.rows_read,
            rows_written: run.rows_written,
            duration_ms: run.duration_ms.unwrap_or_default(),
            reconciled: reconciliation["verdict"] == "match",
            rows_per_second: run.rows_per_second(),
            differing: rows("missing") + rows("extra") + rows("different"),
            error: run.error.clone().filter(|_| !run.is_success()),
        }
    }

    /// Whether it ended well and every row is right.
    pub(super) fn is_good(&self) -> bool {
        self.status == "SUCCESS" && self.reconciled
    }

    /// What the check found, in a few words.
    pub(super) fn verdict(&self) -> String {
        match (&self.error, self.differing) {
            (Some(error), _) => format!("{}: {error}", self.status),
            (None, 0) if self.is_good() => "equal to its source".to_owned(),
            (None, 0) => format!("{}, not equal to its source", self.status),
            (None, 1) => "1 row differs".to_owned(),
            (None, rows) => format!("{rows} rows differ"),
        }
    }
}
