//! What the documents tell operators to type.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;
use vitrina_shared::testing::TestDatabase;

use crate::manifest::{assert_is_a_command, text};

const DOCUMENTS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "deploy/README.md", "docs/operations.md"];

/// The code blocks of a language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = text(document);
    let begins = format!("```{language}\n");
    let found = text.split(&begins).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    found.collect()
}

fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap_or_else(|| panic!("no {name}"))
}

#[tokio::test]
async fn the_services_account_may_ask_every_question_of_the_operations_guide() {
    let database = TestDatabase::create().await;
    let statements = blocks("docs/operations.md", "sql");
    assert!(statements.len() >= 3);
    for statement in statements {
        let asked = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(database.pool()).await;
        asked.unwrap_or_else(|error| panic!("{error} in {statement}"));
    }
}

#[test]
fn the_systemd_unit_starts_a_command_that_exists_and_gives_it_time_to_stop() {
    let unit = blocks("docs/operations.md", "ini").remove(0);
    let words: Vec<&str> = setting(&unit, "ExecStart").split(' ').skip(1).collect();
    assert_is_a_command(&words);
    assert!(setting(&unit, "TimeoutStopSec").parse::<u64>().unwrap() > vitrina_worker::DRAIN.as_secs());
}

#[test]
fn every_make_target_that_is_named_exists() {
    let makefile = text("Makefile");
    let targets: BTreeSet<&str> = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: ")).collect();
    for document in DOCUMENTS {
        let text = text(document);
        for (place, make) in text.match_indices("make ") {
            let before = &text[..place];
            let quoted = before.ends_with(['`', '\n']) || before.ends_with("$ ");
            let rest = &text[place + make.len()..];
            let target = rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap();
            assert!(!quoted || target.is_empty() || targets.contains(target), "{document}: make {target}");
        }
    }
}
