//! A step of a plan.

use serde::{Deserialize, Serialize};

use super::names::named_enum;

named_enum! {
    TaskKind {
        Sql = "SQL",
        /// A transform that was registered in the deployment.
        Rust = "RUST",
        /// The older documents' word for a registered transform.
        Python = "PYTHON",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub order_index: i32,
    pub task_type: TaskKind,
    /// The query of an SQL step, the registered name of a transform.
    pub body: String,
    /// Overrides the pipeline's target; only the last step may.
    pub target_table: Option<String>,
    pub options: serde_json::Map<String, serde_json::Value>,
}
