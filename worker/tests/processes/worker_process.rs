//! A `vitrina-worker` of its own process.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::eventually_within;

/// A worker process, killed when dropped.
pub struct WorkerProcess {
    child: Child,
    metrics: u16,
}

impl WorkerProcess {
    /// Starts one with short heartbeats, so that a dead one is missed soon.
    pub fn start(url: &str) -> Self {
        Self::start_with(url, &[])
    }

    /// The same with further settings.
    pub fn start_with(url: &str, settings: &[(&str, &str)]) -> Self {
        let metrics = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let child = Command::new(env!("CARGO_BIN_EXE_vitrina-worker"))
            .env_clear()
            .env("DATABASE_URL", url)
            .env("VITRINA_POLL_SECONDS", "60")
            .env("VITRINA_HEARTBEAT_SECONDS", "0.3")
            .env("VITRINA_CONCURRENCY", "2")
            .env("VITRINA_METRICS_ADDR", format!("127.0.0.1:{metrics}"))
            .env("VITRINA_LOG", "warn")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, metrics }
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the process to end by itself.
    pub async fn ended(&mut self, limit: Duration) -> ExitStatus {
        let child = std::cell::RefCell::new(&mut self.child);
        eventually_within(limit, "the end of the worker", || {
            let status = child.borrow_mut().try_wait().unwrap();
            std::future::ready(status)
        })
        .await
    }

    /// The value of a counter without labels, or nothing while the process does not answer.
    pub async fn counter(&self, name: &str) -> Option<f64> {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build().unwrap();
        let text = client.get(url).send().await.ok()?.text().await.ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
