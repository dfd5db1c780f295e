//! A PostgreSQL server of its own, which a test may restart.

use std::{
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A server in a directory of its own, stopped and removed when dropped.
pub struct Cluster {
    directory: TempDir,
    programs: PathBuf,
    port: u16,
    /// PostgreSQL refuses to run as root.
    account: Option<(u32, u32)>,
}

impl Cluster {
    /// Makes a cluster and starts its server.
    pub fn start() -> Self {
        let (directory, account) = directory();
        let cluster = Self { directory, programs: programs(), port: free_port(), account };
        cluster.call("initdb", &["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        cluster.up();
        cluster
    }

    /// Makes a replica of this server as it is now. It is not started yet.
    pub fn replica(&self) -> Self {
        let (directory, account) = directory();
        let replica = Self { directory, programs: self.programs.clone(), port: free_port(), account };
        let data = replica.directory.path().join("data");
        replica.call(
            "pg_basebackup",
            &["--dbname", &self.url(), "--pgdata", data.to_str().unwrap(), "--checkpoint=fast", "--no-sync", "-R"],
        );
        replica
    }

    /// Lets a replica take over.
    pub fn promote(&self) {
        self.call("pg_ctl", &["promote", "--wait", "--silent"]);
    }

    /// Starts the server and waits until it answers.
    pub fn up(&self) {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=60 -c fsync=off \
             -c max_prepared_transactions=4",
            self.port
        );
        let log = self.directory.path().join("log");
        self.call("pg_ctl", &["start", "--wait", "--silent", "-l", log.to_str().unwrap(), "-o", &options]);
    }

    /// Stops the server, `fast` or `immediate`.
    pub fn down(&self, mode: &str) {
        self.call("pg_ctl", &["stop", "--wait", "--silent", "--mode", mode]);
    }

    /// The address of the superuser.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Calls one of PostgreSQL's programs and waits for its success.
    pub fn call(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program, arguments).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command
            .args(arguments)
            .env("PGDATA", self.directory.path().join("data"))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.command("pg_ctl", &["stop", "--wait", "--silent", "--mode", "immediate"]).status());
    }
}

/// A directory for the account that the server runs as.
fn directory() -> (TempDir, Option<(u32, u32)>) {
    let directory = tempfile::Builder::new().prefix("vitrina-cluster-").tempdir_in("/tmp").unwrap();
    let account = rustix::process::geteuid().is_root().then(unprivileged_account);
    if let Some((user, group)) = account {
        chown(directory.path(), Some(user), Some(group)).unwrap();
    }
    (directory, account)
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Where `scripts/with-postgres` found the programs, or where packages put them.
fn programs() -> PathBuf {
    if let Some(directory) = std::env::var_os("VITRINA_TEST_PG_BIN") {
        return directory.into();
    }
    let mut versions: Vec<_> = Path::new("/usr/lib/postgresql")
        .read_dir()
        .expect("PostgreSQL is installed; else set VITRINA_TEST_PG_BIN")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .collect();
    versions.sort_unstable();
    format!("/usr/lib/postgresql/{}/bin", versions.last().expect("a version of PostgreSQL")).into()
}

fn unprivileged_account() -> (u32, u32) {
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let mut fields =
            accounts.lines().map(|line| line.split(':')).find(|fields| fields.clone().next() == Some(name))?;
        Some((fields.nth(2)?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody")).expect("an account that is not root")
}
