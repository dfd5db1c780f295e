//! Settings of a worker.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::api::parse_addr;
use super::elasticsearch::ElasticsearchConfig;
use super::env::{Env, FromEnv};
use super::keys::Keys;
use super::metrics_token::MetricsToken;
use super::python::PythonConfig;
use crate::{domain::hosts::AllowedHosts, metrics::HISTOGRAM_PIPELINES};

/// The default time for which a stopping worker waits for its batches.
pub const DRAIN: Duration = Duration::from_secs(30);

const MAX_ROW_BYTES: u32 = 16 * 1024 * 1024;

/// The longest that anything is kept: a century.
const MAX_KEPT_DAYS: u64 = 36_500;

#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Where `/metrics` is served: `VITRINA_METRICS_ADDR`.
    pub metrics_addr: SocketAddr,
    /// What `/metrics` asks for, if anything: `VITRINA_METRICS_TOKEN`.
    pub metrics_token: Option<MetricsToken>,
    /// How many pipelines have histograms of their own in `/metrics`: `VITRINA_METRICS_PIPELINES`.
    pub histogram_pipelines: usize,
    /// How many batches run side by side: `VITRINA_CONCURRENCY`.
    pub concurrency: usize,
    /// The name in logs and in the list of workers; made up where `VITRINA_WORKER_NAME` is unset.
    pub name: Option<String>,
    /// The interval of the poll of the queue: `VITRINA_POLL_SECONDS`.
    pub poll: Duration,
    /// The interval of heartbeats: `VITRINA_HEARTBEAT_SECONDS`.
    pub heartbeat: Duration,
    /// How long a pause waits for the batch in hand before it is cancelled: `VITRINA_PAUSE_SECONDS`.
    pub pause: Duration,
    /// How long batches in hand may take to end when the worker stops: `VITRINA_DRAIN_SECONDS`.
    pub drain: Duration,
    /// How large a row may be that passes through the worker: `VITRINA_MAX_ROW_BYTES`.
    pub max_row_bytes: u32,
    pub retention: Retention,
    /// Keys that steps use: `VITRINA_KEYS_<POOL>`.
    pub keys: Keys,
    pub elasticsearch: ElasticsearchConfig,
    pub python: PythonConfig,
    /// The hosts that steps may call: `VITRINA_HTTP_HOSTS`.
    pub http_hosts: AllowedHosts,
}

#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Runs: `VITRINA_RUNS_KEPT_DAYS`.
    pub runs: Duration,
    /// Reports: `VITRINA_REPORTS_KEPT_DAYS`.
    pub reports: Duration,
    /// Entries of the transition log: `VITRINA_TRANSITIONS_KEPT_DAYS`.
    pub transitions: Duration,
    /// Calls of steps and their answers: `VITRINA_CALLS_KEPT_DAYS`.
    pub calls: Duration,
}

impl Retention {
    fn read(env: &mut Env) -> Self {
        let mut days = |variable, default| {
            let days: u64 = env.number(variable, default, 1..=MAX_KEPT_DAYS);
            Duration::from_secs(days * 86_400)
        };
        Self {
            runs: days("VITRINA_RUNS_KEPT_DAYS", 90),
            reports: days("VITRINA_REPORTS_KEPT_DAYS", 1),
            transitions: days("VITRINA_TRANSITIONS_KEPT_DAYS", 365),
            calls: days("VITRINA_CALLS_KEPT_DAYS", 30),
        }
    }
}

impl FromEnv for WorkerConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let metrics_addr = env.parsed("VITRINA_METRICS_ADDR", |value| parse_addr(value, "127.0.0.1:9091"));
        Some(Self {
            metrics_addr: metrics_addr.unwrap_or((Ipv4Addr::LOCALHOST, 9091).into()),
            metrics_token: MetricsToken::read(env),
            histogram_pipelines: env.number("VITRINA_METRICS_PIPELINES", HISTOGRAM_PIPELINES, 0..=100_000),
            concurrency: env.number("VITRINA_CONCURRENCY", 4, 1..=256),
            name: env.parsed("VITRINA_WORKER_NAME", parse_name),
            poll: env.seconds("VITRINA_POLL_SECONDS", 30.0, 0.1..=3600.0),
            heartbeat: env.seconds("VITRINA_HEARTBEAT_SECONDS", 2.0, 0.1..=60.0),
            pause: env.seconds("VITRINA_PAUSE_SECONDS", 60.0, 0.1..=3600.0),
            drain: env.seconds("VITRINA_DRAIN_SECONDS", DRAIN.as_secs_f64(), 0.1..=3600.0),
            max_row_bytes: env.number("VITRINA_MAX_ROW_BYTES", MAX_ROW_BYTES, 1024 * 1024..=1024 * 1024 * 1024),
            retention: Retention::read(env),
            keys: Keys::read(env),
            elasticsearch: ElasticsearchConfig::from_env(env)?,
            python: PythonConfig::from_env(env)?,
            http_hosts: env.parsed("VITRINA_HTTP_HOSTS", AllowedHosts::parse).unwrap_or_default(),
        })
    }
}

fn parse_name(value: &str) -> Result<String, &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if value.len() <= 64 && value.chars().all(allowed) {
        Ok(value.to_owned())
    } else {
        Err("takes up to 64 letters, digits, dots, dashes and underscores")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let worker: WorkerConfig = Env::from_pairs::<&str, &str>([]).read().expect("defaults");
        assert_eq!(worker.metrics_addr.to_string(), "127.0.0.1:9091");
        assert_eq!(worker.histogram_pipelines, 100);
        assert_eq!(worker.concurrency, 4);
        assert_eq!(worker.name, None);
        assert_eq!(worker.poll, Duration::from_secs(30));
        assert_eq!(worker.heartbeat, Duration::from_secs(2));
        assert_eq!(worker.pause, Duration::from_secs(60));
        assert_eq!(worker.drain, Duration::from_secs(30));
        assert_eq!(worker.max_row_bytes, 16_777_216);
        assert_eq!(worker.retention.runs, Duration::from_secs(90 * 86_400));
        assert_eq!(worker.retention.reports, Duration::from_secs(86_400));
        assert_eq!(worker.retention.transitions, Duration::from_secs(365 * 86_400));
        assert_eq!(worker.retention.calls, Duration::from_secs(30 * 86_400));
    }

    #[test]
    fn every_wrong_variable_of_a_worker_is_named() {
        let pairs = [
            ("VITRINA_METRICS_ADDR", "9091"),
            ("VITRINA_METRICS_PIPELINES", "all"),
            ("VITRINA_CONCURRENCY", "0"),
            ("VITRINA_WORKER_NAME", "a b"),
            ("VITRINA_POLL_SECONDS", "soon"),
            ("VITRINA_HEARTBEAT_SECONDS", "0"),
            ("VITRINA_PAUSE_SECONDS", "0"),
            ("VITRINA_DRAIN_SECONDS", "-1"),
            ("VITRINA_MAX_ROW_BYTES", "1000"),
            ("VITRINA_RUNS_KEPT_DAYS", "0"),
            ("VITRINA_REPORTS_KEPT_DAYS", "for ever"),
            ("VITRINA_TRANSITIONS_KEPT_DAYS", "36501"),
            ("VITRINA_CALLS_KEPT_DAYS", "0"),
            ("VITRINA_HTTP_KEYS", "OPENAI"),
            ("VITRINA_HTTP_HOSTS", "http://a.example"),
        ];
        let errors = Env::from_pairs(pairs).read::<WorkerConfig>().expect_err("all are wrong");
        let named: Vec<&str> = errors.problems().iter().map(|problem| problem.variable).collect();
        assert_eq!(named, pairs.map(|(name, _)| name));
    }

    #[test]
    fn a_worker_may_be_given_a_name() {
        let env = Env::from_pairs([("VITRINA_WORKER_NAME", "worker-1.eu_west")]);
        assert_eq!(env.read::<WorkerConfig>().expect("a good name").name.as_deref(), Some("worker-1.eu_west"));
    }
}
