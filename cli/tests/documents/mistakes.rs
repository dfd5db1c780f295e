//! The list of wrong inputs: every message in it is one that a test has seen.

use std::fs;

use regex::Regex;

use crate::markdown::repository;

/// Where wrong inputs are tried.
const TESTS: &[&str] = &[
    "cli/tests/client/mistakes.rs",
    "cli/tests/client/apply.rs",
    "cli/tests/client/doctor.rs",
    "cli/tests/client/run.rs",
    "cli/tests/client/encrypted.rs",
    "cli/tests/processes.rs",
    "cli/tests/embedded_postgres.rs",
    "api/tests/api/service.rs",
];

#[test]
fn every_message_of_the_list_is_checked_by_a_test() {
    let tests: String = TESTS.iter().map(|path| fs::read_to_string(repository(path)).unwrap()).collect();
    let list = fs::read_to_string(repository("docs/mistakes.md")).unwrap();
    let messages: Vec<String> =
        Regex::new("“([^”]+)” \\|").unwrap().captures_iter(&list).map(|found| found[1].to_owned()).collect();
    assert!(messages.len() >= 25, "{} messages", messages.len());
    for message in messages {
        assert!(tests.contains(&message), "no test wants «{message}»");
    }
}
