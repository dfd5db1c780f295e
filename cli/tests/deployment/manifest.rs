//! Reading the files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Parser;
use serde_norway::Value;
use vitrina::arguments::Arguments;

/// Merges may be nested this deep.
const MERGES: usize = 4;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The text of a file of the repository.
pub fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The YAML documents of a file.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = serde_norway::Deserializer::from_str(text);
    documents.map(|one| serde::Deserialize::deserialize(one).unwrap()).collect()
}

/// A YAML document with its merges done.
pub fn yaml(text: &str) -> Value {
    let mut document: Value = serde_norway::from_str(text).unwrap();
    for _ in 0..MERGES {
        document.apply_merge().unwrap();
    }
    document
}

/// A list of strings.
pub fn strings(list: &Value) -> Vec<&str> {
    list.as_sequence().into_iter().flatten().map(|one| one.as_str().unwrap()).collect()
}

/// Fails unless the words after `vitrina` are a command of ours.
pub fn assert_is_a_command(words: &[&str]) {
    let typed = std::iter::once("vitrina").chain(words.iter().copied());
    Arguments::try_parse_from(typed).unwrap_or_else(|error| panic!("{words:?}: {error}"));
}

/// Whether an image is named by the version of a release, and not by a tag that moves.
pub fn is_pinned(image: &str) -> bool {
    let Some((_, tag)) = image.rsplit_once(':') else { return false };
    let version = tag.trim_start_matches('v').split('-').next().unwrap_or_default();
    version.split('.').count() >= 2 && version.split('.').all(|part| part.parse::<u32>().is_ok())
}

#[test]
fn a_moving_tag_is_not_pinned() {
    for image in ["postgres", "postgres:15", "postgres:15-bookworm", "grafana/grafana:latest", "host:5000/image"] {
        assert!(!is_pinned(image), "{image}");
    }
    for image in ["postgres:15.14-bookworm", "prom/prometheus:v3.5.0", "debian:12.12-slim"] {
        assert!(is_pinned(image), "{image}");
    }
}
