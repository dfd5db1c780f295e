//! Creating the cluster: in a directory of its own that is renamed when complete, so that a killed attempt can never
//! be mistaken for a database.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tracing::{info, warn};
use uuid::Uuid;

use super::error::{EmbeddedPostgresError, EmbeddedResult, files};
use super::files::{is_cluster, last_lines, sync_directory, write_whole};
use super::home::ServerFiles;
use super::installation::Installation;

/// The superuser of every embedded cluster.
pub(super) const OWNER: &str = "vitrina_owner";

const UNFINISHED: &str = "postgres.new-";

pub(super) fn exists(home: &ServerFiles) -> bool {
    is_cluster(&home.cluster())
}

/// Removes what killed attempts left, and sets aside a directory that stands in the cluster's place but is none.
pub(super) fn tidy(home: &ServerFiles) -> EmbeddedResult<()> {
    let entries = fs::read_dir(&home.directory).map_err(files("list", &home.directory))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            info!(path = %entry.path().display(), "removing an unfinished database");
            remove(&entry.path());
        }
    }
    if home.cluster().exists() && !exists(home) {
        set_aside(&home.cluster())?;
    }
    Ok(())
}

/// Runs `initdb` and puts the result in its place.
pub(super) async fn create(home: &ServerFiles, installation: &Installation, password: &str) -> EmbeddedResult<()> {
    let unfinished = home.directory.join(format!("{UNFINISHED}{}", Uuid::new_v4().simple()));
    info!(path = %home.cluster().display(), "creating a database");
    DirBuilder::new().mode(0o700).create(&unfinished).map_err(files("create", &unfinished))?;
    let finished = init(home, installation, &unfinished, password).await;
    remove(&unfinished);
    finished?;
    sync_directory(&home.directory)
}

async fn init(
    home: &ServerFiles,
    installation: &Installation,
    unfinished: &Path,
    password: &str,
) -> EmbeddedResult<()> {
    let (data, secret) = (unfinished.join("data"), unfinished.join("password"));
    write_whole(&secret, password)?;
    home.account.take_over(&secret)?;
    home.account.take_over(unfinished)?;
    let output = run_initdb(home, installation, &data, &secret).await?;
    if !output.status.success() {
        let output = last_lines(&[output.stdout, output.stderr].concat());
        return Err(EmbeddedPostgresError::Init { directory: home.directory.clone(), output });
    }
    fs::rename(&data, home.cluster()).map_err(files("create", &home.cluster()))
}

/// Text sorts by code point, everywhere the same, and still knows the letters of all alphabets.
async fn run_initdb(
    home: &ServerFiles,
    installation: &Installation,
    data: &Path,
    secret: &Path,
) -> EmbeddedResult<Output> {
    let program = installation.program("initdb");
    let mut command = home.account.command(&program);
    command
        .args(["--username", OWNER, "--auth", "scram-sha-256", "--data-checksums"])
        .args(["--encoding", "UTF8", "--locale", "C", "--lc-ctype", letters()])
        .arg("--pwfile")
        .arg(secret)
        .arg("--pgdata")
        .arg(data)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.output().await.map_err(|source| EmbeddedPostgresError::Program { program, source })
}

/// The locale that tells letters from other characters.
fn letters() -> &'static str {
    let known = Command::new("locale").arg("-a").output().map(|answer| answer.stdout).unwrap_or_default();
    let has_unicode = String::from_utf8_lossy(&known)
        .lines()
        .any(|name| name.eq_ignore_ascii_case("C.UTF-8") || name.eq_ignore_ascii_case("C.utf8"));
    if has_unicode { "C.UTF-8" } else { "C" }
}

/// An unfinished cluster that cannot be removed now will be on the next start.
fn remove(unfinished: &Path) {
    if let Err(error) = fs::remove_dir_all(unfinished) {
        warn!(path = %unfinished.display(), %error, "could not remove an unfinished database");
    }
}

fn set_aside(directory: &Path) -> EmbeddedResult<()> {
    let aside = directory.with_added_extension(format!("incomplete-{}", Uuid::new_v4().simple()));
    fs::rename(directory, &aside).map_err(files("move away", directory))?;
    warn!(path = %aside.display(), "set aside a directory that is no complete database");
    Ok(())
}
