//! Finding the programs of PostgreSQL on this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{EmbeddedPostgresError, EmbeddedResult};

/// Directories in which `initdb` and `postgres` are looked for, the preferred ones first.
#[derive(Debug, Clone)]
pub struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    /// `PATH`, what `pg_config` says, then where the usual packages install, newest versions first.
    pub fn usual() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut directories: Vec<PathBuf> = env::split_paths(&path).collect();
        directories.extend(directory_of_pg_config());
        directories.extend(versions_in("/usr/lib/postgresql", ""));
        directories.extend(versions_in("/usr", "pgsql-"));
        directories.push("/usr/local/pgsql/bin".into());
        for homebrew in ["/opt/homebrew/opt", "/usr/local/opt"] {
            directories.extend(versions_in(homebrew, "postgresql@"));
            directories.push(Path::new(homebrew).join("postgresql/bin"));
        }
        Self(directories)
    }

    pub fn only(directories: Vec<PathBuf>) -> Self {
        Self(directories)
    }

    /// The preferred installation, or for an existing cluster the one of its major version.
    pub(super) fn find(&self, cluster: &Path) -> EmbeddedResult<Installation> {
        let mut installations = self.0.iter().filter_map(|directory| Installation::in_directory(directory));
        let Some(wanted) = version_of_cluster(cluster) else {
            return installations.next().ok_or(EmbeddedPostgresError::NotInstalled);
        };
        let mut found = Vec::new();
        for installation in installations {
            if installation.major == wanted {
                return Ok(installation);
            }
            found.push(format!("PostgreSQL {}", installation.major));
        }
        found.dedup();
        if found.is_empty() {
            return Err(EmbeddedPostgresError::NotInstalled);
        }
        let (cluster, found) = (cluster.to_path_buf(), found.join(", "));
        Err(EmbeddedPostgresError::OtherVersion { cluster, wanted, found })
    }
}

#[derive(Debug)]
pub(super) struct Installation {
    bin: PathBuf,
    major: u32,
}

impl Installation {
    /// `None` unless both programs are there and work.
    fn in_directory(directory: &Path) -> Option<Self> {
        let bin = fs::canonicalize(directory).ok()?;
        if !bin.join("initdb").is_file() {
            return None;
        }
        let version = Command::new(bin.join("postgres")).arg("--version").output().ok()?;
        let major = major_in(&String::from_utf8_lossy(&version.stdout))?;
        Some(Self { bin, major })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// Reads the major version out of `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_in(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("(PostgreSQL) ")?;
    leading_number(number)
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The major version in the cluster's `PG_VERSION`; `None` if there is no cluster yet.
fn version_of_cluster(cluster: &Path) -> Option<u32> {
    leading_number(&fs::read_to_string(cluster.join("PG_VERSION")).ok()?)
}

fn directory_of_pg_config() -> Option<PathBuf> {
    let answer = Command::new("pg_config").arg("--bindir").output().ok()?;
    let directory = String::from_utf8(answer.stdout).ok()?;
    Some(PathBuf::from(directory.trim()))
}

/// `parent/<prefix><version>/bin`, the newest version first.
fn versions_in(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = leading_number(name.strip_prefix(prefix)?)?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, bin)| bin).collect()
}

#[cfg(test)]
mod tests {
    use super::major_in;

    #[test]
    fn the_major_version_is_read_from_releases_and_betas() {
        assert_eq!(major_in("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_in("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_in("something else"), None);
    }
}
