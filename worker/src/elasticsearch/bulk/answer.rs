//! What the server said of every document of a request.

use serde::Deserialize;
use serde_json::Value;
use vitrina_shared::domain::ErrorClass;

use super::super::error::{SinkError, SinkErrorKind, classify, explained, reason};

/// Errors that a document has by itself: others of the request may be taken, and this one never will.
const OF_A_DOCUMENT: &[&str] = &[
    "mapper_parsing_exception",
    "document_parsing_exception",
    "strict_dynamic_mapping_exception",
    "parsing_exception",
    "parse_exception",
    "x_content_parse_exception",
    "json_parse_exception",
    "max_bytes_length_exceeded_exception",
    "ingest_processor_exception",
    "fail_processor_exception",
];
/// What a general error says that a document has by itself.
const ABOUT_A_DOCUMENT: &[&str] = &["immense term", "is too large, must be <=", "nested documents"];

#[derive(Debug, PartialEq, Eq)]
pub enum DocumentFate {
    Created,
    Updated,
    /// It was there already, the same.
    Unchanged,
    /// A newer version is there: its number, if the server states it.
    Superseded(Option<i64>),
    Deleted,
    /// The server has no room for it at the moment.
    Again(SinkError),
    /// It will never be taken, for this reason.
    Rejected(String),
}

#[derive(Deserialize)]
struct BulkAnswer {
    items: Vec<ItemAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ItemAnswer {
    Index(ItemResult),
    Create(ItemResult),
    Update(ItemResult),
    Delete(ItemResult),
}

#[derive(Deserialize)]
struct ItemResult {
    status: u16,
    #[serde(default)]
    result: Outcome,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Created,
    Noop,
    Deleted,
    #[default]
    #[serde(other)]
    Updated,
}

/// Reads the fates of `count` documents, in their order. An answer that ends early is as good as none.
pub fn fates(body: &[u8], count: usize) -> Result<Vec<DocumentFate>, SinkError> {
    let answer: BulkAnswer = serde_json::from_slice(body).map_err(|error| SinkError::foreign(&error))?;
    if answer.items.len() != count {
        let found = answer.items.len();
        return Err(SinkError::transient(format!("Elasticsearch answered {found} of {count} documents")));
    }
    answer.items.into_iter().map(fate).collect()
}

fn fate(item: ItemAnswer) -> Result<DocumentFate, SinkError> {
    let (deletes, item) = match item {
        ItemAnswer::Delete(item) => (true, item),
        ItemAnswer::Index(item) | ItemAnswer::Create(item) | ItemAnswer::Update(item) => (false, item),
    };
    let conflict = item.error["type"] == "version_conflict_engine_exception";
    Ok(match item.status {
        404 if deletes && item.error.is_null() => DocumentFate::Deleted,
        200..=299 => match item.result {
            Outcome::Created => DocumentFate::Created,
            Outcome::Noop => DocumentFate::Unchanged,
            Outcome::Deleted => DocumentFate::Deleted,
            Outcome::Updated => DocumentFate::Updated,
        },
        // Ours says that a newer version is there; an `update` without versions met another one and may try again.
        409 if conflict && is_about_versions(&item.error) => DocumentFate::Superseded(current_version(&item.error)),
        409 => DocumentFate::Again(SinkError::transient(reason(&item.error))),
        // Any other 400 is about the index: it would be the same for every document.
        400 if is_about_the_document(&item.error) => DocumentFate::Rejected(reason(&item.error)),
        status => {
            let class = classify(status, &item.error);
            let message = format!("Elasticsearch answers {status} for a document: {}", explained(&item.error));
            let error = SinkError { class, kind: SinkErrorKind::of(status, &item.error), message };
            match class {
                ErrorClass::RateLimited => DocumentFate::Again(error),
                ErrorClass::Transient if status != 500 => DocumentFate::Again(error),
                ErrorClass::Transient | ErrorClass::Quota | ErrorClass::Fatal | ErrorClass::Row => return Err(error),
            }
        }
    })
}

/// An external version is compared with the one that is there; an internal one names a sequence number.
fn is_about_versions(error: &Value) -> bool {
    error["reason"].as_str().is_some_and(|reason| reason.contains("current version"))
}

/// The version that is there: `… current version [9] is higher …`.
fn current_version(error: &Value) -> Option<i64> {
    let (_, rest) = error["reason"].as_str()?.split_once("current version [")?;
    rest.split_once(']')?.0.parse().ok()
}

fn is_about_the_document(error: &Value) -> bool {
    let (kind, said) = (error["type"].as_str().unwrap_or_default(), reason(error));
    OF_A_DOCUMENT.contains(&kind) || ABOUT_A_DOCUMENT.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(item: Value) -> Result<DocumentFate, SinkError> {
        fates(json!({"items": [item]}).to_string().as_bytes(), 1).map(|mut fates| fates.remove(0))
    }

    #[test]
    fn every_status_has_its_fate() {
        let newer = "[1]: version conflict, current version [9] is higher or equal to the one provided [7]";
        let raced = "[1]: version conflict, required seqNo [3], primary term [1]. current document has seqNo [4]";
        let conflict = |reason| json!({"type": "version_conflict_engine_exception", "reason": reason});
        for (item, expected) in [
            (json!({"index": {"status": 201, "result": "created"}}), DocumentFate::Created),
            (json!({"update": {"status": 200, "result": "updated"}}), DocumentFate::Updated),
            (json!({"update": {"status": 200, "result": "noop"}}), DocumentFate::Unchanged),
            (json!({"delete": {"status": 200, "result": "deleted"}}), DocumentFate::Deleted),
            (json!({"delete": {"status": 404, "result": "not_found"}}), DocumentFate::Deleted),
            (json!({"index": {"status": 409, "error": conflict(newer)}}), DocumentFate::Superseded(Some(9))),
            (
                json!({"index": {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "b"}}}),
                DocumentFate::Rejected("mapper_parsing_exception: b".to_owned()),
            ),
        ] {
            assert_eq!(one(item), Ok(expected));
        }
        for item in [
            json!({"update": {"status": 409, "error": conflict(raced)}}),
            json!({"index": {"status": 429, "error": {"type": "es_rejected_execution_exception"}}}),
            json!({"index": {"status": 503, "error": {"type": "unavailable_shards_exception"}}}),
        ] {
            assert!(matches!(one(item.clone()), Ok(DocumentFate::Again(_))), "{item}");
        }
    }

    #[test]
    fn what_nobody_foresaw_fails_with_the_servers_reason() {
        for status in [404, 403, 500, 418] {
            let item = json!({"index": {"status": status, "error": {"type": "strange", "reason": "indeed"}}});
            let error = one(item).expect_err("unknown");
            assert!(error.message.contains("strange: indeed"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_index_is_never_laid_to_a_document() {
        for (kind, said, help) in [
            ("index_closed_exception", "closed", "_open"),
            ("illegal_argument_exception", "pipeline with id [p] does not exist", "default_pipeline"),
            ("illegal_argument_exception", "no write index is defined for alias [a]", ""),
            ("routing_missing_exception", "routing is required for [i]/[_doc]/[1]", "routing"),
            ("whatever_exception", "comes next", ""),
        ] {
            let error =
                one(json!({"index": {"status": 400, "error": {"type": kind, "reason": said}}})).expect_err(kind);
            assert_eq!(error.class, ErrorClass::Fatal, "{error}");
            assert!(error.message.contains(said) && error.message.contains(help), "{error}");
        }
        for (kind, said) in [
            ("document_parsing_exception", "[1:7] failed to parse field [x]"),
            ("strict_dynamic_mapping_exception", "dynamic introduction of [x] is not allowed"),
            ("illegal_argument_exception", "Document contains at least one immense term in field=\"x\""),
        ] {
            let fate = one(json!({"index": {"status": 400, "error": {"type": kind, "reason": said}}}));
            assert!(matches!(fate, Ok(DocumentFate::Rejected(_))), "{kind}: {fate:?}");
        }
        let missing =
            json!({"delete": {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no"}}});
        assert!(one(missing).is_err(), "a document of an index that is gone was not deleted");
        let blocked = json!({"index": {"status": 403, "error": {"type": "cluster_block_exception", "reason": "disk"}}});
        assert!(matches!(one(blocked), Ok(DocumentFate::Again(error)) if error.message.contains("make room")));
    }

    #[test]
    fn an_answer_that_is_cut_or_lacks_documents_counts_for_nothing() {
        let whole = json!({"items": [{"index": {"status": 201, "result": "created"}}]}).to_string();
        for (body, count) in [(&whole[..whole.len() - 3], 1), (&whole[..], 2), ("", 1), ("<html>", 1)] {
            let error = fates(body.as_bytes(), count).expect_err(body);
            assert_eq!(error.class, ErrorClass::Transient, "{error}");
        }
    }
}
