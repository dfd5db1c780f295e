//! `.env`: what compose asks for, and `scripts/compose-env` writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use tempfile::TempDir;
use vitrina_shared::config::{ApiConfig, Env};

use crate::manifest::{root, text};

/// The variables that compose refuses to start without.
fn required() -> BTreeSet<String> {
    let compose = text("docker-compose.yml");
    let names = compose.split("${").skip(1).filter_map(|rest| Some(rest.split_once(":?")?.0));
    names.filter(|name| !name.contains('}')).map(str::to_owned).collect()
}

/// All variables that compose looks up in .env.
fn looked_up() -> BTreeSet<String> {
    let compose = text("docker-compose.yml");
    let name = |rest: &str| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap().to_owned();
    compose.split("${").skip(1).map(name).collect()
}

fn copy_of_the_scripts() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("scripts")).unwrap();
    for file in ["scripts/compose-env", ".env.sample"] {
        fs::copy(root().join(file), place.path().join(file)).unwrap();
    }
    place
}

fn write_secrets(place: &Path) -> BTreeMap<String, String> {
    let status = Command::new(place.join("scripts/compose-env")).status().unwrap();
    assert!(status.success());
    let text = fs::read_to_string(place.join(".env")).unwrap();
    let set = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn the_sample_shows_every_variable_that_compose_looks_up() {
    let sample = text(".env.sample");
    for name in looked_up() {
        assert!(sample.lines().any(|line| line.starts_with(&format!("#{name}="))), "{name}");
    }
}

#[test]
fn every_secret_that_compose_requires_is_written_once_and_for_its_owner_only() {
    let place = copy_of_the_scripts();
    let first = write_secrets(place.path());
    for name in required() {
        assert!(first.get(&name).is_some_and(|value| value.len() >= 16), "{name}");
    }
    let mode = fs::metadata(place.path().join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(write_secrets(place.path()), first, "a second time changes nothing");
}

#[test]
fn a_secret_that_is_there_stays_and_a_missing_one_is_added() {
    let place = copy_of_the_scripts();
    fs::write(place.path().join(".env"), "POSTGRES_PASSWORD=mine\nOTHER=thing\n").unwrap();
    let written = write_secrets(place.path());
    assert_eq!(written["POSTGRES_PASSWORD"], "mine");
    assert_eq!(written["OTHER"], "thing");
    assert!(required().iter().all(|name| written.contains_key(name)));
}

#[test]
fn the_tokens_that_are_written_open_the_api_to_the_client() {
    let place = copy_of_the_scripts();
    let written = write_secrets(place.path());
    let config: ApiConfig = Env::from_pairs([("VITRINA_TOKENS", written["VITRINA_TOKENS"].as_str())]).read().unwrap();
    assert!(config.tokens.authenticate(&written["VITRINA_TOKEN"]).is_some());
}
