//! Whatever comes late is older, and nothing older takes the place of anything newer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use vitrina_shared::domain::{ErrorClass, Mode, RunStatus};

use crate::{
    films::{FILMS, Films},
    proxy::{Fault, Proxy, Seen},
    support::{Corner, eventually_within},
};

const SOON: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_late_puts_no_old_document_over_a_new_one() {
    let Some(corner) = Corner::new() else { return };
    let mut films = Films::at(corner, 100, json!({})).await;
    // The first worker's request gets as far as the network, and the worker dies.
    let (held, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(false)));
    let (permits, whole) = (held.clone(), arrived.clone());
    let script = move |seen: &Seen| {
        whole.fetch_or(seen.items != usize::MAX, Ordering::SeqCst);
        Fault::Held(permits.clone())
    };
    let proxy = Proxy::start(&films.corner.node, script).await;
    let lost = films.world.worker(&[("ELASTICSEARCH_URL", &proxy.url)]);
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 1_000)).await;
    let run = films.world.run(pipeline).await;
    eventually_within(SOON, "the request", || async { arrived.load(Ordering::SeqCst).then_some(()) }).await;
    drop(lost);
    // Others do its work, and more.
    films.world.start_worker(&[("ELASTICSEARCH_URL", &films.corner.node.clone())]);
    films.succeeded(run).await;
    films.world.sql("update content.film set title = 'new', modified = '2026-06-01'").await;
    assert_eq!(films.succeeds(pipeline).await.rows_read, 100);
    // Then it gets through.
    held.add_permits(1_000);
    eventually_within(SOON, "the late request", || async { (proxy.under_way() == 0).then_some(()) }).await;
    films.assert_same(FILMS).await;
}

/// Changes that no key tells of, and runs that have no such key, are versioned too.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_every_mode_has_a_higher_version_than_those_before() {
    for mode in [Mode::Incremental, Mode::Full] {
        let Some(mut films) = Films::new(60).await else { return };
        films.start_worker();
        let pipeline = films.world.pipeline(&films.draft(mode, 20)).await;
        let mut last = 0;
        for _ in 0..2 {
            films.world.reset(pipeline).await.unwrap();
            films.succeeds(pipeline).await;
            let path = format!("{}/_search?version=true&size=100", films.corner.name);
            films.corner.documents().await;
            let found = films.corner.put(reqwest::Method::POST, &path, &Value::Null).await;
            let versions =
                found["hits"]["hits"].as_array().unwrap().iter().map(|hit| hit["_version"].as_i64().unwrap());
            let mut versions: Vec<i64> = versions.collect();
            versions.sort_unstable();
            assert!(versions[0] > last, "{mode:?}: {versions:?}");
            last = versions[59];
            versions.dedup();
            assert_eq!(versions.len(), 3, "{mode:?}: one for each page");
        }
    }
}

/// As after the database was restored from a backup: its numbers begin again below the versions that the index has.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_went_back_cost_an_attempt_and_no_row() {
    let Some(mut films) = Films::new(100).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 1_000)).await;
    for _ in 0..3 {
        films.world.reset(pipeline).await.unwrap();
        films.succeeds(pipeline).await;
    }
    films.world.sql("alter sequence etl.etl_write_numbers restart").await;
    films.world.sql("update content.film set title = 'new', modified = '2026-06-01'").await;
    let run = films.succeeds(pipeline).await;
    assert_eq!((run.rows_read, run.rows_written, run.attempts), (100, 100, 1), "{:?}", run.error);
    films.assert_same(FILMS).await;
}

/// Edits by other programs raise a version by one each.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_somebody_edited_is_written_all_the_same() {
    let Some(mut films) = Films::new(10).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 1_000)).await;
    films.succeeds(pipeline).await;
    let id = films.world.text("select md5('3')::uuid").await.unwrap();
    for edit in 0..20 {
        let path = format!("{}/_update/{id}", films.corner.name);
        films.corner.put(reqwest::Method::POST, &path, &json!({"doc": {"title": format!("edit {edit}")}})).await;
    }
    films.world.sql("update content.film set title = 'new', modified = '2026-06-01'").await;
    assert_eq!(films.succeeds(pipeline).await.attempts, 0);
    films.assert_same(FILMS).await;
}

/// A version that another program made up stops the pipelines of its index, and a rebuild frees them.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_far_too_high_fails_the_pipelines_of_its_index_alone() {
    let Some(mut films) = Films::new(10).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Incremental, 1_000)).await;
    films.succeeds(pipeline).await;
    let number = films.world.number("select last_value from etl.etl_write_numbers").await;
    let id = films.world.text("select md5('3')::uuid").await.unwrap();
    let document = films.corner.documents().await[&id].clone();
    let path = format!("{}/_doc/{id}?version=9223372036854775807&version_type=external", films.corner.name);
    films.corner.put(reqwest::Method::PUT, &path, &document).await;
    films.world.sql("update content.film set title = 'new', modified = '2026-06-01'").await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
    let error = run.error.unwrap();
    assert!(error.contains(&films.corner.name) && error.contains("--full"), "{error}");
    let passed = films.world.number("select nextval('etl.etl_write_numbers')").await - number;
    assert!(passed < 1_000, "others have their numbers: {passed}");
    films.world.succeeds_in_full(pipeline).await;
    films.assert_same(FILMS).await;
    films.world.sql("update content.film set title = 'newer', modified = '2026-06-02'").await;
    assert_eq!(films.succeeds(pipeline).await.rows_written, 10);
    films.assert_same(FILMS).await;
}
