//! `scripts/compose-up` and `scripts/compose-urls`, with a program in place of Docker that notes how it is called.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::manifest::root;

/// Stands for an engine with `workers` workers; `up` ends with `status`, and `logs` shows `log`.
fn fake_docker(workers: usize, status: i32, log: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let (scripts, programs) = (place.path().join("scripts"), place.path().join("bin"));
    fs::create_dir(&scripts).unwrap();
    fs::create_dir(&programs).unwrap();
    for script in ["compose-up", "compose-urls"] {
        fs::copy(root().join("scripts").join(script), scripts.join(script)).unwrap();
    }
    fs::write(place.path().join("log"), log).unwrap();
    let docker = format!(
        r#"#!/usr/bin/env bash
printf '%s\n' "$*" >>{place}/calls
case "$2" in
    ps) for ((n = 0; n < {workers}; n++)); do echo "worker$n"; done ;;
    up) exit {status} ;;
    logs) cat {place}/log ;;
    port) echo "127.0.0.1:$4" ;;
esac
"#,
        place = place.path().display(),
    );
    let program = programs.join("docker");
    fs::write(&program, docker).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn run(place: &Path, script: &str, variables: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", place.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(place.join("scripts").join(script));
    command.env_remove("WORKERS").env_remove("VITRINA_TOKENS").env("PATH", path).envs(variables.iter().copied());
    command.output().unwrap()
}

/// How many workers `up` was asked for.
fn workers(place: &Path) -> String {
    let calls = fs::read_to_string(place.join("calls")).unwrap();
    let up = calls.lines().find(|call| call.starts_with("compose up ")).unwrap().to_owned();
    up.split("--scale worker=").nth(1).unwrap().to_owned()
}

#[test]
fn there_are_as_many_workers_as_before_unless_told() {
    for (before, asked, expected) in
        [(3, None, "3"), (0, None, "1"), (3, Some("1"), "1"), (1, Some("5"), "5"), (3, Some(""), "3")]
    {
        let place = fake_docker(before, 0, "");
        let variables: Vec<_> = asked.iter().map(|asked| ("WORKERS", *asked)).collect();
        assert!(run(place.path(), "compose-up", &variables).status.success());
        assert_eq!(workers(place.path()), expected, "{before} before, {asked:?} asked for");
    }
}

#[test]
fn a_password_that_an_old_volume_does_not_know_is_told_as_such() {
    let log = "error: the database refused: password authentication failed for user \"postgres\"\n".repeat(5_000);
    let ended = run(fake_docker(1, 17, &log).path(), "compose-up", &[]);
    assert_eq!(ended.status.code(), Some(17));
    let said = String::from_utf8(ended.stderr).unwrap();
    for part in ["refuses the password of .env", "psql -U postgres -c '\\password'", "docker compose down --volumes"] {
        assert!(said.contains(part), "{said}");
    }
    let ended = run(fake_docker(1, 17, "error: no space left\n").path(), "compose-up", &[]);
    assert_eq!(ended.status.code(), Some(17));
    assert!(!String::from_utf8(ended.stderr).unwrap().contains("password"));
}

#[test]
fn the_token_that_is_named_is_one_that_the_api_knows() {
    let by_hand = "the last part of an entry of VITRINA_TOKENS";
    for (env, shell, expected) in [
        ("VITRINA_TOKENS=admin:admin:aaaa\nVITRINA_TOKEN=aaaa\n", None, "token: VITRINA_TOKEN in .env"),
        (
            "VITRINA_TOKENS=\"x:viewer:bb:b.b, admin:admin:aaaa\"\nVITRINA_TOKEN='bb:b.b'\n",
            None,
            "token: VITRINA_TOKEN in .env",
        ),
        ("VITRINA_TOKENS=anna:admin:aaaa\n", None, by_hand),
        ("VITRINA_TOKENS=anna:admin:aaaa\nVITRINA_TOKEN=old\n", None, by_hand),
        ("VITRINA_TOKENS=anna:admin:aaaa\nVITRINA_TOKEN=a..a\n", None, by_hand),
        ("VITRINA_TOKENS=a:admin:aaaa\nVITRINA_TOKEN=aaaa\n", Some("b:admin:bbbb"), "your shell sets"),
    ] {
        let variables: Vec<_> = shell.map(|tokens| ("VITRINA_TOKENS", tokens)).into_iter().collect();
        let place = fake_docker(1, 0, "");
        fs::write(place.path().join(".env"), env).unwrap();
        let said = run(place.path(), "compose-urls", &variables);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains(expected), "{env}: {said}");
        assert!(said.contains("http://127.0.0.1:8080/docs"), "{said}");
        for secret in ["aaaa", "bbbb", "bb:b.b"] {
            assert!(!said.contains(secret), "a log gets no secret: {said}");
        }
    }
}
