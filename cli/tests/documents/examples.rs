//! The examples work as their pages show it, and so does the service that they talk to.

use std::process::Command;

use crate::{follow::follow_example, markdown::repository};

#[test]
fn names_are_localized_as_the_page_shows() {
    follow_example("localize", 10);
}

#[test]
fn pictures_are_generated_and_paid_for_as_the_page_shows() {
    follow_example("generation", 14);
}

#[test]
fn the_service_of_the_examples_passes_its_own_tests() {
    let tests = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s", "examples/service"])
        .current_dir(repository(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tests.stderr);
    assert!(tests.status.success() && said.contains("Ran 2"), "{said}");
}
