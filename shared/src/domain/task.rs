//! A task: one entry of a plan.

use serde::{Deserialize, Serialize};

use super::names::named_enum;

named_enum! {
    TaskKind {
        Sql = "SQL",
        /// A transform that every deployment has.
        Rust = "RUST",
        /// A step in Python that workers of this deployment have.
        Python = "PYTHON",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub order_index: i32,
    pub task_type: TaskKind,
    /// The query of an SQL step, the name of a transform or of a step in Python.
    pub body: String,
    /// Overrides the pipeline's target; only the last step may.
    pub target_table: Option<String>,
    pub options: serde_json::Map<String, serde_json::Value>,
}

impl Task {
    /// The first step of a plan.
    pub fn reader(query: impl Into<String>) -> Self {
        let options = serde_json::Map::new();
        Self { order_index: 1, task_type: TaskKind::Sql, body: query.into(), target_table: None, options }
    }
}
