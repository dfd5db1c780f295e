//! Full runs: another index is built and takes the place of the one that serves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use vitrina_shared::domain::{ErrorClass, RunId};
use vitrina_worker::elasticsearch::{Action, GRACE, Index, SinkError};

use crate::support::{Corner, INSTALLATION, item, items, run, write};

const LATER: Duration = Duration::ZERO;

async fn rebuild(index: &Index, count: u64, name: &str) -> RunId {
    let this = run();
    let endpoint = index.begin_rebuild(this, &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Replace, (0..count).map(|n| item(n, name))).await.unwrap();
    index.finish_rebuild(this, count, |_, _| None).await.unwrap();
    this
}

async fn sweep(index: &Index, live: &[RunId], grace: Duration) -> Result<Vec<String>, SinkError> {
    index.sweep(index.ours().await?, &live.iter().copied().collect(), grace).await
}

#[tokio::test]
async fn a_rebuilt_index_takes_over_with_its_settings_and_the_old_one_goes() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"replicas": 1, "refresh_interval": "2s"}));
    rebuild(&index, 100, "old").await;
    let second = rebuild(&index, 50, "new").await;
    let physical = format!("{}-vitrina-{second}", corner.name);
    let documents = corner.documents().await;
    assert_eq!(documents.len(), 50);
    assert!(documents.values().all(|document| document["name"] == "new"));
    let settings = corner.ask(&format!("{}/_settings", corner.name)).await[&physical]["settings"]["index"].clone();
    assert_eq!((&settings["number_of_replicas"], &settings["refresh_interval"]), (&json!("1"), &json!("2s")));

    assert_eq!(sweep(&index, &[], GRACE).await.unwrap(), Vec::<String>::new(), "a search may be reading it");
    assert_eq!(sweep(&index, &[], LATER).await.unwrap().len(), 1);
    assert_eq!(corner.physical().await, [(physical, vec![corner.name.clone()])]);
}

#[tokio::test]
async fn a_search_never_sees_an_error_an_empty_or_a_partial_index() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"max_docs": 100}));
    rebuild(&index, 500, "generation 0").await;
    let done = Arc::new(AtomicBool::new(false));
    let (url, stop) = (format!("{}/{}/_search", corner.node, corner.name), done.clone());
    let searching = tokio::spawn(async move {
        let client = reqwest::Client::new();
        let query = json!({"track_total_hits": true, "aggs": {"names": {"terms": {"field": "name.keyword"}}}});
        let mut searches = 0;
        while !stop.load(Ordering::SeqCst) {
            let response = client.post(&url).json(&query).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let found: Value = response.json().await.unwrap();
            assert_eq!(found["hits"]["total"]["value"], 500, "{found}");
            assert_eq!(found["_shards"]["failed"], 0, "{found}");
            assert_eq!(found["aggregations"]["names"]["buckets"].as_array().unwrap().len(), 1, "{found}");
            searches += 1;
        }
        searches
    });
    for generation in 1..=4 {
        rebuild(&index, 500, &format!("generation {generation}")).await;
        sweep(&index, &[], GRACE).await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    assert!(searching.await.unwrap() > 4, "hardly anybody searched");
}

#[tokio::test]
async fn a_rebuild_that_lost_documents_does_not_take_over() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    rebuild(&index, 20, "old").await;
    let this = run();
    let endpoint = index.begin_rebuild(this, &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Replace, (0..19).map(|n| item(n, "new"))).await.unwrap();
    let error = index.finish_rebuild(this, 20, |_, _| None).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("19 documents where 20"), "{error}");
    assert!(corner.documents().await.values().all(|document| document["name"] == "old"));
}

#[tokio::test]
async fn a_rebuild_that_ended_badly_leaves_the_old_index_serving_and_no_litter() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    let serving = rebuild(&index, 20, "old").await;
    let (dead, live) = (run(), run());
    let late = index.begin_rebuild(dead, &items(), false).await.unwrap().endpoint;
    write(&late, Action::Replace, (0..5).map(|n| item(n, "dead"))).await.unwrap();
    index.begin_rebuild(live, &items(), false).await.unwrap();
    let removed = sweep(&index, &[live], LATER).await.unwrap();
    assert_eq!(removed, [format!("{}-vitrina-{dead}", corner.name)]);
    let error = write(&late, Action::Replace, [item(9, "late")]).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal, "{error}");
    let mut left: Vec<_> = corner.physical().await.into_iter().map(|(name, _)| name).collect();
    left.sort();
    let mut expected = vec![format!("{}-vitrina-{serving}", corner.name), format!("{}-vitrina-{live}", corner.name)];
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(corner.documents().await.len(), 20);
}

#[tokio::test]
async fn a_rebuild_goes_on_where_a_crash_left_it() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    rebuild(&index, 10, "old").await;
    let this = run();
    let first = index.begin_rebuild(this, &items(), false).await.unwrap().endpoint;
    write(&first, Action::Replace, (0..15).map(|n| item(n, "new"))).await.unwrap();
    let again = index.begin_rebuild(this, &items(), true).await.unwrap().endpoint;
    write(&again, Action::Replace, (10..30).map(|n| item(n, "new"))).await.unwrap();
    index.finish_rebuild(this, 30, |_, _| None).await.unwrap();
    assert_eq!(corner.documents().await.len(), 30);

    // The process died after the swap: there is nothing left to do.
    index.begin_rebuild(this, &items(), true).await.unwrap();
    index.finish_rebuild(this, 30, |_, _| None).await.unwrap();
    assert_eq!(corner.documents().await.len(), 30);
}

#[tokio::test]
async fn replaced_indexes_are_kept_for_a_rollback_where_that_is_wanted() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"keep_old": 1}));
    let mut runs = Vec::new();
    for generation in 0..3 {
        runs.push(rebuild(&index, 5, &format!("generation {generation}")).await);
    }
    assert_eq!(sweep(&index, &[], LATER).await.unwrap(), [format!("{}-vitrina-{}", corner.name, runs[0])]);
    assert_eq!(sweep(&index, &[], LATER).await.unwrap(), Vec::<String>::new());
    assert_eq!(corner.physical().await.len(), 2);
}

#[tokio::test]
async fn a_rebuild_replaces_an_index_that_was_given_away_and_does_not_remove_it() {
    let Some(corner) = Corner::new() else { return };
    let theirs = format!("{}-theirs", corner.name);
    corner.put(reqwest::Method::PUT, &theirs, &json!({"aliases": {&corner.name: {}}})).await;
    let given = json!({"_meta": {"vitrina": {"installation": INSTALLATION}}});
    corner.put(reqwest::Method::PUT, &format!("{theirs}/_mapping"), &given).await;
    let index = corner.index(json!({}));
    let this = rebuild(&index, 5, "ours").await;
    assert_eq!(sweep(&index, &[], LATER).await.unwrap(), Vec::<String>::new());
    let ours = format!("{}-vitrina-{this}", corner.name);
    assert_eq!(corner.physical().await, [(theirs, vec![]), (ours, vec![corner.name.clone()])]);
}

#[tokio::test]
async fn an_index_template_does_not_let_a_part_of_the_documents_be_found() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    rebuild(&index, 5, "old").await;
    let template = format!("_index_template/{}", corner.name);
    let body = json!({"index_patterns": [format!("{}-vitrina-*", corner.name)], "priority": 500,
        "template": {"aliases": {&corner.name: {}}}});
    corner.put(reqwest::Method::PUT, &template, &body).await;
    let begun = index.begin_rebuild(run(), &items(), false).await.map(|_| ());
    corner.put(reqwest::Method::DELETE, &template, &Value::Null).await;
    let error = begun.unwrap_err();
    assert!(error.class == ErrorClass::Fatal && error.message.contains("index template"), "{error}");
    assert_eq!(corner.documents().await.len(), 5);
    assert_eq!(sweep(&index, &[], LATER).await.unwrap().len(), 1, "what was begun is litter");
    assert_eq!(corner.physical().await.len(), 1);
}
