//! The `vitrina` command as a person uses it: real processes, real signals, a PostgreSQL of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::{
    fs::Permissions,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const READY_WITHIN: Duration = Duration::from_secs(120);
const STOPS_WITHIN: Duration = Duration::from_secs(30);

fn vitrina() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vitrina"));
    command
        .env_remove("DATABASE_URL")
        .env_remove("VITRINA_ADDR")
        .env_remove("VITRINA_URL")
        .env_remove("ELASTICSEARCH_URL");
    command.stdin(Stdio::null());
    command
}

/// A directory that the server's account may enter, also if we are root.
fn place() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o711)).tempdir().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// `vitrina up`, killed when the test ends whatever happens.
struct Up {
    process: Child,
    base: String,
}

impl Up {
    async fn start(data_dir: &Path) -> Self {
        let port = free_port();
        let process = vitrina()
            .args(["up", "--addr", &format!("127.0.0.1:{port}"), "--data-dir"])
            .arg(data_dir)
            .env("VITRINA_LOG_FILE", data_dir.with_extension("log"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut up = Self { process, base: format!("http://127.0.0.1:{port}") };
        let deadline = Instant::now() + READY_WITHIN;
        while reqwest::get(format!("{}/ready", up.base)).await.map_or(0, |answer| answer.status().as_u16()) != 200 {
            assert!(up.process.try_wait().unwrap().is_none(), "vitrina up ended before it was ready");
            assert!(Instant::now() < deadline, "vitrina up is not ready in time");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        up
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    async fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + STOPS_WITHIN;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "vitrina up does not stop");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            // In order, so that the embedded server goes too.
            let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
            let _ = self.process.wait();
        }
    }
}

#[tokio::test]
async fn up_comes_back_after_kill_9_with_everything_it_had() {
    let directory = place();
    let data_dir = directory.path().join("data");
    let mut up = Up::start(&data_dir).await;
    let query = "select n, n::text as name from generate_series(1, 3) n";
    let target = json!({"target": "analytics.numbers", "key": ["n"], "create": {"source_query": query}});
    let pipeline = json!({
        "name": "numbers", "mode": "full", "target_table": "analytics.numbers", "source_query": query,
    });
    for (path, body) in [("targets", target), ("pipelines", pipeline)] {
        let address = format!("{}/api/v1/{path}", up.base);
        let created = reqwest::Client::new().post(address).json(&body).send().await.unwrap();
        assert_eq!(created.status(), 201, "{path}: {}", created.text().await.unwrap());
    }

    up.signal(Signal::KILL);
    up.wait().await;
    let mut up = Up::start(&data_dir).await;
    let found: Value =
        reqwest::get(format!("{}/api/v1/pipelines/numbers", up.base)).await.unwrap().json().await.unwrap();
    assert_eq!(found["status"], "IDLE");
    let (code, text) = complaint(vitrina().arg("migrate").arg("--data-dir").arg(&data_dir));
    assert_eq!(code, Some(0), "what messages advise can be done: {text}");

    up.signal(Signal::TERM);
    assert_eq!(up.wait().await, Some(0), "SIGTERM ends vitrina up in order");
    assert!(!data_dir.join("postgres/postmaster.pid").exists(), "the embedded server stops with us");
    let log = std::fs::read_to_string(data_dir.with_extension("log")).unwrap();
    assert!(log.contains("worker stopped") && !log.contains("connects as an account"), "services are no owners: {log}");
}

/// Runs the demo to its end and returns its summary.
fn demo(data_dir: &Path, films: &str, ratings: &str, elasticsearch: Option<&str>) -> Value {
    let output = run(vitrina()
        .args(["demo", "--films", films, "--ratings", ratings, "--json", "--data-dir"])
        .arg(data_dir)
        .envs(elasticsearch.map(|url| ("ELASTICSEARCH_URL", url))));
    let text = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["ok"], true, "{text}");
    assert_eq!(output.status.code(), Some(0));
    last
}

#[tokio::test]
async fn the_demo_ends_with_every_mart_equal_to_its_source() {
    let directory = place();
    // Its indexes have fixed names, which may be in use on another node.
    let node = std::env::var("VITRINA_TEST_ELASTICSEARCH_NODE").and(std::env::var("VITRINA_TEST_ELASTICSEARCH_URL"));
    let last = demo(directory.path(), "500", "2000", node.as_deref().ok());
    let names: Vec<_> = last["pipelines"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let may_lack_it = ["VITRINA_TEST_WITHOUT_ELASTICSEARCH", "VITRINA_TEST_ELASTICSEARCH_URL"];
    let may_lack_it = may_lack_it.iter().any(|variable| std::env::var_os(variable).is_some());
    assert!(
        node.is_ok() || may_lack_it,
        "no Elasticsearch: run scripts/with-elasticsearch, with --without-elasticsearch to do without"
    );
    let indexes: &[&str] = if node.is_ok() { &["es_film_dim", "es_film_rating_agg"] } else { &[] };
    assert_eq!(names, [&["genre_dim", "film_dim", "film_rating_agg"], indexes].concat());
    assert!(last["pipelines"].as_array().unwrap().iter().all(|one| one["reconciled"] == true));
    assert_eq!(last["pipelines"][1]["rows_written"], 500);
}

#[test]
fn the_demo_can_be_repeated_with_a_larger_cinema() {
    let directory = place();
    demo(directory.path(), "300", "1000", None);
    let grown = demo(directory.path(), "800", "3000", None);
    assert_eq!(grown["pipelines"][1]["name"], "film_dim");
    assert_eq!(grown["pipelines"][1]["rows_written"], 500, "{grown}");
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

fn complaint(command: &mut Command) -> (Option<i32>, String) {
    let output = run(command);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_there_is() {
    let (code, text) = complaint(vitrina().arg("fly"));
    assert_eq!(code, Some(2));
    assert!(text.contains("unrecognized subcommand 'fly'"), "{text}");
}

#[test]
fn every_wrong_variable_is_named_at_once() {
    let (code, text) = complaint(
        vitrina().arg("api").env("VITRINA_ADDR", "0.0.0.0:8080").env("VITRINA_MAX_IN_FLIGHT", "many").current_dir("/"),
    );
    assert_eq!(code, Some(1));
    for variable in ["DATABASE_URL", "VITRINA_TOKENS", "VITRINA_MAX_IN_FLIGHT"] {
        assert!(text.contains(variable), "{variable} is not in: {text}");
    }
}

#[test]
fn a_database_that_does_not_answer_is_a_sentence() {
    let (code, text) = complaint(
        vitrina().arg("migrate").env("DATABASE_URL", format!("postgres://nobody:secret@127.0.0.1:{}/x", free_port())),
    );
    assert_eq!(code, Some(1));
    assert!(text.contains("error:") && !text.contains("secret"), "{text}");
}

#[test]
fn migrating_without_a_database_says_which_ones_there_could_be() {
    let (code, text) = complaint(vitrina().arg("migrate").current_dir(place().path()));
    assert_eq!(code, Some(1));
    assert!(text.contains("DATABASE_URL is not set") && text.contains("--data-dir"), "{text}");
}

#[test]
fn a_wrong_password_is_not_told_as_a_lack_of_rights() {
    let server = std::env::var("VITRINA_TEST_DATABASE_URL").unwrap();
    // A role that is not there is refused like a wrong password, before any right is asked for.
    let url = server.replace("//postgres@", "//no_such_account@");
    let (code, text) = complaint(vitrina().arg("migrate").env("DATABASE_URL", url));
    assert_eq!(code, Some(1));
    assert!(text.contains("check user and password in DATABASE_URL") && !text.contains("extensions"), "{text}");
    assert!(!text.contains("at line"), "a line of PostgreSQL's own source: {text}");
}

#[test]
fn a_taken_port_is_an_error_that_names_it() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = holder.local_addr().unwrap();
    let (code, text) = complaint(
        vitrina().arg("api").env("DATABASE_URL", "postgres://a@127.0.0.1:1/x").env("VITRINA_ADDR", addr.to_string()),
    );
    assert_eq!(code, Some(1));
    assert!(text.contains(&addr.to_string()) && text.contains("VITRINA_ADDR"), "{text}");
}

/// Runs the demo until it says this, interrupts it, and returns how it ended and what it said.
fn interrupted_demo(data_dir: &Path, moment: &str) -> (Option<i32>, String) {
    let mut demo = vitrina()
        .args(["demo", "--films", "2000", "--ratings", "20000", "--data-dir"])
        .arg(data_dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said: Vec<_> =
        lines.scan(false, |over, line| (!std::mem::replace(over, line.contains(moment))).then_some(line)).collect();
    assert!(said.last().is_some_and(|line| line.contains(moment)), "{moment}: {said:?}");
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    let mut complaint = String::new();
    demo.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    (demo.wait().unwrap().code(), complaint)
}

#[test]
fn the_demo_can_be_interrupted_at_any_moment_and_then_run_again() {
    let directory = place();
    for moment in ["database: ", "✓ database", "cinema: ", "✓ cinema", "✓ services", "✓ pipelines"] {
        let (code, complaint) = interrupted_demo(directory.path(), moment);
        assert_eq!(code, Some(1), "{moment}: {complaint}");
        assert!(complaint.contains("stopped before the end"), "{moment}: {complaint}");
        assert!(!directory.path().join("postgres/postmaster.pid").exists(), "{moment}: the server still runs");
    }
    let output =
        run(vitrina().args(["demo", "--films", "2000", "--ratings", "20000", "--data-dir"]).arg(directory.path()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("every mart equals its source"), "{text}");
    let up = format!("up --data-dir {}", directory.path().display());
    assert!(text.contains(&up), "what to try next is about this database: {text}");
}

#[test]
fn a_data_directory_that_cannot_be_used_is_an_error_that_says_what_to_do() {
    let directory = place();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (code, text) = complaint(vitrina().args(["up", "--data-dir"]).arg(file.join("data")));
    assert_eq!(code, Some(1));
    assert!(text.contains("Not a directory") && text.contains("--data-dir"), "{text}");
}

/// A disk of a few megabytes, as far as we may mount one.
struct TinyDisk(TempDir);

impl TinyDisk {
    fn mount() -> Option<Self> {
        let disk = Self(place());
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m,mode=0711", "tmpfs"])
            .arg(disk.0.path())
            .output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then_some(disk)
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that was not made is to be seen")]
fn a_full_disk_is_an_error_that_names_the_remedy() {
    let Some(disk) = TinyDisk::mount() else {
        eprintln!("SKIPPED: a small disk can be mounted by root only");
        return;
    };
    let (code, text) =
        complaint(vitrina().args(["up", "--addr", "127.0.0.1:0", "--data-dir"]).arg(disk.0.path().join("data")));
    assert_eq!(code, Some(1));
    assert!(text.contains("free some space on that disk, or choose another --data-dir"), "{text}");
}

#[tokio::test]
async fn the_cinema_is_filled_beside_a_running_up_and_without_it() {
    let directory = place();
    let data_dir = directory.path().join("data");
    let fill =
        |films: &str| run(vitrina().args(["cinema", "--films", films, "--ratings", "10", "--data-dir"]).arg(&data_dir));
    let alone = fill("5");
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    let mut up = Up::start(&data_dir).await;
    let beside = fill("8");
    let text = String::from_utf8_lossy(&beside.stdout).into_owned();
    assert!(beside.status.success() && text.contains("the cinema has 8 films and 10 ratings"), "{text}");
    let doctor = run(vitrina().args(["doctor", "--url", &up.base, "--data-dir"]).arg(&data_dir));
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
    up.signal(Signal::INT);
    assert_eq!(up.wait().await, Some(0));
}
