//! `Dockerfile`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::manifest::{is_pinned, root, text};

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

/// The files that our code outside of tests has inside it, from the root of the repository.
fn included() -> Vec<String> {
    let crates = members().into_iter().map(|member| root().join(member).join("src"));
    let sources = crates.flat_map(|directory| rust_files(&directory));
    let of_one = |source: PathBuf| {
        let text = fs::read_to_string(&source).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().to_owned();
        let names = code.split("include_str!(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        names.map(|name| source.with_file_name(name).canonicalize().unwrap()).collect::<Vec<_>>()
    };
    let below = |path: PathBuf| path.strip_prefix(root().canonicalize().unwrap()).unwrap().display().to_string();
    sources.flat_map(of_one).map(below).collect()
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { rust_files(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|it| it == "rs")).collect()
}

#[test]
fn what_the_code_includes_is_part_of_the_build() {
    let (included, ignored) = (included(), text(".dockerignore"));
    assert!(included.iter().any(|path| path == "demo/pipelines.yaml"), "{included:?}");
    for path in included {
        let hidden = |pattern: &&str| path == *pattern || path.starts_with(&format!("{pattern}/"));
        assert_eq!(ignored.lines().find(hidden), None, "{path} is kept out of the build by .dockerignore");
    }
}

#[test]
fn secrets_and_what_was_built_outside_stay_out_of_it() {
    let ignored = text(".dockerignore");
    for pattern in [".env*", ".git", ".vitrina", "target"] {
        assert!(ignored.lines().any(|line| line == pattern), "{pattern}");
    }
}
