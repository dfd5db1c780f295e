//! What can go wrong with the embedded server, each as a sentence that says what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why the embedded PostgreSQL could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedPostgresError {
    #[error(
        "PostgreSQL is not installed here: install it with `apt-get install postgresql`, run scripts/setup, \
         or set DATABASE_URL to a server that you already have"
    )]
    NotInstalled,
    #[error(
        "the database in {} was made by PostgreSQL {wanted}, but here is only {found}: install it with \
         `apt-get install postgresql-{wanted}`, or choose another --data-dir",
        cluster.display()
    )]
    OtherVersion { cluster: PathBuf, wanted: u32, found: String },
    #[error(
        "{} is already in use by {holder}: stop it, or choose another --data-dir",
        data_dir.display()
    )]
    InUse { data_dir: PathBuf, holder: String },
    #[error("could not {action} {}: {source}; {}", path.display(), advice_for(source))]
    Files { action: &'static str, path: PathBuf, source: io::Error },
    #[error("could not run {}: {source}; reinstall PostgreSQL, or set DATABASE_URL", program.display())]
    Program { program: PathBuf, source: io::Error },
    #[error(
        "PostgreSQL does not run as root and there is neither an account `postgres` nor `nobody`: create one \
         with `useradd --system postgres`, or run as an ordinary user"
    )]
    NoAccount,
    #[error(
        "the database in {0} belongs to root, as which PostgreSQL does not run: give it away with \
         `chown -R {account} {0}`",
        cluster.display()
    )]
    OwnedByRoot { cluster: PathBuf, account: String },
    #[error(
        "{account} runs the database in {} but may not enter that directory: give the directories above it \
         the right `x` with chmod, or move it elsewhere and use --data-dir",
        cluster.display()
    )]
    NotEntered { cluster: PathBuf, account: String },
    #[error("could not create a database in {}: {}\n{output}", directory.display(), advice_about(output))]
    Init { directory: PathBuf, output: String },
    #[error(
        "the password of the database is missing or wrong in {0}: restore that file, or move {1} away to start \
         with an empty database",
        file.display(), cluster.display()
    )]
    Password { file: PathBuf, cluster: PathBuf },
    #[error("PostgreSQL ended while starting: {}; the end of {}:\n{tail}", advice_about(tail), log.display())]
    Ended { log: PathBuf, tail: String },
    #[error("found no free port on 127.0.0.1 for PostgreSQL: {source}; stop what takes them all, or set DATABASE_URL")]
    Port { source: io::Error },
    #[error("PostgreSQL was not ready within {seconds} s; the end of {}:\n{tail}", log.display())]
    NotReady { seconds: u64, log: PathBuf, tail: String },
    #[error("PostgreSQL on port {port} refused to {action}: {source}; see {}", log.display())]
    Refused { action: &'static str, port: u16, log: PathBuf, source: sqlx::Error },
    #[error("PostgreSQL (process {pid}) did not stop within {seconds} s: look for what holds it, then kill it")]
    NotStopped { pid: i32, seconds: u64 },
}

pub(super) type EmbeddedResult<T> = Result<T, EmbeddedPostgresError>;

/// Gives an I/O error its path: `fs::read(p).map_err(files("read", p))`.
pub(super) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EmbeddedPostgresError {
    let path = path.to_path_buf();
    move |source| EmbeddedPostgresError::Files { action, path, source }
}

fn advice_for(error: &io::Error) -> &'static str {
    use io::ErrorKind::{OutOfMemory, PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let kind = error.kind();
    let remedy = [
        (StorageFull, FREE_SPACE),
        (PermissionDenied, BE_OWNER),
        (ReadOnlyFilesystem, WRITABLE),
        (OutOfMemory, FREE_MEMORY),
    ];
    remedy
        .iter()
        .find(|(trouble, _)| *trouble == kind)
        .map_or("check the directory, or choose another --data-dir", |found| found.1)
}

const FREE_SPACE: &str = "free some space on that disk, or choose another --data-dir";
const BE_OWNER: &str = "run as the owner of that directory, or choose another --data-dir";
const WRITABLE: &str = "choose another --data-dir, on a disk that can be written";
const FREE_MEMORY: &str = "free some memory";

/// What to do about the troubles that a server's output names and that have a plain remedy.
fn advice_about(output: &str) -> &'static str {
    const REMEDIES: [(&str, &str); 8] = [
        ("Check free disk space", FREE_SPACE),
        ("No space left on device", FREE_SPACE),
        ("Permission denied", BE_OWNER),
        ("Read-only file system", WRITABLE),
        ("could not create shared memory", "raise the system's limit of shared memory (/dev/shm in containers)"),
        ("Cannot allocate memory", FREE_MEMORY),
        ("Address already in use", "other programs took every port that was tried; try again"),
        ("is still in use", "processes of a killed server still work on this database; try again when they ended"),
    ];
    let remedy = REMEDIES.iter().find(|(symptom, _)| output.contains(symptom));
    remedy.map_or("its own words follow", |(_, remedy)| remedy)
}
