//! The embedded server, with real processes: starts, restarts, crashes and refusals.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use vitrina::embedded_postgres::{EmbeddedPostgres, EmbeddedPostgresError, SearchPath};

const VICTIM_DIR: &str = "VITRINA_TEST_VICTIM_DIR";

/// A data directory that the server's account may enter, also if we are root.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let outer = tempfile::Builder::new().permissions(Permissions::from_mode(0o711)).tempdir();
        Self(outer.expect("a temporary directory"))
    }

    fn data_dir(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn cluster(&self) -> PathBuf {
        self.data_dir().join("postgres")
    }

    fn pid_file(&self) -> PathBuf {
        self.cluster().join("postmaster.pid")
    }

    async fn start(&self) -> EmbeddedPostgres {
        EmbeddedPostgres::start(&self.data_dir()).await.expect("the server starts")
    }

    async fn refusal(&self) -> EmbeddedPostgresError {
        EmbeddedPostgres::start(&self.data_dir()).await.expect_err("the server must not start")
    }

    fn pid(&self) -> u32 {
        let text = fs::read_to_string(self.pid_file()).expect("a pid file");
        text.lines().next().and_then(|line| line.parse().ok()).expect("a pid")
    }
}

async fn stop(server: EmbeddedPostgres) {
    server.stop().await.expect("the server stops");
}

async fn execute(server: &EmbeddedPostgres, sql: &'static str) {
    let mut connection = PgConnection::connect(&server.admin_url).await.expect("a connection");
    sqlx::query(sql).execute(&mut connection).await.expect("a statement that works");
    connection.close().await.expect("a clean end");
}

async fn ask(server: &EmbeddedPostgres, sql: &'static str) -> String {
    let mut connection = PgConnection::connect(&server.admin_url).await.expect("a connection");
    let answer = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("an answer");
    connection.close().await.expect("a clean end");
    answer
}

fn kill_hard(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a process to kill");
}

async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Another process that starts a server and then sleeps, to be killed.
fn victim(place: &Place) -> Child {
    Command::new(std::env::current_exe().expect("this test's program"))
        .args(["--exact", "a_victim_starts_a_server_and_waits", "--ignored"])
        .env(VICTIM_DIR, place.data_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a second process")
}

#[tokio::test]
#[ignore = "runs only inside the process that other tests kill"]
async fn a_victim_starts_a_server_and_waits() {
    let Some(data_dir) = std::env::var_os(VICTIM_DIR).map(PathBuf::from) else {
        return;
    };
    let server = EmbeddedPostgres::start(&data_dir).await.expect("the server starts");
    execute(&server, "create table kept as select 'from the victim' as word").await;
    fs::write(data_dir.join("started"), "").expect("a note");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_restart_keeps_the_data_the_port_and_the_passwords() {
    let place = Place::new();
    let server = place.start().await;
    let (admin_url, app_url) = (server.admin_url.clone(), server.app_url.clone());
    assert!(app_url.contains(&format!("vitrina_app:{}@127.0.0.1:", server.app_password)));
    execute(&server, "create table kept as select 'Ирония судьбы' as word").await;
    stop(server).await;
    assert!(!place.pid_file().exists(), "a clean stop leaves no pid file");

    let server = place.start().await;
    assert_eq!(server.admin_url, admin_url);
    assert_eq!(server.app_url, app_url);
    assert_eq!(ask(&server, "select upper(word) from kept").await, "ИРОНИЯ СУДЬБЫ");
    stop(server).await;
}

#[tokio::test]
async fn the_cluster_is_private_and_durable() {
    let place = Place::new();
    let server = place.start().await;
    assert_eq!(ask(&server, "show listen_addresses").await, "127.0.0.1");
    assert_eq!(ask(&server, "show unix_socket_directories").await, "");
    assert_eq!(ask(&server, "show fsync").await, "on");
    assert_eq!(ask(&server, "show data_checksums").await, "on");
    assert_eq!(ask(&server, "show server_encoding").await, "UTF8");
    assert_eq!(ask(&server, "select current_user || ' ' || current_database()").await, "vitrina_owner vitrina");
    for name in ["owner.password", "app.password", "postgres.log"] {
        let mode = fs::metadata(place.data_dir().join(name)).expect("a file").mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let port = ask(&server, "show port").await;
    let without_password = format!("postgres://vitrina_owner@127.0.0.1:{port}/vitrina?sslmode=disable");
    assert!(PgConnection::connect(&without_password).await.is_err());
    stop(server).await;
}

#[tokio::test]
async fn a_port_that_another_program_took_is_replaced() {
    let place = Place::new();
    let server = place.start().await;
    let first = ask(&server, "show port").await;
    stop(server).await;

    let port: u16 = first.parse().expect("a port");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free now");
    let server = place.start().await;
    assert_ne!(ask(&server, "show port").await, first);
    stop(server).await;
    drop(taken);
}

#[tokio::test]
async fn a_second_start_on_the_same_directory_is_refused_and_names_the_holder() {
    let place = Place::new();
    let server = place.start().await;
    let refusal = place.refusal().await;
    assert!(matches!(refusal, EmbeddedPostgresError::InUse { .. }), "{refusal}");
    assert!(refusal.to_string().contains(&format!("process {}", std::process::id())), "{refusal}");
    stop(server).await;
}

#[tokio::test]
async fn a_server_left_running_by_a_killed_process_is_adopted() {
    let place = Place::new();
    let mut process = victim(&place);
    until("the victim has a server", || place.data_dir().join("started").exists()).await;
    let pid = place.pid();
    process.kill().expect("a victim to kill");
    process.wait().expect("its end");

    let server = place.start().await;
    assert_eq!(place.pid(), pid, "the same server goes on");
    assert_eq!(ask(&server, "select word from kept").await, "from the victim");
    stop(server).await;
    assert!(!place.pid_file().exists(), "an adopted server is stopped like our own");
}

#[tokio::test]
async fn a_server_that_was_killed_too_is_started_anew() {
    let place = Place::new();
    let mut process = victim(&place);
    until("the victim has a server", || place.data_dir().join("started").exists()).await;
    process.kill().expect("a victim to kill");
    process.wait().expect("its end");
    kill_hard(place.pid());

    let server = place.start().await;
    assert_eq!(ask(&server, "select word from kept").await, "from the victim");
    stop(server).await;
}

#[tokio::test]
async fn a_stale_pid_file_whose_number_belongs_to_another_process_now_is_no_obstacle() {
    let place = Place::new();
    stop(place.start().await).await;
    let owner = fs::metadata(place.cluster()).expect("a cluster");
    let mut stranger = Command::new("sleep");
    stranger.arg("120");
    if rustix::process::geteuid().is_root() {
        use std::os::unix::process::CommandExt;
        stranger.uid(owner.uid()).gid(owner.gid());
    }
    let mut stranger = stranger.spawn().expect("a process");
    let stale = format!("{}\n{}\n1700000000\n5432\n\n\n", stranger.id(), place.cluster().display());
    fs::write(place.pid_file(), stale).expect("a stale pid file");
    chown(place.pid_file(), Some(owner.uid()), Some(owner.gid())).expect("the server's pid file");
    fs::set_permissions(place.pid_file(), Permissions::from_mode(0o600)).expect("its rights");

    let server = place.start().await;
    assert_ne!(place.pid(), stranger.id());
    assert!(matches!(stranger.try_wait(), Ok(None)), "the stranger was left alone");
    stop(server).await;
    stranger.kill().expect("the stranger to end");
    stranger.wait().expect("its end");
}

#[tokio::test]
async fn a_dropped_server_ends_and_the_next_start_waits_for_that() {
    let place = Place::new();
    let server = place.start().await;
    execute(&server, "create table kept as select 'before the drop' as word").await;
    drop(server);
    let server = place.start().await;
    assert_eq!(ask(&server, "select word from kept").await, "before the drop");
    stop(server).await;
}

#[tokio::test]
async fn a_creation_that_was_killed_is_repaired() {
    let place = Place::new();
    let mut process = victim(&place);
    until("initdb is at work", || unfinished_in(&place.data_dir()).is_some()).await;
    process.kill().expect("a victim to kill");
    process.wait().expect("its end");
    assert!(!place.cluster().exists(), "what is unfinished is not in the cluster's place");

    let server = place.start().await;
    assert_eq!(ask(&server, "select 'works'").await, "works");
    stop(server).await;
    until("the remains are gone", || {
        let Some(remains) = unfinished_in(&place.data_dir()) else {
            return true;
        };
        fs::remove_dir_all(remains).is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_directory_that_is_no_complete_cluster_is_set_aside_not_deleted() {
    let place = Place::new();
    fs::create_dir_all(place.cluster().join("base")).expect("a half-made cluster");
    fs::write(place.cluster().join("PG_VERSION"), "99\n").expect("its version");
    fs::set_permissions(place.data_dir(), Permissions::from_mode(0o711)).expect("its rights");
    stop(place.start().await).await;
    let names: Vec<String> = names_in(&place.data_dir()).collect();
    assert!(names.iter().any(|name| name.starts_with("postgres.incomplete-")), "{names:?}");
}

#[tokio::test]
async fn a_cluster_of_a_version_that_is_not_installed_is_refused() {
    let place = Place::new();
    stop(place.start().await).await;
    fs::write(place.cluster().join("PG_VERSION"), "99\n").expect("another version");
    let refusal = place.refusal().await.to_string();
    assert!(refusal.contains("made by PostgreSQL 99"), "{refusal}");
    assert!(refusal.contains("apt-get install postgresql-99"), "{refusal}");
}

#[tokio::test]
async fn without_postgresql_the_error_says_what_to_install() {
    let place = Place::new();
    let nowhere = SearchPath::only(vec![place.0.path().to_path_buf()]);
    let refusal = EmbeddedPostgres::start_with(&place.data_dir(), &nowhere).await.expect_err("nothing to start");
    let refusal = refusal.to_string();
    for advice in ["apt-get install postgresql", "scripts/setup", "DATABASE_URL"] {
        assert!(refusal.contains(advice), "{refusal}");
    }
}

#[tokio::test]
async fn a_lost_password_is_named() {
    let place = Place::new();
    stop(place.start().await).await;
    let file = place.data_dir().join("owner.password");
    for damage in [|file: &Path| fs::write(file, "wrong"), |file: &Path| fs::remove_file(file)] {
        damage(&file).expect("the damage");
        let refusal = place.refusal().await.to_string();
        assert!(refusal.contains(&file.display().to_string()), "{refusal}");
    }
    until("the server that did not let us in has ended", || !place.pid_file().exists()).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_is_quoted() {
    let place = Place::new();
    stop(place.start().await).await;
    fs::write(place.cluster().join("postgresql.auto.conf"), "no_such_setting = 1\n").expect("a broken setting");
    let refusal = place.refusal().await.to_string();
    assert!(refusal.contains("no_such_setting"), "{refusal}");
    assert!(refusal.contains("postgres.log"), "{refusal}");
}

#[tokio::test]
async fn root_steps_down() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let server = place.start().await;
    let process = fs::metadata(format!("/proc/{}", place.pid())).expect("the server's process");
    assert_ne!(process.uid(), 0, "the server does not run as root");
    assert_eq!(process.uid(), fs::metadata(place.cluster()).expect("the cluster").uid());
    stop(server).await;
}

#[tokio::test]
async fn a_directory_that_the_servers_account_may_not_enter_gets_its_cluster_elsewhere() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.0.path(), Permissions::from_mode(0o700)).expect("a closed directory");
    let server = place.start().await;
    let cluster = ask(&server, "show data_directory").await;
    assert!(cluster.starts_with("/var/lib/vitrina/"), "{cluster}");
    let note = fs::read_to_string(place.data_dir().join("postgres.elsewhere")).expect("a note");
    let home = Path::new(&cluster).parent().expect("the cluster's home");
    assert!(note.contains(&home.display().to_string()), "{note}");
    stop(server).await;

    let server = place.start().await;
    assert_eq!(ask(&server, "show data_directory").await, cluster);
    stop(server).await;

    // Removing the data directory asks for a new database.
    fs::remove_dir_all(place.data_dir()).expect("the data directory is removed");
    let server = place.start().await;
    let other = ask(&server, "show data_directory").await;
    assert_ne!(other, cluster);
    stop(server).await;
    for cluster in [&other, &cluster] {
        fs::remove_dir_all(Path::new(cluster).parent().expect("the cluster's home")).expect("the home is removed");
    }
}

fn names_in(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn unfinished_in(directory: &Path) -> Option<PathBuf> {
    let name = names_in(directory).find(|name| name.starts_with("postgres.new-"))?;
    Some(directory.join(name))
}
