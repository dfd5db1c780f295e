//! What can go wrong with Elasticsearch, by what the caller can do about it.

use std::{error::Error, time::Duration};

use serde_json::Value;
use vitrina_shared::{domain::ErrorClass, tls};

use crate::error::BatchError;

/// Reasons are cut to this: the server repeats the offending value in them.
const MAX_REASON: usize = 1_000;

/// Bytes of an answer that a worker takes at the most.
pub const MOST_ANSWERED: usize = 64 << 20;

/// The type of an error about an index that nothing can be written to.
const BLOCKED: &str = "cluster_block_exception";

/// What a caller can do something about besides giving up or trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkErrorKind {
    Blocked,
    AlreadyExists,
    /// The server answered 400: it cannot do what was asked.
    BadRequest,
    /// The answer has more than [`MOST_ANSWERED`].
    TooLarge,
    Other,
}

impl SinkErrorKind {
    pub(super) fn of(status: u16, error: &Value) -> Self {
        match error["type"].as_str() {
            Some(BLOCKED) => Self::Blocked,
            Some("resource_already_exists_exception") => Self::AlreadyExists,
            _ if status == 400 => Self::BadRequest,
            _ => Self::Other,
        }
    }
}

/// Why nothing durable can be promised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    pub class: ErrorClass,
    pub kind: SinkErrorKind,
    pub message: String,
}

impl SinkError {
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::other(ErrorClass::Fatal, message)
    }

    pub fn transient(message: impl Into<String>) -> Self {
        Self::other(ErrorClass::Transient, message)
    }

    /// An answer, or documents, with more bytes than a worker takes at once.
    pub fn too_large() -> Self {
        let most = MOST_ANSWERED >> 20;
        let message =
            format!("documents have more than {most} MiB together, which is too much for a worker: compare keys alone");
        Self { kind: SinkErrorKind::TooLarge, ..Self::fatal(message) }
    }

    /// Documents that the server refuses.
    pub fn row(message: impl Into<String>) -> Self {
        Self::other(ErrorClass::Row, message)
    }

    fn other(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, kind: SinkErrorKind::Other, message: message.into() }
    }

    /// The request did not get through, or its answer did not get back.
    pub fn lost(error: &(dyn Error + 'static)) -> Self {
        let mut message = format!("Elasticsearch does not answer: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        // Waiting does not change a certificate.
        if tls::refusal(error) == Some(tls::TlsRefusal::Certificate) {
            return Self::fatal(format!(
                "{message}. Let VITRINA_ELASTICSEARCH_CA name the certificate of its authority, and ELASTICSEARCH_URL a name \
                 that its certificate has"
            ));
        }
        Self::transient(message)
    }

    /// The answer is not one of Elasticsearch, or only a part of one.
    pub fn foreign(error: &serde_json::Error) -> Self {
        Self::transient(format!(
            "what answers is not Elasticsearch, or not all of its answer arrived ({error}): see that ELASTICSEARCH_URL leads to \
             the server itself"
        ))
    }

    /// The server answered with something else than success.
    pub fn refused(status: u16, body: &[u8]) -> Self {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        let Some(error) = parsed.get("error") else {
            let body: String = String::from_utf8_lossy(body).chars().take(MAX_REASON).collect();
            // Elasticsearch says what it does not find; a proxy that has lost it does not.
            let class = if status == 404 { ErrorClass::Transient } else { classify(status, &Value::Null) };
            return Self::other(class, format!("what answers {status} may not be Elasticsearch: {body}"));
        };
        let reason = explained(error);
        let reason = match status {
            401 => format!("{reason}. Check the user and password, or the API key, in ELASTICSEARCH_URL"),
            _ => reason,
        };
        let (class, kind) = (classify(status, error), SinkErrorKind::of(status, error));
        Self { class, kind, message: format!("Elasticsearch answers {status}: {reason}") }
    }
}

/// The class of an answer, of a request or of one of its items.
pub(super) fn classify(status: u16, error: &Value) -> ErrorClass {
    match status {
        429 => ErrorClass::RateLimited,
        // Read-only, by hand or because a disk is nearly full: it passes once there is room.
        403 if error["type"] == BLOCKED => ErrorClass::Transient,
        408 | 500 | 502..=504 => ErrorClass::Transient,
        _ => ErrorClass::Fatal,
    }
}

/// The server's words for an error, and what would help where that is known.
pub(super) fn explained(error: &Value) -> String {
    let (kind, said) = (error["type"].as_str().unwrap_or_default(), reason(error));
    let hint = match kind {
        BLOCKED => {
            "The index is read-only: make room on the nodes' disks, or take its block away with PUT /<index>/_settings \
             {\"index.blocks.write\":null,\"index.blocks.read_only\":null,\"index.blocks.read_only_allow_delete\":null}"
        }
        "index_closed_exception" => "The index is closed: open it with POST /<index>/_open",
        "index_not_found_exception" => {
            "The index was removed, or its alias was, while it was written: run the pipeline again, from the first row"
        }
        "illegal_argument_exception" if said.contains("pipeline with id") => {
            "The index names an ingest pipeline that is not there: make it, or take the setting index.default_pipeline or \
             index.final_pipeline away"
        }
        "routing_missing_exception" => "The index insists on routing, by an index template: documents have none",
        _ => return said,
    };
    format!("{said}. {hint}")
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

impl From<SinkError> for BatchError {
    fn from(error: SinkError) -> Self {
        Self::Failed { class: error.class, message: error.message }
    }
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
            (403, ErrorClass::Fatal),
        ] {
            assert_eq!(SinkError::refused(status, b"{\"error\": {}}").class, class, "{status}");
            assert_eq!(SinkError::refused(status, b"<html>").class, class, "{status}");
        }
        let full = SinkError::refused(403, br#"{"error": {"type": "cluster_block_exception", "reason": "read-only"}}"#);
        assert_eq!(full.class, ErrorClass::Transient);
        assert!(full.message.contains("make room"), "{full}");
    }

    #[test]
    fn answers_have_kinds_that_no_quoted_value_changes() {
        for (status, kind, expected) in [
            (403, "cluster_block_exception", SinkErrorKind::Blocked),
            (400, "resource_already_exists_exception", SinkErrorKind::AlreadyExists),
            (400, "search_phase_execution_exception", SinkErrorKind::BadRequest),
            (500, "exception", SinkErrorKind::Other),
        ] {
            let reason = "cluster_block_exception: Elasticsearch answers 400: resource_already_exists_exception";
            let body = json!({"error": {"type": kind, "reason": reason}}).to_string();
            assert_eq!(SinkError::refused(status, body.as_bytes()).kind, expected, "{kind}");
        }
    }

    #[test]
    fn a_proxy_that_lost_the_server_is_not_taken_for_a_server_that_lost_an_index() {
        assert_eq!(SinkError::refused(404, b"404 page not found").class, ErrorClass::Transient);
        let gone =
            SinkError::refused(404, br#"{"error": {"type": "index_not_found_exception", "reason": "no such index"}}"#);
        assert_eq!(gone.class, ErrorClass::Fatal);
        assert!(gone.message.contains("run the pipeline again"), "{gone}");
    }

    #[test]
    fn a_reason_has_its_causes_and_is_cut() {
        let error = json!({"type": "a", "reason": "b", "caused_by": {"type": "c", "caused_by": {"reason": "d"}}});
        assert_eq!(reason(&error), "a: b; c; error: d");
        assert_eq!(reason(&json!("plain")), "plain");
        assert_eq!(reason(&json!({"type": "x", "reason": "y".repeat(5_000)})).len(), MAX_REASON);
    }
}
