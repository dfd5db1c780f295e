//! The service of the examples in a process of its own, which misbehaves as a test asks it to, and what its log proves.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

/// A file of the examples.
pub fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path)
}

/// The service, ended when dropped.
pub struct Service {
    child: Child,
    /// Where it listens, host and port.
    pub addr: String,
    directory: TempDir,
}

impl Service {
    pub fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new("python3")
            .arg("-B")
            .arg(example("service/misbehave.py"))
            .args(["--port", "0", "--log"])
            .arg(directory.path().join("log"))
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { child, addr, directory }
    }

    /// How many requests it has had so far.
    pub fn requests(&self) -> usize {
        std::fs::read(self.log()).unwrap().iter().filter(|byte| **byte == b'\n').count()
    }

    /// Fails unless the log proves that a limit was kept, and that nothing was paid for twice.
    pub fn prove(&self, limits: &[&str]) {
        let proof = Command::new("python3")
            .arg("-B")
            .arg(example("service/prove.py"))
            .arg(self.log())
            .args(limits)
            .output()
            .unwrap();
        let said = [proof.stdout, proof.stderr].concat();
        assert!(proof.status.success(), "{}", String::from_utf8_lossy(&said));
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
