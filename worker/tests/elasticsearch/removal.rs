//! What is removed, and above all what is not.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use vitrina_shared::domain::{ErrorClass, Mode, RunId};
use vitrina_worker::elasticsearch::{Action, GRACE, Index, sweep as sweep_all};

use crate::{
    films::{FILMS, Films},
    support::{Corner, client, item, items, run, write},
};

const LATER: Duration = Duration::ZERO;

async fn building(index: &Index, count: u64, name: &str) -> RunId {
    let this = run();
    let endpoint = index.begin_rebuild(this, &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Replace, (0..count).map(|n| item(n, name))).await.unwrap();
    this
}

async fn rebuilt(index: &Index, count: u64, name: &str) -> String {
    let this = building(index, count, name).await;
    index.finish_rebuild(this, count, |_, _| None).await.unwrap();
    this.to_string()
}

async fn sweep(index: &Index) -> Vec<String> {
    index.sweep(index.ours().await.unwrap(), &[].into(), LATER).await.unwrap()
}

impl Corner {
    fn named(&self, run: impl std::fmt::Display) -> String {
        format!("{}-vitrina-{run}", self.name)
    }

    async fn change(&self, actions: Value) {
        self.put(reqwest::Method::POST, "_aliases", &json!({"actions": actions})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_whose_alias_was_removed_by_hand_is_never_removed() {
    let Some(mut films) = Films::new(50).await else { return };
    films.start_worker();
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 100)).await;
    films.succeeds(pipeline).await;
    let [(only, _)] = &films.corner.physical().await[..] else { panic!("one index") };
    films.corner.change(json!([{"remove": {"index": only, "alias": films.corner.name}}])).await;
    let node = client(&films.corner.node, &[]);
    for _ in 0..3 {
        assert_eq!(sweep_all(films.world.db.pool(), &node, LATER).await.unwrap().removed, Vec::<String>::new());
    }
    films.corner.change(json!([{"add": {"index": only, "alias": films.corner.name}}])).await;
    films.assert_same(FILMS).await;
}

#[tokio::test]
async fn an_index_that_takes_over_while_it_is_looked_at_is_not_removed() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    rebuilt(&index, 5, "old").await;
    let this = building(&index, 10, "new").await;
    // The sweeper looks, then the index takes over and its run ends, then the sweeper acts.
    let found = index.ours().await.unwrap();
    index.finish_rebuild(this, 10, |_, _| None).await.unwrap();
    assert_eq!(index.sweep(found, &[].into(), LATER).await.unwrap(), Vec::<String>::new());
    assert_eq!(corner.documents().await.len(), 10);
}

#[tokio::test]
async fn an_index_that_was_marked_for_removal_does_not_take_over() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    rebuilt(&index, 5, "old").await;
    let this = building(&index, 10, "new").await;
    // As if the sweeper had died before it removed it.
    let name = corner.named(this);
    let (building, doomed) = (format!("{name}-building"), format!("{name}-doomed"));
    corner
        .change(json!([{"remove": {"index": name, "alias": building}}, {"add": {"index": name, "alias": doomed}}]))
        .await;
    let error = index.finish_rebuild(this, 10, |_, _| None).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("goes on serving"), "{error}");
    assert_eq!(corner.documents().await.len(), 5);
    assert_eq!(sweep(&index).await, [name], "the next one removes it");
}

#[tokio::test]
async fn an_index_that_somebody_goes_back_to_while_it_is_looked_at_is_not_removed() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    let old = corner.named(rebuilt(&index, 5, "old").await);
    let new = corner.named(rebuilt(&index, 10, "new").await);
    let found = index.ours().await.unwrap();
    // The documented way back.
    corner
        .change(json!([
            {"remove": {"index": new, "alias": corner.name, "must_exist": true}},
            {"remove": {"index": old, "alias": format!("{old}-replaced"), "must_exist": true}},
            {"add": {"index": old, "alias": corner.name, "is_write_index": true}},
        ]))
        .await;
    assert_eq!(index.sweep(found, &[].into(), LATER).await.unwrap(), Vec::<String>::new());
    assert_eq!(corner.documents().await.len(), 5);
    // The short one leaves the mark, which is taken away: the index is in use and not replaced.
    corner.change(json!([{"add": {"index": old, "alias": format!("{old}-replaced")}}])).await;
    assert_eq!(sweep(&index).await, Vec::<String>::new());
    let left = corner.physical().await;
    assert!(left.contains(&(old, vec![corner.name.clone()])) && left.contains(&(new, vec![])), "{left:?}");
}

#[tokio::test]
async fn another_installation_on_the_same_cluster_removes_nothing_of_ours_and_writes_nothing_to_it() {
    let Some(corner) = Corner::new() else { return };
    let ours = corner.index(json!({}));
    let theirs = corner.index_of(Uuid::from_u128(2), &corner.node, &[], json!({}));
    let this = building(&ours, 10, "new").await;
    let found = ours.ours().await.unwrap();
    assert_eq!((found.len(), theirs.ours().await.unwrap().len()), (1, 0));
    assert_eq!(theirs.sweep(found, &[].into(), LATER).await.unwrap(), Vec::<String>::new());
    ours.finish_rebuild(this, 10, |_, _| None).await.unwrap();
    for error in [
        theirs.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err(),
        theirs.begin_rebuild(run(), &items(), false).await.map(|_| ()).unwrap_err(),
    ] {
        assert_eq!(error.class, ErrorClass::Fatal);
        assert!(error.message.contains("another installation"), "{error}");
        let (_, advice) = error.message.split_once("POST /_aliases ").unwrap();
        let (advice, _) = advice.split_once(" and run").unwrap();
        let _: Value = advice.parse().unwrap();
    }
    assert_eq!(corner.documents().await.len(), 10);
}

#[tokio::test]
async fn the_aliases_of_users_go_with_a_rebuild_as_they_are() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"keep_old": 1}));
    let old = corner.named(rebuilt(&index, 5, "old").await);
    let search = format!("{}-search", corner.name);
    let some = format!("{}-some", corner.name);
    let filter = json!({"term": {"id": {"value": 1}}});
    corner
        .change(json!([
            {"add": {"index": old, "alias": search}},
            {"add": {"index": old, "alias": some, "filter": filter, "search_routing": "1"}},
        ]))
        .await;
    let new = corner.named(rebuilt(&index, 10, "new").await);
    let found = corner.ask(&format!("{new}/_alias")).await[&new]["aliases"].clone();
    assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), [&corner.name, &search, &some]);
    assert_eq!((&found[&some]["filter"], &found[&some]["search_routing"]), (&filter, &json!("1")));
    let left = corner.ask(&format!("{old}/_alias")).await[&old]["aliases"].clone();
    assert_eq!(left.as_object().unwrap().keys().collect::<Vec<_>>(), [&format!("{old}-replaced")]);
    // A replaced index to which a user gives an alias stays.
    let index = corner.index(json!({}));
    corner.change(json!([{"add": {"index": old, "alias": format!("{}-archive", corner.name)}}])).await;
    assert_eq!(sweep(&index).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_index_that_is_replaced_again_after_a_way_back_has_its_grace() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    let old = corner.named(rebuilt(&index, 5, "old").await);
    let new = corner.named(rebuilt(&index, 10, "new").await);
    // It was replaced long ago, and then a user went back to it in the documented way.
    let mut meta = corner.ask(&old).await[&old]["mappings"]["_meta"].clone();
    meta["vitrina"]["replaced_at"] = json!(1);
    corner.put(reqwest::Method::PUT, &format!("{old}/_mapping"), &json!({"_meta": meta})).await;
    corner
        .change(json!([
            {"remove": {"index": new, "alias": corner.name, "must_exist": true}},
            {"remove": {"index": old, "alias": format!("{old}-replaced"), "must_exist": true}},
            {"add": {"index": old, "alias": corner.name, "is_write_index": true}},
        ]))
        .await;
    rebuilt(&index, 10, "newer").await;
    let swept = index.sweep(index.ours().await.unwrap(), &[].into(), GRACE).await.unwrap();
    assert_eq!(swept, Vec::<String>::new(), "a search may be reading it");
    assert_eq!(sweep(&index).await, [old]);
}

/// A disk that is nearly full makes indexes read-only, and removing some is what helps.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_that_are_read_only_are_removed_after_their_grace_and_stop_nobody_elses_removal() {
    let (Some(full), Some(other)) = (Corner::new(), Corner::new()) else { return };
    let mut films = Films::at(full, 20, json!({"replicas": 0})).await;
    films.start_worker();
    let target = format!("es:{}", other.name);
    let insert = format!("insert into etl.etl_targets (target, key) values ('{target}', '{{film_id}}')");
    films.world.sql(&insert).await;
    let mut drafts = [films.draft(Mode::Full, 100), films.draft(Mode::Full, 100)];
    (drafts[1].name, drafts[1].target_table) = ("others".to_owned(), target);
    for draft in &drafts {
        let pipeline = films.world.pipeline(draft).await;
        films.succeeds(pipeline).await;
        films.succeeds(pipeline).await;
    }
    films.world.stop_workers().await;
    let replaced = |all: Vec<(String, Vec<String>)>| {
        let marked = |(_, aliases): &(String, Vec<String>)| aliases.iter().any(|alias| alias.ends_with("-replaced"));
        all.into_iter().find(marked).unwrap().0
    };
    let block = json!({"index.blocks.read_only_allow_delete": true});
    let (blocked, free) = (replaced(films.corner.physical().await), replaced(other.physical().await));
    films.corner.put(reqwest::Method::PUT, &format!("{blocked}/_settings"), &block).await;
    let node = client(&films.corner.node, &[]);
    // The worker may have noted the time already: the block came at once.
    let swept = sweep_all(films.world.db.pool(), &node, GRACE).await.unwrap();
    assert!(swept.failed.is_empty() && swept.removed.is_empty(), "{swept:?}");
    let mut swept = sweep_all(films.world.db.pool(), &node, LATER).await.unwrap();
    swept.removed.sort();
    let mut expected = vec![blocked, free];
    expected.sort();
    assert!(swept.failed.is_empty() && swept.removed == expected, "{swept:?}");
    films.assert_same(FILMS).await;
}
