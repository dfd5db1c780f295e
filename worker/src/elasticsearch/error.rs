//! What can go wrong with Elasticsearch, by what the caller can do about it.

use std::{error::Error, time::Duration};

use serde_json::Value;
use vitrina_shared::domain::ErrorClass;

/// Reasons are cut to this: the server repeats the offending value in them.
const MAX_REASON: usize = 1_000;

/// How the TLS library begins its words about a certificate. No patience makes that good.
const UNTRUSTED: &str = "invalid peer certificate";

/// Why nothing durable can be promised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    /// What kind of failure.
    pub class: ErrorClass,
    /// What happened, for the user.
    pub message: String,
}

impl SinkError {
    /// An error that would come again every time.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Fatal, message: message.into() }
    }

    /// One that will probably pass.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Transient, message: message.into() }
    }

    /// Documents that the server refuses.
    pub fn row(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Row, message: message.into() }
    }

    /// The request did not get through, or its answer did not get back.
    pub fn lost(error: &dyn Error) -> Self {
        let mut message = format!("Elasticsearch does not answer: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        if message.contains(UNTRUSTED) {
            return Self::fatal(format!(
                "{message}. Let VITRINA_ELASTICSEARCH_CA name the certificate of its authority, and ELASTICSEARCH_URL a name \
                 that its certificate has"
            ));
        }
        Self::transient(message)
    }

    /// The server answered with something else than success.
    pub fn refused(status: u16, body: &[u8]) -> Self {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let reason = match parsed.get("error") {
            None => String::from_utf8_lossy(body).chars().take(MAX_REASON).collect(),
            Some(error) => reason(error),
        };
        let reason = match status {
            401 => format!("{reason}. Check the user and password, or the API key, in ELASTICSEARCH_URL"),
            _ => reason,
        };
        Self { class: classify(status, &parsed["error"]), message: format!("Elasticsearch answers {status}: {reason}") }
    }
}

/// The class of an answer, of a request or of one of its items.
pub(super) fn classify(status: u16, error: &Value) -> ErrorClass {
    match status {
        429 => ErrorClass::RateLimited,
        // A disk that is nearly full makes indexes read-only until someone makes room.
        403 if error["type"] == "cluster_block_exception" => ErrorClass::Quota,
        408 | 500 | 502..=504 => ErrorClass::Transient,
        _ => ErrorClass::Fatal,
    }
}

/// The server's words for an error, with its causes.
pub(super) fn reason(error: &Value) -> String {
    let mut words = Vec::new();
    let mut current = error;
    while current.is_object() {
        let (kind, reason) = (current["type"].as_str().unwrap_or("error"), current["reason"].as_str().unwrap_or(""));
        words.push(if reason.is_empty() { kind.to_owned() } else { format!("{kind}: {reason}") });
        current = &current["caused_by"];
    }
    let text = if words.is_empty() { error.as_str().unwrap_or("no reason given").to_owned() } else { words.join("; ") };
    text.chars().take(MAX_REASON).collect()
}

/// What `Retry-After` asks for, where it is a number of seconds.
pub(super) fn retry_after(header: Option<&str>) -> Option<Duration> {
    header?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_have_their_classes() {
        for (status, class) in [
            (429, ErrorClass::RateLimited),
            (503, ErrorClass::Transient),
            (500, ErrorClass::Transient),
            (401, ErrorClass::Fatal),
            (400, ErrorClass::Fatal),
        ] {
            assert_eq!(SinkError::refused(status, b"{}").class, class, "{status}");
        }
        let full = br#"{"error": {"type": "cluster_block_exception", "reason": "read-only"}}"#;
        assert_eq!(SinkError::refused(403, full).class, ErrorClass::Quota);
    }

    #[test]
    fn a_reason_has_its_causes_and_is_cut() {
        let error = json!({"type": "a", "reason": "b", "caused_by": {"type": "c", "caused_by": {"reason": "d"}}});
        assert_eq!(reason(&error), "a: b; c; error: d");
        assert_eq!(reason(&json!("plain")), "plain");
        assert_eq!(reason(&json!({"type": "x", "reason": "y".repeat(5_000)})).len(), MAX_REASON);
    }
}
