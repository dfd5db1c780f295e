//! Files and functions that the documents for developers name exist.

use std::{
    fs,
    path::{Path, PathBuf},
};

use regex::Regex;

use crate::{
    links::documents,
    markdown::{parse, repository},
};

const ENDINGS: [&str; 9] = [".rs", ".sql", ".md", ".yaml", ".yml", ".json", ".toml", ".sh", ".sample"];

/// Every file of the repository that is not built, by its path from the root.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && name != ".git" && !name.to_string_lossy().starts_with(".vitrina") {
                files(&entry.path(), found);
            }
        } else {
            found.push(entry.path());
        }
    }
}

/// `a/{b,c}.rs` names two files.
fn spelled_out(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![name.to_owned()] };
    inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
}

/// What documents put between backticks, with the blocks that show the way through the files.
fn quoted() -> Vec<(String, String)> {
    let code = Regex::new(r"`([^`\n]+)`").unwrap();
    let mut found = Vec::new();
    for (path, text) in documents() {
        let document = parse(&text);
        let blocks = document.blocks.iter().filter(|block| block.text.contains(".rs →"));
        let words = blocks.flat_map(|block| block.text.split_whitespace()).map(str::to_owned);
        let quoted = code.captures_iter(&document.prose).map(|found| found[1].to_owned());
        found.extend(quoted.chain(words).map(|one| (path.display().to_string(), one)));
    }
    found
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&repository("").canonicalize().unwrap(), &mut found);
    found
}

#[test]
fn every_file_that_a_document_names_is_there() {
    let files = sources();
    let is_a_path = Regex::new(r"^[\w./{},-]+$").unwrap();
    let (mut looked_at, mut missing) = (0, Vec::new());
    for (document, name) in quoted() {
        let named =
            name.contains('/') && is_a_path.is_match(&name) && ENDINGS.iter().any(|ending| name.ends_with(ending));
        if !named || name.starts_with(['/', '.']) || name.starts_with("target/") {
            continue;
        }
        for name in spelled_out(&name) {
            looked_at += 1;
            if !files.iter().any(|file| file.ends_with(&name)) {
                missing.push(format!("{document}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(looked_at > 40, "only {looked_at} files are named");
}

#[test]
fn every_function_that_a_document_names_is_there() {
    let files = sources();
    let named = Regex::new(r"^(?:\w+::)*(\w+)::([a-z]\w*)$").unwrap();
    let (mut looked_at, mut missing) = (0, Vec::new());
    for (document, name) in quoted() {
        let name = name.trim_end_matches("()");
        let Some(found) = named.captures(name) else { continue };
        let (module, function) = (found[1].to_owned(), format!("fn {}", &found[2]));
        let of_module = |path: &Path| {
            let is = path.file_stem().is_some_and(|stem| stem == &*module) || path.iter().any(|part| part == &*module);
            path.extension().is_some_and(|extension| extension == "rs")
                && (is || module.starts_with(char::is_uppercase))
        };
        looked_at += 1;
        if !files
            .iter()
            .filter(|path| of_module(path))
            .any(|path| fs::read_to_string(path).unwrap().contains(&function))
        {
            missing.push(format!("{document}: {name}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(looked_at > 10, "only {looked_at} functions are named");
}
