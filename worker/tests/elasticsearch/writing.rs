//! What becomes of documents on a healthy node.

use serde_json::json;
use vitrina_shared::domain::ErrorClass;
use vitrina_worker::elasticsearch::{Action, Document};

use crate::support::{Corner, item, items, run, write, write_with};

#[tokio::test]
async fn a_stream_of_documents_arrives_whole_in_chunks_of_bounded_size() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"max_body_bytes": 20_000, "max_docs": 100, "concurrency": 3, "replicas": 0}));
    let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
    let written = write(&endpoint, Action::Upsert, (0..2_000).map(|n| item(n, &format!("item {n}")))).await.unwrap();
    assert_eq!((written.created, written.updated, written.unchanged), (2_000, 0, 0));
    let documents = corner.documents().await;
    assert_eq!(documents.len(), 2_000);
    for n in 0..2_000 {
        assert_eq!(documents[&n.to_string()]["name"], format!("item {n}"));
    }
}

#[tokio::test]
async fn writing_the_same_twice_changes_nothing() {
    let Some(corner) = Corner::new() else { return };
    let endpoint = corner.index(json!({})).prepare(run(), &items(), false).await.unwrap().endpoint;
    let all = || (0..300).map(|n| item(n, "same"));
    assert_eq!(write(&endpoint, Action::Upsert, all()).await.unwrap().created, 300);
    let again = write(&endpoint, Action::Upsert, all()).await.unwrap();
    assert_eq!((again.unchanged, again.changes()), (300, 0));
    let changed = write(&endpoint, Action::Upsert, [item(7, "other")]).await.unwrap();
    assert_eq!((changed.updated, changed.changes()), (1, 1));
}

#[tokio::test]
async fn an_older_version_never_replaces_a_newer_one() {
    let Some(corner) = Corner::new() else { return };
    let endpoint = corner.index(json!({"write": "index"})).prepare(run(), &items(), false).await.unwrap().endpoint;
    let at = |version, name| Document { version: Some(version), ..item(1, name) };
    assert_eq!(write(&endpoint, Action::Replace, [at(20, "new")]).await.unwrap().created, 1);
    let late = write(&endpoint, Action::Replace, [at(10, "old")]).await.unwrap();
    assert_eq!((late.superseded, late.changes()), (1, 0));
    assert_eq!(write(&endpoint, Action::Replace, [at(20, "new")]).await.unwrap().updated, 1);
    assert_eq!(corner.documents().await["1"]["name"], "new");
}

#[tokio::test]
async fn a_document_that_is_gone_already_counts_as_deleted() {
    let Some(corner) = Corner::new() else { return };
    let endpoint = corner.index(json!({})).prepare(run(), &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Upsert, [item(1, "one"), item(2, "two")]).await.unwrap();
    let deleted = write(&endpoint, Action::Delete, [item(1, ""), item(3, "")]).await.unwrap();
    assert_eq!(deleted.deleted, 2);
    assert_eq!(corner.documents().await.into_keys().collect::<Vec<_>>(), ["2"]);
}

#[tokio::test]
async fn one_bad_document_among_many_is_named_and_the_others_are_in() {
    let Some(corner) = Corner::new() else { return };
    let endpoint = corner.index(json!({"max_docs": 200})).prepare(run(), &items(), false).await.unwrap().endpoint;
    let bad = Document { body: json!({"id": 500, "name": "x", "modified": "not a date"}).to_string(), ..item(500, "") };
    let all = || (0..1_000).map(|n| if n == 500 { bad.clone() } else { item(n, "good") });
    let written = write_with(&endpoint, Action::Upsert, 1, all()).await.unwrap();
    assert_eq!(written.created, 999);
    let [rejected] = &written.rejected[..] else { panic!("{:?}", written.rejected) };
    assert_eq!((&rejected.id, &rejected.doc), (&bad.id, &bad.body));
    assert!(rejected.error.contains("failed to parse field [modified] of type [date]"), "{}", rejected.error);
    assert_eq!(corner.documents().await.len(), 999);

    let refused = write(&endpoint, Action::Upsert, all()).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Row);
    assert!(refused.message.contains("document `500`"), "{refused}");
}

#[tokio::test]
async fn compressed_requests_arrive_too() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index_at(&corner.node, &[("VITRINA_ELASTICSEARCH_GZIP", "on")], json!({"max_docs": 50}));
    let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Upsert, (0..500).map(|n| item(n, "packed"))).await.unwrap();
    assert_eq!(corner.documents().await.len(), 500);
}

#[tokio::test]
async fn a_request_that_is_too_large_for_the_server_is_halved_and_a_document_rejected() {
    let Some(corner) = Corner::new() else { return };
    let limit = corner.ask("_nodes/_local/settings?flat_settings=true").await;
    let settings = limit["nodes"].as_object().unwrap().values().next().unwrap()["settings"].clone();
    // Only the node of our own script has the small limit; elsewhere it takes a hundred megabytes to reach it.
    if settings["http.max_content_length"] != "16mb" {
        return;
    }
    let endpoint =
        corner.index(json!({"max_body_bytes": 30_000_000})).prepare(run(), &items(), false).await.unwrap().endpoint;
    let mut documents: Vec<_> = (0..10).map(|n| item(n, &"x".repeat(2_500_000))).collect();
    documents.push(item(10, &"y".repeat(17_000_000)));
    let written = write_with(&endpoint, Action::Upsert, 1, documents).await.unwrap();
    assert_eq!(written.created, 10);
    let [rejected] = &written.rejected[..] else { panic!("{}", written.rejected.len()) };
    assert_eq!(rejected.id, "10");
    assert!(rejected.error.contains("http.max_content_length"), "{}", rejected.error);
}

#[tokio::test]
async fn a_document_that_cannot_be_sent_is_rejected_here() {
    let Some(corner) = Corner::new() else { return };
    let endpoint = corner.index(json!({})).prepare(run(), &items(), false).await.unwrap().endpoint;
    let nameless = Document { id: String::new(), ..item(1, "x") };
    let ancient = Document { version: Some(-1), ..item(2, "x") };
    let written = write_with(&endpoint, Action::Replace, 2, [nameless, ancient, item(3, "x")]).await.unwrap();
    assert_eq!((written.created, written.rejected.len()), (1, 2));
    assert!(written.rejected[0].error.contains("empty"), "{:?}", written.rejected);
    assert!(written.rejected[1].error.contains("negative"), "{:?}", written.rejected);
}
