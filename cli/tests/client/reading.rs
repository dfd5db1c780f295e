//! Commands that read: for people and for programs, and never with the token in what they print.

use serde_json::Value;

use crate::support::{Deployment, big, genres, text, tokens};

#[tokio::test]
async fn every_reading_command_prints_json_that_programs_can_read() {
    let here = Deployment::start().await;
    here.apply(&genres());
    here.prints(&["run", "genres", "--wait"]);
    let show = here.json(&["show", "genres"]);
    assert_eq!((&show["name"], &show["status"]), (&"genres".into(), &"IDLE".into()));
    for list in [vec!["ls"], vec!["runs", "genres"], vec!["workers"], vec!["targets"], vec!["steps", "ls"]] {
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
async fn steps_are_listed_with_their_options() {
    let here = Deployment::start().await;
    let list = here.prints(&["steps", "ls"]);
    let line = |name: &str| {
        list.lines()
            .find(|line| line.starts_with(name))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        line("filter").as_deref(),
        Some("filter where Keeps the rows for which an expression is true and drops all others")
    );
    assert!(line("mask").is_some_and(|line| line.starts_with("mask columns, show_last Replaces")), "{list}");
    let items = here.json(&["steps", "ls"])["items"].clone();
    let names: Vec<_> = items.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cast", "filter", "hash", "http", "json_extract", "mask", "rename", "select", "set", "trim"]);
}

#[tokio::test]
async fn a_step_is_tried_on_rows_of_a_pipeline_that_does_not_name_it() {
    let here = Deployment::start().await;
    here.apply(&genres());
    let options = r#"{"columns": ["name"], "show_last": 1}"#;
    let shown = here.prints(&["steps", "test", "mask", "--pipeline", "genres", "--rows", "2", "--options", options]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].contains("name") && lines[1].contains('*'), "{shown}");
    assert_eq!(lines[3], "2 rows, written nowhere", "{shown}");
    let shown = here.json(&["steps", "test", "mask", "--pipeline", "genres", "--rows", "1", "--options", options]);
    assert!(shown["rows"][0]["name"].as_str().unwrap().starts_with('*'), "{shown}");
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

#[tokio::test]
async fn a_comparison_claims_no_more_than_it_looked_at() {
    let here = Deployment::start().await;
    here.apply(&genres());
    here.prints(&["run", "genres", "--wait"]);
    sqlx::raw_sql("update analytics.genre_dim set name = 'changed'").execute(here.db.admin()).await.unwrap();
    for (depth, claim) in [
        ("counts", "`genres` has as many rows as its source; values were not compared"),
        ("keys", "`genres` has the same keys as its source; values were not compared"),
    ] {
        let told = here.prints(&["reconcile", "genres", "--depth", depth]);
        assert!(told.contains(claim) && !told.contains("equals"), "{told}");
    }
    let output = here.vitrina(&["reconcile", "genres", "--depth", "rows"]).output().unwrap();
    assert!(text(&output).contains("different: 5 rows") && !text(&output).contains("shown:"), "{}", text(&output));
    here.prints(&["run", "genres", "--wait"]);
    let told = here.prints(&["reconcile", "genres", "--depth", "rows"]);
    assert!(told.contains("`genres` equals its source"), "{told}");
    let output = here.vitrina(&["reconcile", "genres", "--repair"]).output().unwrap();
    assert!(text(&output).contains("repair: needs the depth keys or rows"), "{}", text(&output));
}

/// Rows that a repair leaves, and rows that do not fit into the list, are told.
#[tokio::test]
async fn a_comparison_tells_how_much_it_shows_and_what_removes_extra_rows() {
    let here = Deployment::start().await;
    here.apply(&big());
    here.prints(&["run", "big", "--wait"]);
    let spoil = "insert into analytics.big select n from generate_series(1001, 1030) n";
    sqlx::raw_sql(spoil).execute(here.db.admin()).await.unwrap();
    let output = here.vitrina(&["reconcile", "big", "--depth", "keys", "--repair"]).output().unwrap();
    let told = text(&output);
    for part in
        ["extra: 30 rows", "shown: 20 of the 30 rows that differ", "`--remove-extra` also removes what is extra"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    here.prints(&["reconcile", "big", "--depth", "keys", "--repair", "--remove-extra"]);
}

#[tokio::test]
async fn the_key_of_a_row_is_told_in_the_order_of_the_key() {
    let here = Deployment::start().await;
    here.apply(
        "pipelines:
  - name: orders
    mode: full
    target_table: analytics.orders
    target: {key: [shop_id, order_no], create: true}
    source_query: select id as order_no, 1 as shop_id from content.big
",
    );
    here.prints(&["run", "orders", "--wait"]);
    sqlx::raw_sql("delete from analytics.orders where order_no = 7").execute(here.db.admin()).await.unwrap();
    let output = here.vitrina(&["reconcile", "orders", "--depth", "keys"]).output().unwrap();
    assert!(text(&output).contains("shop_id=1, order_no=7"), "{}", text(&output));
}

#[tokio::test]
async fn rejected_rows_are_told_as_long_as_their_run_is() {
    let here = Deployment::start().await;
    sqlx::raw_sql("alter table analytics.genre_dim add constraint no_third check (name <> 'Genre 3')")
        .execute(here.db.admin())
        .await
        .unwrap();
    here.apply(&genres().replace("mode: full", "mode: full\n    options: {on_row_error: dead_letter}"));
    here.prints(&["run", "genres", "--wait"]);
    let runs = here.prints(&["runs", "genres"]);
    let fields = |line: usize| runs.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(fields(0)[5..], ["read", "written", "removed", "rejected", "error"], "{runs}");
    assert_eq!(fields(1)[6..], ["5", "4", "0", "1"], "{runs}");
    let shown = here.prints(&["show", "genres"]);
    assert!(shown.contains("5 rows read, 4 written, 1 rejected in "), "{shown}");
    assert!(shown.contains("on_row_error  dead_letter") && shown.contains("status        IDLE"), "{shown}");
    let letters = here.prints(&["dead-letters", "genres"]);
    assert!(letters.contains("genre_id=") && letters.contains("tries the open ones again"), "{letters}");
    sqlx::raw_sql("alter table analytics.genre_dim drop constraint no_third").execute(here.db.admin()).await.unwrap();
    here.prints(&["replay", "genres"]);
    let told = here.prints(&["dead-letters", "genres"]);
    assert!(told.contains("no open dead letters (`--all` lists closed ones)"), "{told}");
    let told = here.prints(&["dead-letters", "genres", "--all"]);
    assert!(told.contains("closed (UTC)") && !told.contains("tries"), "{told}");
}

/// A plan is shown step by step, with the options of its steps.
#[tokio::test]
async fn a_plan_is_told_step_by_step() {
    let here = Deployment::start().await;
    let plan = |shown: &str| {
        let query = "'select id as genre_id, name, modified from content.genre'";
        genres().replace(
            "mode: full",
            &format!(
                "mode: full\n    tasks:\n    - {{order_index: 1, task_type: SQL, body: {query}}}\n    \
                 - {{order_index: 2, task_type: RUST, body: mask, options: {{columns: [name], show_last: {shown}}}}}"
            ),
        )
    };
    here.apply(&plan("2"));
    let shown = here.prints(&["show", "genres"]);
    assert!(
        shown.contains("step 2      mask\n            options: {\"columns\":[\"name\"],\"show_last\":2}"),
        "{shown}"
    );
    let changed = here.apply(&plan("3"));
    let lines: Vec<_> = changed.lines().map(str::trim).collect();
    assert!(lines.contains(&r#"+   options: {"columns":["name"],"show_last":3}"#), "{changed}");
    assert!(!changed.contains("order_index"), "{changed}");
}
