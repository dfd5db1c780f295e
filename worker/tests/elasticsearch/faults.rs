//! Nothing is lost and nothing is there twice, whatever comes between us and the node.

use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::json;
use vitrina_shared::domain::ErrorClass;
use vitrina_worker::elasticsearch::Action;

use crate::{
    proxy::{Fault, Proxy, Seen},
    support::{Corner, item, items, run, write},
};

const DOCUMENTS: u64 = 1_000;

/// Writes through a proxy and compares what arrived; returns the proxy.
async fn survives(script: impl Fn(&Seen) -> Fault + Send + Sync + 'static) -> Option<Proxy> {
    let corner = Corner::new()?;
    let proxy = Proxy::start(&corner.node, script).await;
    let index = corner.index_at(&proxy.url, &[], json!({"max_docs": 50, "concurrency": 4}));
    let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
    let written =
        write(&endpoint, Action::Upsert, (0..DOCUMENTS).map(|n| item(n, &format!("item {n}")))).await.unwrap();
    // A document whose acknowledgement was lost is found there at the second attempt.
    assert_eq!(written.created + written.unchanged, DOCUMENTS);
    let documents = corner.documents().await;
    assert_eq!(documents.len() as u64, DOCUMENTS);
    assert!((0..DOCUMENTS).all(|n| documents[&n.to_string()]["name"] == format!("item {n}")));
    Some(proxy)
}

#[tokio::test]
async fn a_third_of_all_items_refused_costs_time_and_nothing_else() {
    let script = |seen: &Seen| {
        let refused = |_: &usize| rand::rng().random_range(0..3) == 0;
        if seen.items == usize::MAX {
            Fault::None
        } else {
            Fault::Items(429, (0..seen.items).filter(refused).collect())
        }
    };
    let Some(proxy) = survives(script).await else { return };
    assert!(proxy.bulks() > 20, "nothing was sent again");
    assert!(proxy.most_at_once() <= 4, "{} at once", proxy.most_at_once());
}

#[tokio::test]
async fn shards_that_are_away_for_a_moment_are_waited_for() {
    survives(|seen| if seen.number < 10 && seen.items > 1 { Fault::Items(503, vec![0, 1]) } else { Fault::None }).await;
}

#[tokio::test]
async fn a_server_without_room_is_asked_again_with_fewer_requests_at_a_time() {
    let script = |seen: &Seen| if seen.number < 8 { Fault::Status(429, None) } else { Fault::None };
    let Some(proxy) = survives(script).await else { return };
    assert_eq!(proxy.bulks(), 28);
    assert!(proxy.most_at_once() <= 4);
}

#[tokio::test]
async fn a_server_that_says_when_to_come_back_is_obeyed() {
    let begun = Instant::now();
    let script = |seen: &Seen| if seen.number == 0 { Fault::Status(503, Some(1)) } else { Fault::None };
    if survives(script).await.is_some() {
        assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn answers_that_are_cut_or_missing_and_connections_that_end_are_made_good() {
    survives(|seen| match seen.number % 5 {
        0 => Fault::HalfAnAnswer,
        1 => Fault::NoAnswer,
        2 => Fault::Cut,
        _ => Fault::None,
    })
    .await;
}

#[tokio::test]
async fn slow_answers_never_make_more_requests_than_allowed() {
    let script =
        |seen: &Seen| if seen.items == usize::MAX { Fault::None } else { Fault::Slow(Duration::from_millis(30)) };
    let Some(proxy) = survives(script).await else { return };
    assert_eq!(proxy.most_at_once(), 4);
    assert_eq!(proxy.bulks(), 20);
}

#[tokio::test]
async fn an_answer_that_never_comes_ends_with_the_time_out() {
    let Some(corner) = Corner::new() else { return };
    let hanging = |seen: &Seen| {
        if seen.number == 0 && seen.items < usize::MAX { Fault::Slow(Duration::from_secs(600)) } else { Fault::None }
    };
    let proxy = Proxy::start(&corner.node, hanging).await;
    let settings = [("VITRINA_ELASTICSEARCH_TIMEOUT_SECONDS", "2")];
    let endpoint =
        corner.index_at(&proxy.url, &settings, json!({})).prepare(run(), &items(), false).await.unwrap().endpoint;
    assert_eq!(write(&endpoint, Action::Upsert, [item(1, "one")]).await.unwrap().created, 1);
    assert_eq!(proxy.bulks(), 2);
}

#[tokio::test]
async fn patience_ends_with_an_error_of_the_right_class() {
    let Some(corner) = Corner::new() else { return };
    for (status, class) in [(429, ErrorClass::RateLimited), (503, ErrorClass::Transient)] {
        let proxy = Proxy::start(&corner.node, move |_| Fault::Status(status, None)).await;
        let settings = [("VITRINA_ELASTICSEARCH_PATIENCE_SECONDS", "0.5")];
        let endpoint =
            corner.index_at(&proxy.url, &settings, json!({})).prepare(run(), &items(), false).await.unwrap().endpoint;
        let error = write(&endpoint, Action::Upsert, [item(1, "one")]).await.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains("no room"), "{error}");
        assert!(proxy.bulks() > 1);
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_a_transient_error() {
    let settings = [("VITRINA_ELASTICSEARCH_PATIENCE_SECONDS", "0")];
    let error = crate::support::client("http://127.0.0.1:9", &settings).server().await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Transient);
    assert!(error.message.contains("does not answer"), "{error}");
}
