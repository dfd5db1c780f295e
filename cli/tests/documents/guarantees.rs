//! `docs/GUARANTEES.md`: every promise names a test, and every test that is named is one.

use std::fs;

use regex::Regex;

use crate::markdown::repository;

fn promises() -> Vec<String> {
    let text = fs::read_to_string(repository("docs/GUARANTEES.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise "));
    rows.map(str::to_owned).collect()
}

/// Whether a function of this name is in the text, with an attribute right before it that makes it a test.
fn has_test(text: &str, name: &str) -> bool {
    let function = Regex::new(&format!(r"(?m)^\s*(?:async )?fn {name}\(")).unwrap();
    let Some(found) = function.find(text) else { return false };
    let before = text[..found.start()].lines().rev();
    before.take_while(|line| line.trim_start().starts_with("#[")).any(|line| line.contains("test"))
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let named = Regex::new(r"`([\w/]+\.rs)::(\w+)`").unwrap();
    let promises = promises();
    assert!(promises.len() > 30, "only {} promises", promises.len());
    let mut missing = Vec::new();
    for promise in promises {
        let mut tests = named.captures_iter(&promise).peekable();
        if tests.peek().is_none() {
            missing.push(format!("no test is named: {promise}"));
        }
        for test in tests {
            let text = fs::read_to_string(repository(&test[1])).unwrap_or_default();
            if !has_test(&text, &test[2]) {
                missing.push(test[0].to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_function_that_is_no_test_holds_nothing() {
    let text =
        "#[test]\n#[should_panic]\nfn one() {}\n\nfn two() {}\n\n#[tokio::test(flavor = \"x\")]\nasync fn three() {}\n";
    assert!(has_test(text, "one") && !has_test(text, "two") && has_test(text, "three") && !has_test(text, "four"));
}
