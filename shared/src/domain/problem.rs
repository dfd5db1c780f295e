//! What is wrong with what a client sent.

/// Something wrong with one field of what a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field, for instance `tasks[1].body`.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
    /// What programs tell it by, where one acts on it.
    pub kind: Option<ProblemKind>,
}

/// A problem that a program acts on: `vitrina apply` allows targets and creates tables itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// The target is not in the whitelist.
    TargetNotAllowed,
    /// The target's table does not exist.
    NoTable,
}

impl ProblemKind {
    /// How it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TargetNotAllowed => "target-not-allowed",
            Self::NoTable => "no-table",
        }
    }
}

impl Problem {
    /// A problem of `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), kind: None }
    }

    /// The same, for programs too.
    pub fn of_kind(self, kind: ProblemKind) -> Self {
        Self { kind: Some(kind), ..self }
    }
}
