//! The files of `migrations/` are those that are committed, embedded and described.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use vitrina_shared::migrate::{
    self,
    functions::{FUNCTIONS, checksum, revision},
};

use crate::{empty, schemas};

fn migrations() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations"))
}

/// The SQL files of a folder, in the order of their names.
fn sql_files(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(migrations().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "sql"));
    let named =
        |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap());
    files.map(named).collect()
}

fn checksums() -> Vec<(String, String)> {
    let text = fs::read_to_string(migrations().join("checksums")).unwrap();
    text.lines()
        .map(|line| line.split_once(' ').map(|(name, sum)| (name.to_owned(), sum.to_owned())).unwrap())
        .collect()
}

#[test]
fn a_migration_is_never_edited() {
    let numbered = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let found: Vec<_> = sql_files("").into_iter().filter(|(name, _)| numbered(name)).collect();
    let found: Vec<_> = found.into_iter().map(|(name, text)| (name, checksum(&text))).collect();
    let committed: Vec<_> = checksums().into_iter().filter(|(name, _)| name != "functions").collect();
    assert_eq!(found, committed, "add a migration instead of editing one, and let `make schema` write its line");
}

#[test]
fn a_change_of_a_function_has_a_line_of_its_own() {
    let text: String = sql_files("functions").into_values().collect();
    let committed: Vec<_> = checksums().into_iter().filter(|(name, _)| name == "functions").collect();
    assert_eq!(committed.len(), usize::try_from(revision()).unwrap());
    assert_eq!(committed.last().unwrap().1, checksum(&text), "`make schema` writes the line");
}

#[test]
fn every_function_of_the_folder_is_in_the_program() {
    let mut listed: Vec<_> = FUNCTIONS.iter().map(|file| format!("{}.sql", file.name)).collect();
    listed.sort();
    assert_eq!(listed, sql_files("functions").into_keys().collect::<Vec<_>>());
}

/// The server's version, in the dump's first line. Other versions write views and constraints in other words: there only what is
/// created is compared, by kind and name.
fn version(text: &str) -> &str {
    text.lines().next().unwrap().rsplit(' ').next().unwrap()
}

/// What a dump creates, by kind and name.
fn created(dump: &str) -> Vec<&str> {
    let mut created: Vec<_> = dump.lines().filter(|line| line.starts_with("CREATE ")).collect();
    created.iter_mut().for_each(|line| *line = line.split('(').next().unwrap_or(line).trim());
    created.sort_unstable();
    created
}

#[tokio::test]
async fn the_schema_that_is_committed_is_the_one_that_migrations_make() {
    let db = empty().await;
    migrate::migrate(db.admin(), &schemas()).await.unwrap();
    let script = migrations().join("../scripts/schema");
    let dumped = Command::new(script).arg(db.owner_url()).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let (made, committed) =
        (String::from_utf8(dumped.stdout).unwrap(), fs::read_to_string(migrations().join("schema.sql")).unwrap());
    assert!(created(&committed).contains(&"CREATE TABLE etl.etl_runs"));
    assert_eq!(created(&made), created(&committed), "`make schema` writes migrations/schema.sql anew");
    if version(&made) == version(&committed) {
        assert!(
            made == committed,
            "`make schema` writes migrations/schema.sql anew; what differs:\n{}",
            differs(&made, &committed)
        );
    }
}

fn differs(made: &str, committed: &str) -> String {
    let lacks = |one: &str, other: &str, sign: char| -> String {
        let other: Vec<_> = other.lines().collect();
        one.lines().filter(|line| !other.contains(line)).map(|line| format!("{sign} {line}\n")).collect()
    };
    lacks(made, committed, '+') + &lacks(committed, made, '-')
}
