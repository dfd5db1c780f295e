//! The account that runs the server: our own, or, since PostgreSQL refuses root, one that root steps down to.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use super::error::{EmbeddedPostgresError, EmbeddedResult, files};
use super::files::CONTROL_FILE;

/// Whose rights the server runs with.
#[derive(Debug, Clone)]
pub(super) enum Account {
    /// We are an ordinary user, and so is the server.
    Ours,
    /// We are root, and the server is this account.
    Lesser { name: String, uid: u32, gid: u32 },
}

impl Account {
    /// The owner of the cluster if there is one; else, for root, `postgres` or `nobody`.
    pub(super) fn for_cluster(cluster: &Path) -> EmbeddedResult<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ours);
        }
        let usual = ["postgres", "nobody"].iter().find_map(|name| Self::named(name));
        let usual = usual.ok_or(EmbeddedPostgresError::NoAccount)?;
        match fs::metadata(cluster.join(CONTROL_FILE)) {
            Err(_) => Ok(usual),
            Ok(owner) if owner.uid() != 0 => Ok(Self::owner(owner.uid(), owner.gid())),
            Ok(_) => {
                Err(EmbeddedPostgresError::OwnedByRoot { cluster: cluster.to_path_buf(), account: usual.to_string() })
            }
        }
    }

    fn owner(uid: u32, gid: u32) -> Self {
        Self::Lesser { name: format!("uid {uid}"), uid, gid }
    }

    fn named(name: &str) -> Option<Self> {
        let (uid, gid) = (id(&["-u", name])?, id(&["-g", name])?);
        Some(Self::Lesser { name: name.to_owned(), uid, gid })
    }

    /// A command that will run as this account, out of reach of the terminal's Ctrl-C, in a directory that
    /// every account may enter, with messages in English, since we read them.
    pub(super) fn command(&self, program: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        command.process_group(0).current_dir("/").env("LC_ALL", "C");
        if let Self::Lesser { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
        command
    }

    pub(super) fn take_over(&self, path: &Path) -> EmbeddedResult<()> {
        match self {
            Self::Ours => Ok(()),
            Self::Lesser { uid, gid, .. } => {
                chown(path, Some(*uid), Some(*gid)).map_err(files("change the owner of", path))
            }
        }
    }

    /// Whether this account may enter the directory, and so all those above it.
    pub(super) async fn may_enter(&self, directory: &Path) -> bool {
        match self {
            Self::Ours => true,
            Self::Lesser { .. } => {
                let status = self.command(Path::new("test")).arg("-x").arg(directory).status().await;
                status.is_ok_and(|status| status.success())
            }
        }
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ours => f.write_str("your account"),
            Self::Lesser { name, .. } => f.write_str(name),
        }
    }
}

/// The output of `id`, which knows accounts of all sources, not only of `/etc/passwd`.
fn id(arguments: &[&str]) -> Option<u32> {
    let answer = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(answer.stdout).ok()?.trim().parse().ok()
}
