//! What the server said of every document of a request.

use serde::Deserialize;
use serde_json::Value;
use vitrina_shared::domain::ErrorClass;

use super::super::error::{SinkError, classify, reason};

/// What became of one document.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    Created,
    /// It was changed.
    Updated,
    /// It was there already, the same.
    Unchanged,
    /// A newer version is there.
    Superseded,
    /// It is gone.
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
pub fn fates(body: &[u8], count: usize) -> Result<Vec<Fate>, SinkError> {
    let answer: BulkAnswer = serde_json::from_slice(body).map_err(|error| SinkError::lost(&error))?;
    if answer.items.len() != count {
        let found = answer.items.len();
        return Err(SinkError::transient(format!("Elasticsearch answered {found} of {count} documents")));
    }
    answer.items.into_iter().map(fate).collect()
}

fn fate(item: ItemAnswer) -> Result<Fate, SinkError> {
    let (deletes, item) = match item {
        ItemAnswer::Delete(item) => (true, item),
        ItemAnswer::Index(item) | ItemAnswer::Create(item) | ItemAnswer::Update(item) => (false, item),
    };
    let conflict = item.error["type"] == "version_conflict_engine_exception";
    Ok(match item.status {
        404 if deletes => Fate::Deleted,
        200..=299 => match item.result {
            Outcome::Created => Fate::Created,
            Outcome::Noop => Fate::Unchanged,
            Outcome::Deleted => Fate::Deleted,
            Outcome::Updated => Fate::Updated,
        },
        // Ours says that a newer version is there; an `update` without versions met another one and may try again.
        409 if conflict && is_about_versions(&item.error) => Fate::Superseded,
        409 => Fate::Again(SinkError::transient(reason(&item.error))),
        400 => Fate::Rejected(reason(&item.error)),
        status => {
            let class = classify(status, &item.error);
            let message = format!("Elasticsearch answers {status} for a document: {}", reason(&item.error));
            let error = SinkError { class, message };
            match class {
                ErrorClass::RateLimited => Fate::Again(error),
                ErrorClass::Transient if status != 500 => Fate::Again(error),
                ErrorClass::Transient | ErrorClass::Quota | ErrorClass::Fatal | ErrorClass::Row => return Err(error),
            }
        }
    })
}

/// An external version is compared with the one that is there; an internal one names a sequence number.
fn is_about_versions(error: &Value) -> bool {
    error["reason"].as_str().is_some_and(|reason| reason.contains("current version"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(item: Value) -> Result<Fate, SinkError> {
        fates(json!({"items": [item]}).to_string().as_bytes(), 1).map(|mut fates| fates.remove(0))
    }

    #[test]
    fn every_status_has_its_fate() {
        let newer = "[1]: version conflict, current version [9] is higher or equal to the one provided [7]";
        let raced = "[1]: version conflict, required seqNo [3], primary term [1]. current document has seqNo [4]";
        let conflict = |reason| json!({"type": "version_conflict_engine_exception", "reason": reason});
        for (item, expected) in [
            (json!({"index": {"status": 201, "result": "created"}}), Fate::Created),
            (json!({"update": {"status": 200, "result": "updated"}}), Fate::Updated),
            (json!({"update": {"status": 200, "result": "noop"}}), Fate::Unchanged),
            (json!({"delete": {"status": 200, "result": "deleted"}}), Fate::Deleted),
            (json!({"delete": {"status": 404, "result": "not_found"}}), Fate::Deleted),
            (json!({"index": {"status": 409, "error": conflict(newer)}}), Fate::Superseded),
            (
                json!({"index": {"status": 400, "error": {"type": "a", "reason": "b"}}}),
                Fate::Rejected("a: b".to_owned()),
            ),
        ] {
            assert_eq!(one(item), Ok(expected));
        }
        for item in [
            json!({"update": {"status": 409, "error": conflict(raced)}}),
            json!({"index": {"status": 429, "error": {"type": "es_rejected_execution_exception"}}}),
            json!({"index": {"status": 503, "error": {"type": "unavailable_shards_exception"}}}),
        ] {
            assert!(matches!(one(item.clone()), Ok(Fate::Again(_))), "{item}");
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
    fn an_answer_that_is_cut_or_lacks_documents_counts_for_nothing() {
        let whole = json!({"items": [{"index": {"status": 201, "result": "created"}}]}).to_string();
        for (body, count) in [(&whole[..whole.len() - 3], 1), (&whole[..], 2), ("", 1), ("<html>", 1)] {
            let error = fates(body.as_bytes(), count).expect_err(body);
            assert_eq!(error.class, ErrorClass::Transient, "{error}");
        }
    }
}
