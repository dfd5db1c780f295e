//! Why a step did not process a block.

use std::time::Duration;

use vitrina_shared::domain::ErrorClass;

/// An error of a step. Its class becomes the batch's.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StepError {
    pub class: ErrorClass,
    /// When the other side can be asked again, if it has said so.
    pub retry_after: Option<Duration>,
    pub message: String,
}

impl StepError {
    /// An error of a class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, retry_after: None, message: message.into() }
    }

    /// The other side asked us to slow down and come back after this time.
    pub fn rate_limited(retry_after: Duration, message: impl Into<String>) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(ErrorClass::RateLimited, message) }
    }

    /// The same, as the step's own words.
    pub(super) fn said_by(self, name: &str) -> Self {
        Self { message: said_by(name, &self.message), ..self }
    }

    /// The same, naming the step of which we say it.
    pub(super) fn of_step(self, name: &str) -> Self {
        Self { message: format!("step `{name}`: {}", self.message), ..self }
    }
}

/// Words of a step, marked as such: they may quote a row, and are not shown to viewers (`without_values`).
pub(super) fn said_by(name: &str, words: &str) -> String {
    format!("step `{name}` says: {words}")
}
