//! Where the files of one embedded server live.
//!
//! | file | what |
//! |---|---|
//! | `postgres/` | the cluster; appears only when it is complete |
//! | `postgres.new-*/` | a cluster in the making, or the remains of a killed attempt |
//! | `postgres.port` | the port used last |
//! | `owner.password`, `app.password` | secrets, readable by us only |
//! | `vitrina.lock` | locked while a process uses all this |
//! | `postgres.log` | what the server says; always in the data directory |
//! | `postgres.elsewhere` | in the data directory, if all the others are in `/var/lib/vitrina` |
//!
//! They are elsewhere where root has stepped down to an account that may not enter the data directory, as in a clone
//! below `/root`.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::account::Account;
use super::error::{EmbeddedPostgresError, EmbeddedResult, files};
use super::files::is_cluster;

const ELSEWHERE: &str = "/var/lib/vitrina";

/// The directories of one embedded server and the account that runs it.
#[derive(Debug)]
pub(super) struct ServerFiles {
    pub(super) data_dir: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) account: Account,
}

impl ServerFiles {
    /// Creates the data directory if need be and decides where the cluster is or will be.
    pub(super) async fn open(data_dir: &Path) -> EmbeddedResult<Self> {
        let data_dir = create_data_dir(data_dir)?;
        let here = data_dir.join("postgres");
        let account = Account::for_cluster(&here)?;
        let may_enter = account.may_enter(&data_dir).await;
        if is_cluster(&here) && !may_enter {
            return Err(EmbeddedPostgresError::NotEntered { cluster: here, account: account.to_string() });
        }
        if let Some(directory) = noted_elsewhere(&data_dir) {
            let account = Account::for_cluster(&directory.join("postgres"))?;
            return Ok(Self { data_dir, directory, account });
        }
        let directory = if may_enter { data_dir.clone() } else { use_system_directory(&data_dir, &account)? };
        Ok(Self { data_dir, directory, account })
    }

    pub(super) fn cluster(&self) -> PathBuf {
        self.directory.join("postgres")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.data_dir.join("postgres.log")
    }

    pub(super) fn owner_password(&self) -> PathBuf {
        self.directory.join("owner.password")
    }

    pub(super) fn app_password(&self) -> PathBuf {
        self.directory.join("app.password")
    }

    pub(super) fn port(&self) -> PathBuf {
        self.directory.join("postgres.port")
    }
}

/// Creates the directory so that only its owner can list it, and makes its path absolute.
fn create_data_dir(data_dir: &Path) -> EmbeddedResult<PathBuf> {
    if !data_dir.exists() {
        create_enterable(data_dir)?;
    }
    fs::canonicalize(data_dir).map_err(files("open", data_dir))
}

/// Independent of the umask: a server that runs as another account must be able to enter.
fn create_enterable(directory: &Path) -> EmbeddedResult<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o755).create(directory).map_err(files("create", directory))?;
    fs::set_permissions(directory, Permissions::from_mode(0o711)).map_err(files("set the rights of", directory))
}

/// What an earlier start noted in the data directory, unless a cluster has come here since.
pub(super) fn noted_elsewhere(data_dir: &Path) -> Option<PathBuf> {
    if is_cluster(&data_dir.join("postgres")) {
        return None;
    }
    let note = fs::read_to_string(data_dir.join("postgres.elsewhere")).ok()?;
    let directory = note.lines().map(Path::new).find(|line| line.starts_with(ELSEWHERE))?;
    directory.is_dir().then(|| directory.to_path_buf())
}

/// A new directory each time: who removes the data directory removes the database, and does not find it again.
fn use_system_directory(data_dir: &Path, account: &Account) -> EmbeddedResult<PathBuf> {
    let parent = Path::new(ELSEWHERE);
    let directory = parent.join(Uuid::new_v4().simple().to_string());
    create_enterable(parent)?;
    create_enterable(&directory)?;
    let note = format!(
        "The database of this directory is in\n{}\nsince the account {account}, which runs it, may not enter here. Remove both \
         together.\n",
        directory.display()
    );
    let file = data_dir.join("postgres.elsewhere");
    fs::write(&file, note).map_err(files("write", &file))?;
    // Of two processes that start at once, both use the directory that was noted last.
    Ok(noted_elsewhere(data_dir).unwrap_or(directory))
}
