//! The server's file with its process id and address.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

#[derive(Debug, PartialEq)]
pub(super) struct PidFile {
    pub(super) pid: Pid,
    pub(super) port: u16,
    pub(super) ready: bool,
}

impl PidFile {
    pub(super) fn read(cluster: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(cluster.join("postmaster.pid")).ok()?)
    }

    /// Lines: pid, data directory, start time, port, socket directory, address, shared memory, status.
    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: Pid::from_raw(lines.first()?.parse().ok()?)?,
            port: lines.get(3)?.parse().ok()?,
            ready: lines.get(7) == Some(&"ready"),
        })
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::PidFile;

    #[test]
    fn a_pid_file_tells_pid_port_and_readiness() {
        let text = "4711\n/data/postgres\n1784000000\n40123\n\n127.0.0.1\n   123 4\nready   \n";
        let pid = Pid::from_raw(4711).expect("a pid");
        assert_eq!(PidFile::parse(text), Some(PidFile { pid, port: 40123, ready: true }));
    }

    #[test]
    fn a_server_that_starts_is_not_ready_and_an_empty_file_is_nothing() {
        let starting = "4711\n/data/postgres\n1784000000\n40123\n\n";
        assert!(PidFile::parse(starting).is_some_and(|file| !file.ready));
        assert_eq!(PidFile::parse(""), None);
        assert_eq!(PidFile::parse("0\n/data\n1\n40123\n"), None);
    }
}
