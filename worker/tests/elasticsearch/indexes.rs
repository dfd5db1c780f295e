//! What stands behind a target's name, and what is said where something is in the way.

use serde_json::{Value, json};
use vitrina_shared::{
    config::{ElasticsearchConfig, Env},
    domain::ErrorClass,
};
use vitrina_worker::elasticsearch::{Action, Client};

use crate::{
    proxy::{Fault, Proxy},
    support::{Corner, columns, item, items, run, write},
};

#[tokio::test]
async fn a_missing_index_is_created_behind_an_alias_with_its_mapping_and_settings() {
    let Some(corner) = Corner::new() else { return };
    let options = json!({
        "shards": 2, "replicas": 0, "refresh_interval": "5s",
        "settings": {"analysis": {"analyzer": {"plain": {"type": "custom", "tokenizer": "standard"}}}},
        "mappings": {"properties": {"name": {"type": "text", "analyzer": "plain"}}}
    });
    let this = run();
    corner.index(options).prepare(this, &items(), false).await.unwrap();
    let physical = format!("{}-vitrina-{this}", corner.name);
    assert_eq!(corner.physical().await, [(physical.clone(), vec![corner.name.clone()])]);
    let found = corner.ask(&corner.name).await[&physical].clone();
    assert_eq!(found["mappings"]["dynamic"], "strict");
    assert_eq!(found["mappings"]["properties"]["id"]["type"], "long");
    assert_eq!(found["mappings"]["properties"]["name"]["analyzer"], "plain");
    assert_eq!(found["settings"]["index"]["number_of_shards"], "2");
    assert_eq!(found["settings"]["index"]["refresh_interval"], "5s");
}

#[tokio::test]
async fn preparing_at_the_same_time_makes_one_index() {
    let Some(corner) = Corner::new() else { return };
    let prepare = || async { corner.index(json!({})).prepare(run(), &items(), false).await.map(|_| ()) };
    let prepared = futures_util::future::join_all((0..4).map(|_| prepare())).await;
    assert!(prepared.iter().all(Result::is_ok), "{prepared:?}");
    assert_eq!(corner.physical().await.len(), 1);
}

#[tokio::test]
async fn a_column_that_the_index_lacks_is_named_with_what_to_do() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    index.prepare(run(), &items(), false).await.unwrap();
    let mut more = items();
    more.extend(columns(&[("rating", "numeric")]));
    let error = index.prepare(run(), &more, false).await.map(|_| ()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("no field `rating`"), "{error}");
    let (_, advice) = error.message.split_once("/_mapping ").unwrap();
    corner.put(reqwest::Method::PUT, &format!("{}/_mapping", corner.name), &advice.parse().unwrap()).await;
    index.prepare(run(), &more, false).await.map(|_| ()).unwrap();
}

#[tokio::test]
async fn a_column_whose_type_changed_is_named_with_what_to_do() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({}));
    let priced = |of: &str| columns(&[("id", "bigint"), ("price", of)]);
    index.prepare(run(), &priced("integer"), false).await.unwrap();
    index.prepare(run(), &priced("bigint"), false).await.map(|_| ()).unwrap();
    let error = index.prepare(run(), &priced("numeric(5,2)"), false).await.map(|_| ()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("--full") && error.message.contains("`price`"), "{error}");
    // As the sentence says: it is meant to be so, or the index is built anew.
    let (_, advice) = error.message.split_once("option mappings: ").unwrap();
    let meant = corner.index(json!({"mappings": advice.parse::<Value>().unwrap()}));
    meant.prepare(run(), &priced("numeric(5,2)"), false).await.map(|_| ()).unwrap();
    let this = run();
    index.begin_rebuild(this, &priced("numeric(5,2)"), false).await.unwrap();
    index.finish_rebuild(this, 0, |_, _| None).await.unwrap();
    index.prepare(run(), &priced("numeric(5,2)"), false).await.map(|_| ()).unwrap();
}

#[tokio::test]
async fn an_index_that_somebody_made_under_this_name_is_never_touched() {
    let Some(corner) = Corner::new() else { return };
    corner.put(reqwest::Method::PUT, &corner.name, &json!({})).await;
    let index = corner.index(json!({}));
    for error in [
        index.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err(),
        index.begin_rebuild(run(), &items(), false).await.map(|_| ()).unwrap_err(),
    ] {
        assert_eq!(error.class, ErrorClass::Fatal);
        assert!(error.message.contains("POST /_aliases"), "{error}");
    }
    assert_eq!(corner.physical().await, [(corner.name.clone(), vec![])]);
}

#[tokio::test]
async fn an_index_that_somebody_made_behind_this_alias_is_never_touched_until_it_is_given_away() {
    let Some(corner) = Corner::new() else { return };
    let theirs = format!("{}_v3", corner.name);
    let found = json!({"mappings": {"_meta": {"theirs": 1}}, "aliases": {&corner.name: {}}});
    corner.put(reqwest::Method::PUT, &theirs, &found).await;
    corner.put(reqwest::Method::PUT, &format!("{theirs}/_doc/1?refresh=true"), &json!({"name": "theirs"})).await;
    let index = corner.index(json!({}));
    let mut advice = None;
    for error in [
        index.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err(),
        index.begin_rebuild(run(), &items(), false).await.map(|_| ()).unwrap_err(),
        index.is_there().await.map(|_| ()).unwrap_err(),
    ] {
        assert_eq!(error.class, ErrorClass::Fatal);
        assert!(error.message.contains("which Vitrina did not make"), "{error}");
        advice = error.message.split_once("/_mapping ").map(|(_, advice)| advice.to_owned());
    }
    assert_eq!(corner.physical().await, [(theirs.clone(), vec![corner.name.clone()])]);
    assert_eq!(corner.documents().await["1"], json!({"name": "theirs"}));
    // Given away it is written, and replaced by a full run.
    let advice = advice.unwrap().parse().unwrap();
    corner.put(reqwest::Method::PUT, &format!("{theirs}/_mapping"), &advice).await;
    assert_eq!(corner.ask(&theirs).await[&theirs]["mappings"]["_meta"]["theirs"], 1, "what is theirs stays");
    let this = run();
    index.begin_rebuild(this, &items(), false).await.map(|_| ()).unwrap();
    index.finish_rebuild(this, 0, |_, _| None).await.unwrap();
    assert!(corner.physical().await.contains(&(theirs, vec![])), "it is left alone");
}

#[tokio::test]
async fn options_that_the_server_refuses_are_explained() {
    let Some(corner) = Corner::new() else { return };
    let index = corner.index(json!({"mappings": {"properties": {"name": {"type": "txt"}}}}));
    let error = index.prepare(run(), &items(), false).await.map(|_| ()).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("options") && error.message.contains("txt"), "{error}");
}

#[tokio::test]
async fn an_index_that_is_removed_while_it_is_written_does_not_come_back_by_itself() {
    let Some(corner) = Corner::new() else { return };
    let this = run();
    let endpoint = corner.index(json!({})).prepare(this, &items(), false).await.unwrap().endpoint;
    let physical = format!("{}-vitrina-{this}", corner.name);
    corner.put(reqwest::Method::DELETE, &physical, &Value::Null).await;
    let error = write(&endpoint, Action::Upsert, [item(1, "late")]).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal, "{error}");
    assert_eq!(corner.physical().await, []);
}

#[tokio::test]
async fn the_server_is_asked_who_it_is_and_what_we_may() {
    let Some(corner) = Corner::new() else { return };
    let client = crate::support::client(&corner.node, &[]);
    let server = client.server().await.unwrap();
    assert!(server.version.split('.').count() >= 3, "{server:?}");
    client.check_rights(&corner.name).await.unwrap();
}

#[tokio::test]
async fn several_nodes_take_turns() {
    let Some(corner) = Corner::new() else { return };
    let (one, two) =
        (Proxy::start(&corner.node, |_| Fault::None).await, Proxy::start(&corner.node, |_| Fault::None).await);
    let index = corner.index_at(&format!("{},{}", one.url, two.url), &[], json!({"max_docs": 10}));
    let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
    write(&endpoint, Action::Upsert, (0..100).map(|n| item(n, "x"))).await.unwrap();
    assert_eq!((one.bulks(), two.bulks()), (5, 5));
}

#[test]
fn without_an_address_the_variable_is_named() {
    let config: ElasticsearchConfig = Env::from_pairs::<&str, &str>([]).read().unwrap();
    let error = Client::new(&config).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("ELASTICSEARCH_URL"), "{error}");
}
