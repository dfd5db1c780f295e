//! `vitrina run` and its kin.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Deployment, big, eventually, genres, genres_through_steps, status, text};

/// A program that is still running, and what it says on standard error.
struct Waiting {
    process: Child,
    said: Arc<Mutex<String>>,
}

impl Waiting {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, kept) = (BufReader::new(process.stderr.take().unwrap()), said.clone());
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self { process, said }
    }

    async fn says(&self, part: &str) {
        eventually(&format!("it says «{part}»"), || self.said.lock().unwrap().contains(part)).await;
    }

    async fn ends(mut self) -> (Option<i32>, String) {
        let mut code = None;
        eventually("it ends", || {
            code = self.process.try_wait().unwrap();
            code.is_some()
        })
        .await;
        let mut out = String::new();
        std::io::Read::read_to_string(&mut self.process.stdout.take().unwrap(), &mut out).unwrap();
        let said = self.said.lock().unwrap().clone();
        (code.unwrap().code(), format!("{out}{said}"))
    }
}

#[tokio::test]
async fn waiting_where_no_worker_is_alive_says_so() {
    let here = Deployment::api(&[]).await;
    here.apply(&genres());
    let waiting = Waiting::start(&mut here.vitrina(&["run", "genres", "--wait"]));
    waiting.says("genres: no worker is alive; start one with `vitrina worker`").await;
    here.prints(&["cancel", "genres"]);
    assert_eq!(waiting.ends().await.0, Some(1));
}

#[tokio::test]
async fn waiting_ends_with_the_summary_of_the_run() {
    let here = Deployment::start().await;
    here.apply(&genres());
    let told = here.prints(&["run", "genres", "--wait"]);
    assert!(told.contains("✓ genres: 5 rows read, 5 written in") && told.contains("1 batch"), "{told}");
    let run = here.json(&["run", "genres", "--wait"]);
    assert_eq!((status(&run), &run["rows_written"]), ("SUCCESS", &0.into()));
    let again = here.json(&["again", run["id"].as_str().unwrap(), "--wait"]);
    assert_eq!((status(&again), &again["trigger"]), ("SUCCESS", &"AGAIN".into()));
    let runs = here.json(&["runs", "genres"]);
    assert_eq!(runs["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_run_with_steps_ends_with_a_table_of_them_which_can_be_seen_later() {
    let here = Deployment::start().await;
    sqlx::raw_sql("create table analytics.genre_no (genre_id uuid primary key, no integer)")
        .execute(here.db.admin())
        .await
        .unwrap();
    here.apply(&genres_through_steps());
    let told = here.prints(&["run", "genres", "--wait"]);
    let run = here.json(&["runs", "genres"])["items"][0].clone();
    let counted: Vec<_> =
        run["steps"].as_array().unwrap().iter().map(|step| json!([step["step"], step["rejected"]])).collect();
    assert_eq!(counted, [json!(["trim", 0]), json!(["cast", 3])]);
    let id = run["id"].as_str().unwrap();
    for text in [told, here.prints(&["show", id])] {
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(lines[0].starts_with("✓ genres: 5 rows read, 2 written, 3 rejected in"), "{text}");
        assert_eq!(lines[1], "step ok failed skipped took per block", "{text}");
        assert!(lines[2].starts_with("trim 5 0 0 ") && lines[3].starts_with("cast 2 3 0 "), "{text}");
        assert!(lines[4].starts_with("advice: most rows were rejected by `cast`"), "{text}");
    }
    assert_eq!(here.json(&["show", id])["steps"], run["steps"]);

    here.apply(&big());
    let told = here.prints(&["run", "big", "--wait"]);
    assert!(!told.contains("skipped"), "it has no steps: {told}");
}

#[tokio::test]
async fn a_run_that_fails_ends_waiting_with_1_and_its_reason() {
    let here = Deployment::start().await;
    here.apply(
        &genres()
            .replace("select id as genre_id, name", "select id as genre_id, (1 / (length(name) - 7))::text as name"),
    );
    let output = here.vitrina(&["run", "genres", "--wait"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("the run of `genres` failed: ") && text(&output).contains("division by zero"),
        "{}",
        text(&output)
    );
    assert_eq!(here.json(&["show", "genres"])["status"], "FAILED");
}

#[tokio::test]
async fn a_pause_and_a_resume_from_elsewhere_are_seen_while_waiting() {
    let here = Deployment::start().await;
    here.apply(&big());
    let held = here.hold().await;
    let waiting = Waiting::start(&mut here.vitrina(&["run", "big", "--wait"]));
    waiting.says("big: running").await;
    here.prints(&["pause", "big"]);
    held.rollback().await.unwrap();
    waiting.says("paused at 100 rows").await;
    here.prints(&["run", "big"]);
    let (code, told) = waiting.ends().await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("✓ big: 300 rows read, 300 written"), "{told}");
    assert_eq!(here.json(&["runs", "big"])["items"].as_array().unwrap().len(), 1, "a resumed run is the same run");
}

#[tokio::test]
async fn interrupting_the_wait_leaves_the_run_alone_and_says_so() {
    let here = Deployment::start().await;
    here.apply(&big());
    let held = here.hold().await;
    let waiting = Waiting::start(&mut here.vitrina(&["run", "big", "--wait"]));
    waiting.says("big: running").await;
    kill_process(Pid::from_child(&waiting.process), Signal::INT).unwrap();
    let (code, told) = waiting.ends().await;
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("the run of `big` goes on") && told.contains("`vitrina cancel big`"), "{told}");
    held.rollback().await.unwrap();
    eventually("the run ends", || status(&here.json(&["runs", "big"])["items"][0]) == "SUCCESS").await;
    let runs = here.json(&["runs", "big"])["items"].clone();
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["rows_read"]), (1, &300.into()), "nothing cancelled it");
}

#[tokio::test]
async fn a_cancelled_run_ends_waiting_with_1() {
    let here = Deployment::start().await;
    here.apply(&big());
    let held = here.hold().await;
    let waiting = Waiting::start(&mut here.vitrina(&["run", "big", "--wait"]));
    waiting.says("big: running").await;
    here.prints(&["cancel", "big"]);
    let (code, told) = waiting.ends().await;
    assert_eq!(code, Some(1));
    assert!(told.contains("the run of `big` was cancelled"), "{told}");
    held.rollback().await.unwrap();
    here.prints(&["reset", "big"]);
    assert!(here.prints(&["state", "big"]).contains("no checkpoint"));
}

#[tokio::test]
async fn a_lost_connection_is_come_back_from() {
    let mut here = Deployment::start().await;
    here.apply(&big());
    let held = here.hold().await;
    let waiting = Waiting::start(&mut here.vitrina(&["run", "big", "--wait"]));
    waiting.says("big: running").await;
    here.restart_api().await;
    waiting.says("the connection is lost").await;
    held.rollback().await.unwrap();
    let (code, told) = waiting.ends().await;
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("✓ big: 300 rows read"), "{told}");
}

#[tokio::test]
async fn the_log_is_shown_and_followed() {
    let here = Deployment::start().await;
    here.apply(&genres());
    here.prints(&["run", "genres", "--wait"]);
    let log = here.prints(&["events"]);
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(log.contains("genres IDLE → RUN_REQUESTED"), "{log}");
    assert_eq!(here.prints(&["events", "genres", "--last", "1"]).lines().count(), 1);

    let mut command = here.vitrina(&["events", "-f", "--json", "--last", "1"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["to"], "IDLE", "it begins with the newest");
    here.prints(&["run", "genres", "--wait"]);
    let seen: Vec<_> = std::iter::repeat_with(next).filter(|event| event["event"] == "transition").take(3).collect();
    let to: Vec<_> = seen.iter().map(|event| event["to"].as_str().unwrap()).collect();
    assert_eq!(to, ["RUN_REQUESTED", "RUNNING", "IDLE"]);
    following.kill().unwrap();
    following.wait().unwrap();
}

#[tokio::test]
async fn one_key_starts_one_run() {
    let here = Deployment::start().await;
    here.apply(&genres());
    let run: Vec<Value> = (0..2).map(|_| here.json(&["run", "genres", "--idempotency-key", "nightly"])).collect();
    assert_eq!(run[0]["run_id"], run[1]["run_id"]);
}
