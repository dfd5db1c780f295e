//! Commands that read: for people and for programs, and never with the token in what they print.

use serde_json::Value;

use crate::support::{Deployment, genres, text, tokens};

#[tokio::test]
async fn every_reading_command_prints_json_that_programs_can_read() {
    let here = Deployment::start().await;
    here.apply(&genres());
    here.prints(&["run", "genres", "--wait"]);
    let show = here.json(&["show", "genres"]);
    assert_eq!((&show["name"], &show["status"]), (&"genres".into(), &"IDLE".into()));
    for list in [vec!["ls"], vec!["runs", "genres"], vec!["workers"], vec!["targets"]] {
        let items = here.json(&list);
        assert!(!items["items"].as_array().unwrap().is_empty(), "{list:?}: {items}");
    }
    assert_eq!(here.json(&["state", "genres"])["checkpoint"], Value::Null);
    assert_eq!(here.json(&["validate", "genres"])["problems"], serde_json::json!([]));
    assert_eq!(here.json(&["ls", "--status", "FAILED"])["items"], serde_json::json!([]));
    let events = here.prints(&["events", "--json"]);
    assert!(events.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{events}");
}

#[tokio::test]
async fn people_get_aligned_tables_without_colours_in_a_pipe() {
    let here = Deployment::start().await;
    here.apply(&genres());
    here.prints(&["run", "genres", "--wait"]);
    let list = here.prints(&["ls"]);
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["name", "status", "mode", "target", "description"]);
    assert_eq!(lines[0].find("status"), lines[1].find("IDLE"), "{list}");
    let shown = here.prints(&["show", "genres"]);
    for part in ["status      IDLE", "target      analytics.genre_dim", "last run    SUCCESS", "select id as genre_id"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for command in [vec!["ls"], vec!["show", "genres"], vec!["runs", "genres"], vec!["workers"], vec!["events"]] {
        assert!(!here.prints(&command).contains('\u{1b}'), "{command:?}");
    }
}

#[tokio::test]
async fn roles_decide_and_the_token_is_never_printed() {
    let (list, secrets) = tokens();
    let here = Deployment::api(&[("VITRINA_TOKENS", &list)]).await;
    here.file("file.yaml", &genres());
    let mut said = String::new();
    let mut ends = |arguments: &[&str], role: &str| {
        let secret = secrets[role].as_str().unwrap();
        let output = here.vitrina(arguments).env("VITRINA_TOKEN", secret).output().unwrap();
        said.push_str(&text(&output));
        (output.status.code(), text(&output))
    };
    assert_eq!(ends(&["apply", "-f", "file.yaml"], "operator").0, Some(0));
    for reading in [vec!["ls"], vec!["show", "genres"], vec!["runs", "genres"], vec!["doctor"], vec!["events"]] {
        ends(&reading, "viewer");
    }
    let (code, told) = ends(&["run", "genres"], "viewer");
    assert_eq!(code, Some(1));
    assert!(told.contains("token `viewer` has the role viewer; this needs operator"), "{told}");
    assert_eq!(ends(&["run", "genres"], "operator").0, Some(0));
    here.file("file.yaml", &format!("targets: [{{target: 'es:x', key: [id]}}]\n{}", genres()));
    assert!(ends(&["apply", "-f", "file.yaml"], "operator").1.contains("this needs admin"));
    assert_eq!(ends(&["apply", "-f", "file.yaml"], "admin").0, Some(0));
    assert!(!said.contains("-secret-"), "{said}");
}
