//! How we get to the cluster: certificates, accounts, rights, versions, nodes that are away.

use std::net::TcpListener;

use serde_json::{Value, json};
use vitrina_shared::domain::{ErrorClass, Mode, RunStatus};
use vitrina_worker::elasticsearch::{Action, Client, SinkError};

use crate::{
    films::Films,
    gate::{Authority, Gate, Rules},
    support::{Corner, client, item, items, run, write},
};

const CA: &str = "VITRINA_ELASTICSEARCH_CA";
/// `vitrina` and `s3cret/é`.
const BASIC: &str = "Basic dml0cmluYTpzM2NyZXQvw6k=";
const PASSWORD: &str = "vitrina:s3cret%2F%C3%A9@";
const API_KEY: &str = "ApiKey bm90OnJlYWxseQ==";
const RIGHTS: &str = "/_security/user/_has_privileges";

fn accounts() -> Rules {
    Rules { accounts: vec![BASIC, API_KEY], ..Rules::default() }
}

async fn asked(client: &Client) -> SinkError {
    client.server().await.unwrap_err()
}

#[tokio::test]
async fn documents_travel_by_tls_with_a_password_and_with_an_api_key() {
    let Some(corner) = Corner::new() else { return };
    let authority = Authority::new();
    let gate = Gate::start(&corner.node, &authority, "localhost", accounts()).await;
    let port = gate.port;
    for (round, url) in [
        format!("https://{PASSWORD}localhost:{port}"),
        format!("https://localhost:{port}?api_key=bm90OnJlYWxseQ%3D%3D"),
    ]
    .into_iter()
    .enumerate()
    {
        let index = corner.index_at(&url, &[(CA, authority.file()), ("VITRINA_ELASTICSEARCH_GZIP", "off")], json!({}));
        let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
        let from = round as u64 * 10;
        let written = write(&endpoint, Action::Upsert, (from..from + 10).map(|n| item(n, "one"))).await.unwrap();
        assert_eq!(written.created, 10);
    }
    assert_eq!(corner.documents().await.len(), 20);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused_at_once_with_what_would_help() {
    let Some(corner) = Corner::new() else { return };
    let (authority, other) = (Authority::new(), Authority::new());
    let gate = Gate::start(&corner.node, &authority, "localhost", accounts()).await;
    let url = format!("https://{PASSWORD}localhost:{}", gate.port);
    for settings in [vec![], vec![(CA, other.file())]] {
        let before = gate.connections();
        let error = asked(&client(&url, &settings)).await;
        assert_eq!(error.class, ErrorClass::Fatal, "{error}");
        assert!(error.message.contains("invalid peer certificate") && error.message.contains(CA), "{error}");
        assert!(!error.message.contains("s3cret"), "{error}");
        assert_eq!(gate.connections(), before + 1, "trying again does not help");
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let Some(corner) = Corner::new() else { return };
    let authority = Authority::new();
    let gate = Gate::start(&corner.node, &authority, "elsewhere.example", accounts()).await;
    let url = format!("https://{PASSWORD}localhost:{}", gate.port);
    let error = asked(&client(&url, &[(CA, authority.file())])).await;
    assert_eq!(error.class, ErrorClass::Fatal, "{error}");
    assert!(error.message.contains("elsewhere.example") || error.message.contains("NotValidForName"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_a_wrong_key_and_none_are_told_and_not_tried_again() {
    let Some(corner) = Corner::new() else { return };
    let authority = Authority::new();
    let gate = Gate::start(&corner.node, &authority, "localhost", accounts()).await;
    let port = gate.port;
    for url in [
        format!("https://vitrina:guessed@localhost:{port}"),
        format!("https://localhost:{port}?api_key=Z3Vlc3NlZA%3D%3D"),
        format!("https://localhost:{port}"),
    ] {
        let error = asked(&client(&url, &[(CA, authority.file())])).await;
        assert_eq!(error.class, ErrorClass::Fatal, "{error}");
        assert!(error.message.contains("401: security_exception"), "{error}");
        assert!(error.message.contains("user and password, or the API key, in ELASTICSEARCH_URL"), "{error}");
        assert!(!error.message.contains("guessed") && !error.message.contains("Z3Vlc3NlZA"), "{error}");
    }
    assert_eq!(gate.connections(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_lacking_end_a_run_before_its_first_batch_with_their_names() {
    let Some(corner) = Corner::new() else { return };
    let authority = Authority::new();
    let rights = |manage: bool| json!({"create_index": true, "index": true, "read": true, "manage": manage, "view_index_metadata": true});
    let (name, built) = (corner.name.clone(), format!("{}-vitrina-*", corner.name));
    let answer = json!({"has_all_requested": false, "index": {name: rights(true), built: rights(false)}});
    let rules = Rules { answers: [(RIGHTS, answer)].into(), ..accounts() };
    let gate = Gate::start(&corner.node, &authority, "localhost", rules).await;
    let url = format!("https://{PASSWORD}localhost:{}", gate.port);
    let mut films = Films::at(corner, 10, json!({})).await;
    films.world.start_worker(&[("ELASTICSEARCH_URL", &url), (CA, authority.file())]);
    let pipeline = films.world.pipeline(&films.draft(Mode::Full, 100)).await;
    let run = films.world.run(pipeline).await;
    let run = films.ended(run).await;
    assert_eq!((run.status, run.error_class), (RunStatus::Failed, Some(ErrorClass::Fatal)));
    let error = run.error.unwrap();
    assert!(error.contains("lacks rights") && error.ends_with(": manage"), "{error}");
    assert_eq!(films.corner.physical().await.len(), 0, "nothing was created");
}

#[tokio::test]
async fn versions_from_7_11_on_are_taken_and_older_ones_refused() {
    let Some(corner) = Corner::new() else { return };
    let authority = Authority::new();
    let says = |number: &str, distribution: Option<&str>| {
        let mut version = json!({"number": number, "build_flavor": "default", "lucene_version": "9.12.0"});
        if let Some(distribution) = distribution {
            version["distribution"] = json!(distribution);
        }
        json!({"name": "n", "cluster_name": "c", "version": version, "tagline": "You Know, for Search"})
    };
    for (answer, good) in [
        (says("6.8.23", None), false),
        (says("7.10.2", None), false),
        (says("7.11.0", None), true),
        (says("8.19.0", None), true),
        (says("9.1.0", None), true),
        (says("9.2.0-SNAPSHOT", None), true),
        (says("2.11.1", Some("opensearch")), false),
        (says("2.19.1", Some("opensearch")), true),
        (json!({"hello": "world"}), false),
        (Value::Null, false),
    ] {
        let rules = Rules { answers: [("/", answer.clone())].into(), ..accounts() };
        let gate = Gate::start(&corner.node, &authority, "localhost", rules).await;
        let url = format!("https://{PASSWORD}localhost:{}", gate.port);
        match client(&url, &[(CA, authority.file())]).server().await {
            Ok(server) => assert!(good && answer["version"]["number"] == server.version, "{answer}"),
            Err(error) => {
                assert!(!good && error.class == ErrorClass::Fatal, "{answer}: {error}");
                assert!(error.message.contains("or newer is needed"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_node_that_is_away_is_left_out_as_long_as_another_one_answers() {
    let Some(corner) = Corner::new() else { return };
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for url in
        [format!("http://127.0.0.1:{nowhere},{}", corner.node), format!("{},http://127.0.0.1:{nowhere}", corner.node)]
    {
        let index = corner.index_at(&url, &[], json!({"max_docs": 5, "concurrency": 4}));
        let endpoint = index.prepare(run(), &items(), false).await.unwrap().endpoint;
        let written = write(&endpoint, Action::Upsert, (0..100).map(|n| item(n, &url))).await.unwrap();
        assert_eq!(written.changes(), 100);
    }
    assert_eq!(corner.documents().await.len(), 100);
}
