//! What is wrong with what a client sent.

use super::names::named_enum;

/// Something wrong with one field of what a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, for instance `tasks[1].body`.
    pub field: String,
    pub message: String,
    /// For programs that act on this kind of problem.
    pub kind: Option<ProblemKind>,
}

named_enum! {
    /// A problem that a program acts on: `vitrina apply` allows targets and creates tables itself, and applies a plan whose limit
    /// is still to be set.
    ProblemKind {
        TargetNotAllowed = "target-not-allowed",
        NoTable = "no-table",
        NoLimit = "no-limit",
    }
}

impl Problem {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), kind: None }
    }

    /// The same, for programs too.
    pub fn of_kind(self, kind: ProblemKind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}
