//! A private PostgreSQL in a directory of ours, for users without a server.
//!
//! lock the directory → find the programs → create the cluster once → adopt or start the server → create the database.
//!
//! The server lives as long as [`EmbeddedPostgres`] does: it listens on 127.0.0.1 only, keeps its port from start to
//! start where it can, never runs as root, and does not see the terminal's Ctrl-C, so that we end it in order. A
//! vitrina that was killed leaves it running; the next one adopts it.

mod account;
mod cluster;
mod error;
mod files;
mod home;
mod installation;
mod launch;
mod lock;
mod pid_file;
mod postmaster;
mod running;

use std::path::Path;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::timeout;
use tracing::info;

pub use self::error::EmbeddedPostgresError;
pub use self::installation::SearchPath;
pub use self::running::{Running, running};

use self::cluster::OWNER;
use self::error::EmbeddedResult;
use self::files::{read_or_create_password, read_password};
use self::home::ServerFiles;
use self::lock::Lock;
use self::postmaster::Postmaster;

const DATABASE: &str = "vitrina";
const APP: &str = "vitrina_app";
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const WRONG_PASSWORD: &str = "28P01";

/// A running server of our own. Dropping it asks the server to shut down; [`stop`](Self::stop) also waits for it.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    /// The database as its owner `vitrina_owner`, a superuser: for migrations.
    pub admin_url: String,
    /// The database as `vitrina_app`, the services' account. Migrations create it; the caller that applied them gives it
    /// the [`app_password`](Self::app_password).
    pub app_url: String,
    /// The password in [`app_url`](Self::app_url): letters and digits.
    pub app_password: String,
    postmaster: Postmaster,
    _lock: Lock,
}

impl EmbeddedPostgres {
    /// Starts the server of this directory, creating both if need be, with the PostgreSQL that is installed.
    pub async fn start(data_dir: &Path) -> EmbeddedResult<Self> {
        Self::start_with(data_dir, &SearchPath::usual()).await
    }

    /// Like [`start`](Self::start), with the programs found in these directories.
    pub async fn start_with(data_dir: &Path, programs: &SearchPath) -> EmbeddedResult<Self> {
        let home = ServerFiles::open(data_dir).await?;
        let lock = Lock::take(&home)?;
        cluster::tidy(&home)?;
        let installation = programs.find(&home.cluster())?;
        let owner_password = if cluster::exists(&home) {
            read_password(&home.owner_password())?.ok_or_else(|| wrong_password(&home))?
        } else {
            let password = read_or_create_password(&home.owner_password())?;
            cluster::create(&home, &installation, &password).await?;
            password
        };
        let app_password = read_or_create_password(&home.app_password())?;
        let (postmaster, port) = launch::adopt_or_start(&home, &installation).await?;
        create_database(&home, port, &owner_password).await?;
        info!(port, cluster = %home.cluster().display(), "embedded postgresql is ready");
        Ok(Self {
            postmaster,
            admin_url: url(OWNER, &owner_password, port, DATABASE),
            app_url: url(APP, &app_password, port, DATABASE),
            app_password,
            _lock: lock,
        })
    }

    /// Shuts the server down and waits until it has ended: in order, and if that takes too long, at once.
    pub async fn stop(self) -> EmbeddedResult<()> {
        self.postmaster.stop().await
    }
}

/// Connection options, independent of an exported `PGSSLMODE`.
fn url(account: &str, password: &str, port: u16, database: &str) -> String {
    format!("postgres://{account}:{password}@127.0.0.1:{port}/{database}?sslmode=disable")
}

async fn create_database(home: &ServerFiles, port: u16, password: &str) -> EmbeddedResult<()> {
    let refused = |action| {
        let log = home.log();
        move |source| EmbeddedPostgresError::Refused { action, port, log, source }
    };
    let mut connection = match connect(&url(OWNER, password, port, "postgres")).await {
        Ok(connection) => connection,
        Err(error) if is_wrong_password(&error) => return Err(wrong_password(home)),
        Err(error) => return Err(refused("accept our connection")(error)),
    };
    let exists = sqlx::query("select from pg_database where datname = $1")
        .bind(DATABASE)
        .fetch_optional(&mut connection)
        .await
        .map_err(refused("list its databases"))?
        .is_some();
    if !exists {
        let create = sqlx::query("create database vitrina").execute(&mut connection).await;
        create.map_err(refused("create a database"))?;
    }
    connection.close().await.map_err(refused("close our connection"))
}

async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    match timeout(ANSWERS_WITHIN, options.connect()).await {
        Ok(answer) => answer,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

fn is_wrong_password(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|answer| answer.code()).is_some_and(|code| code == WRONG_PASSWORD)
}

fn wrong_password(home: &ServerFiles) -> EmbeddedPostgresError {
    EmbeddedPostgresError::Password { file: home.owner_password(), cluster: home.cluster() }
}
