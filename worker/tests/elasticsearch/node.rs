//! A node of a test's own, which can be stopped and started again.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// A node with its data in a directory that outlives it. Ends with its standard input.
pub struct Node {
    directory: TempDir,
    port: u16,
    running: Option<Child>,
}

impl Node {
    /// Starts a node; nothing where there is no command that does.
    pub fn start() -> Option<Self> {
        let mut node = Self { directory: TempDir::new().unwrap(), port: 0, running: None };
        std::env::var("VITRINA_TEST_ELASTICSEARCH_NODE").ok()?;
        node.begin();
        Some(node)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts it, or starts it again where it was. Waits until it answers.
    pub fn begin(&mut self) {
        let command = std::env::var("VITRINA_TEST_ELASTICSEARCH_NODE").unwrap();
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next().unwrap())
            .args(words)
            .arg("--data")
            .arg(self.directory.path())
            .arg(format!("http.port={}", self.port))
            .arg(format!("path.repo={}", self.directory.path().join("snapshots").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        self.port = address.trim().rsplit(':').next().unwrap().parse().expect("the node says where it is");
        self.running = Some(child);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.running.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
