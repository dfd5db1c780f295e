//! The server's main process: recognising it, asking whether it lives, ending it.
//!
//! It is our child, or one left over by a vitrina that was killed. Of the latter only the number is known, which the
//! system may have given to another program since; so every step asks whether the process still is what it was.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::time::sleep;
use tracing::warn;

use super::error::{EmbeddedPostgresError, EmbeddedResult, files};
use super::home::ServerFiles;
use super::installation::Installation;
use super::pid_file::PidFile;

pub(super) const GLANCE: Duration = Duration::from_millis(20);

/// A log of more bytes is set aside when the server starts.
const LARGE_LOG: u64 = 16 * 1024 * 1024;

/// A fast shutdown ends all sessions and writes what is in memory; an immediate one leaves that to the next start.
const SHUTDOWNS: [(Signal, Duration); 2] =
    [(Signal::INT, Duration::from_secs(30)), (Signal::QUIT, Duration::from_secs(10))];

/// Settings that override the cluster's `postgresql.conf`.
const SETTINGS: [&str; 8] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=on",
    "full_page_writes=on",
    "max_connections=200",
    "timezone=UTC",
    "log_timezone=UTC",
    "logging_collector=off",
];

/// A running server. Dropping it asks it to shut down.
#[derive(Debug)]
pub(super) struct Postmaster {
    pid: Pid,
    child: Option<Child>,
    cluster: PathBuf,
}

impl Postmaster {
    /// Starts a server that listens on this port of 127.0.0.1 and nowhere else.
    pub(super) fn spawn(home: &ServerFiles, installation: &Installation, port: u16) -> EmbeddedResult<Self> {
        let (program, cluster) = (installation.program("postgres"), home.cluster());
        let log = open_log(&home.log())?;
        let errors = log.try_clone().map_err(files("open", &home.log()))?;
        let mut command = home.account.command(&program);
        command.arg("-D").arg(&cluster);
        command.arg("-c").arg(format!("port={port}"));
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if let Some(stale) = PidFile::read(&cluster) {
            // The server believes a stale pid file if any process has that number; declared as its own
            // grandparent's it is ignored. Its other check, for processes of a killed server, stays in force.
            command.env("PG_GRANDPARENT_PID", stale.pid.as_raw_pid().to_string());
        }
        let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        let child = child.map_err(|source| EmbeddedPostgresError::Program { program, source })?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.expect("a child that was not waited for has an id");
        Ok(Self { pid, child: Some(child), cluster })
    }

    /// The server that an earlier process left running on this cluster.
    pub(super) fn left_running(cluster: &Path) -> Option<Self> {
        let pid = PidFile::read(cluster)?.pid;
        let cluster = cluster.to_path_buf();
        serves(pid, &cluster).then_some(Self { pid, child: None, cluster })
    }

    pub(super) fn lives(cluster: &Path) -> bool {
        PidFile::read(cluster).is_some_and(|file| serves(file.pid, cluster))
    }

    /// The port on which it accepts connections; `None` while it starts, recovers or stops.
    pub(super) fn ready_port(&self) -> Option<u16> {
        let file = PidFile::read(&self.cluster)?;
        (file.pid == self.pid && file.ready).then_some(file.port)
    }

    pub(super) fn is_alive(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => serves(self.pid, &self.cluster),
        }
    }

    /// Shuts the server down in order, and if that takes too long, at once.
    pub(super) async fn stop(mut self) -> EmbeddedResult<()> {
        for (signal, patience) in SHUTDOWNS {
            self.signal(signal);
            if self.ends_within(patience).await {
                return Ok(());
            }
            warn!(pid = self.pid.as_raw_pid(), ?signal, "postgresql takes too long to stop");
        }
        let seconds = SHUTDOWNS.iter().map(|(_, patience)| patience.as_secs()).sum();
        Err(EmbeddedPostgresError::NotStopped { pid: self.pid.as_raw_pid(), seconds })
    }

    async fn ends_within(&mut self, patience: Duration) -> bool {
        let asked = Instant::now();
        while self.is_alive() {
            if asked.elapsed() > patience {
                return false;
            }
            sleep(GLANCE).await;
        }
        true
    }

    fn signal(&mut self, signal: Signal) {
        if self.is_alive()
            && let Err(error) = kill_process(self.pid, signal)
        {
            warn!(pid = self.pid.as_raw_pid(), ?signal, %error, "could not signal postgresql");
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        self.signal(Signal::INT);
    }
}

/// Whether the process is a server on this cluster. A process that has ended but was not reaped is none.
fn serves(pid: Pid, cluster: &Path) -> bool {
    let command = command_line(pid).unwrap_or_default();
    format!("{} ", command.trim_end()).contains(&format!("/postgres -D {} ", cluster.display()))
}

fn command_line(pid: Pid) -> Option<String> {
    let pid = pid.as_raw_pid().to_string();
    let bytes = if Path::new("/proc/self/cmdline").exists() {
        fs::read(Path::new("/proc").join(pid).join("cmdline")).ok()?
    } else {
        Command::new("ps").args(["-ww", "-o", "command=", "-p", &pid]).output().ok()?.stdout
    };
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}

/// Opens the log for appending; one that has grown large makes room, and its predecessor goes.
fn open_log(path: &Path) -> EmbeddedResult<File> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LARGE_LOG) {
        fs::rename(path, path.with_added_extension("old")).map_err(files("rotate", path))?;
    }
    File::options().append(true).create(true).mode(0o600).open(path).map_err(files("open", path))
}
