//! Prometheus' own programs: promtool, and a server in a directory of its own.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    configuration::{repository, yaml},
    scene::{eventually, free_port},
};

/// Whether the test run was asked to do without Prometheus. Prints that nothing was tested.
pub fn is_left_out() -> bool {
    let left_out = std::env::var_os("VITRINA_TEST_WITHOUT_PROMETHEUS").is_some();
    if left_out {
        let _ = writeln!(std::io::stderr(), "NOT TESTED: VITRINA_TEST_WITHOUT_PROMETHEUS is set");
    }
    left_out
}

/// A program of Prometheus: from PATH, else where `scripts/setup` has put it.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let ours = repository("target/prometheus/usr/bin");
    let mut places = std::env::split_paths(&path).chain([ours]).map(|directory| directory.join(name));
    places.find(|program| program.is_file()).unwrap_or_else(|| {
        panic!(
            "{name} is missing: run scripts/setup, or set VITRINA_TEST_WITHOUT_PROMETHEUS=1 to leave these tests out"
        )
    })
}

/// Runs promtool and wants it to be content.
pub fn promtool(arguments: &[&str]) {
    let output = Command::new(program("promtool")).args(arguments).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
}

/// What promtool finds wrong with metrics as a process shows them.
pub fn complaints(metrics: &str) -> String {
    let mut promtool = Command::new(program("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { text } else { format!("failed: {text}") }
}

/// A running server, killed when dropped.
pub struct Prometheus {
    process: Child,
    base: String,
    client: reqwest::Client,
    _directory: TempDir,
}

impl Prometheus {
    /// Starts with our own configuration and rules, but for the targets, which are these, and for how often: every second.
    pub async fn start(api: &[String], workers: &[String]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("prometheus.yml");
        std::fs::write(&config, configuration(api, workers).to_string()).unwrap();
        let port = free_port();
        let process = Command::new(program("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--log.level=error")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let prometheus = Self { process, base: format!("http://127.0.0.1:{port}"), client, _directory: directory };
        eventually("Prometheus", async || {
            let answer = prometheus.client.get(format!("{}/-/ready", prometheus.base)).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
        prometheus
    }

    /// Asks for an expression now. Panics where it cannot be evaluated.
    pub async fn query(&self, expression: &str) -> Vec<Value> {
        let url = reqwest::Url::parse_with_params(&format!("{}/api/v1/query", self.base), [("query", expression)]);
        let answer = self.client.get(url.unwrap()).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The value of the only series of an expression.
    pub async fn value(&self, expression: &str) -> Option<f64> {
        let series = self.query(expression).await;
        assert!(series.len() <= 1, "{expression}: {series:?}");
        series.first()?["value"][1].as_str()?.parse().ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// `prometheus/prometheus.yml` with other targets. JSON is YAML too.
fn configuration(api: &[String], workers: &[String]) -> Value {
    let mut config = yaml("prometheus/prometheus.yml");
    config["global"] = json!({"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"});
    config["rule_files"] = json!([repository("prometheus/rules/*.yml")]);
    let jobs = config["scrape_configs"].as_array_mut().unwrap();
    jobs.retain(|job| job.get("dns_sd_configs").is_some());
    assert_eq!(jobs.len(), 2, "one for the API, one for workers");
    for job in jobs {
        let targets = if job["job_name"] == "vitrina-api" { api } else { workers };
        let job = job.as_object_mut().unwrap();
        job.remove("dns_sd_configs");
        job.insert("static_configs".to_owned(), json!([{"targets": targets}]));
    }
    config
}
