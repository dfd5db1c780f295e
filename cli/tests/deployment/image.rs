//! `Dockerfile`.

use std::collections::BTreeSet;

use crate::manifest::{is_pinned, text};

fn members() -> BTreeSet<String> {
    let manifest = text("Cargo.toml");
    let list = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    list.trim_end_matches(']').split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect()
}

fn directives(name: &str) -> Vec<String> {
    let file = text("Dockerfile").replace("\\\n", " ");
    let lines = file.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_dependencies_layer_has_every_crate() {
    let directory = |line: &String| Some(line.split_once("/Cargo.toml ")?.0.to_owned());
    let copied: BTreeSet<String> = directives("COPY").iter().filter_map(directory).collect();
    assert_eq!(copied, members());
    let emptied = directives("RUN").remove(0);
    for member in members() {
        assert!(emptied.contains(&format!(" {member}/src/lib.rs")), "{member} is not emptied");
    }
}

#[test]
fn the_images_it_is_made_from_are_pinned() {
    let stages = directives("FROM");
    assert_eq!(stages.len(), 2);
    for stage in stages {
        assert!(is_pinned(stage.split(' ').next().unwrap()), "{stage}");
    }
}

#[test]
fn it_is_built_with_the_version_of_rust_that_the_workspace_names() {
    let manifest = text("Cargo.toml");
    let wanted = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(directives("FROM")[0].starts_with(&format!("rust:{wanted}.")));
}

#[test]
fn it_does_not_run_as_root() {
    let user = directives("USER").pop().unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
}

#[test]
fn secrets_and_what_was_built_outside_stay_out_of_it() {
    let ignored = text(".dockerignore");
    for pattern in [".env*", ".git", ".vitrina", "target"] {
        assert!(ignored.lines().any(|line| line == pattern), "{pattern}");
    }
}
