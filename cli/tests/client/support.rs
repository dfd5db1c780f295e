//! An API and a worker of their own for every test, and the program under test.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use vitrina_shared::{migrate, testing::TestDatabase};

/// Nothing here takes longer, unless it is broken.
pub const SOON: Duration = Duration::from_secs(120);

const CINEMA: &str = "
    create schema content;
    create schema ugc;
    create table content.genre (id uuid primary key, name text not null, modified timestamptz not null);
    insert into content.genre
    select md5(n::text)::uuid, 'Genre ' || n, '2026-01-01'::timestamptz + n * interval '1 second'
    from generate_series(1, 5) n;
    create table content.big (id bigint primary key, modified timestamptz not null);
    insert into content.big select n, '2026-01-01'::timestamptz + n * interval '1 second' from generate_series(1, 300) n;
    create table analytics.big (id bigint primary key, modified timestamptz);
    insert into etl.etl_targets (target, key) values ('analytics.big', '{id}');
    create table ugc.ratings (id bigint primary key);
";

/// A deployment, ended with the test.
pub struct Deployment {
    services: Vec<Child>,
    pub addr: SocketAddr,
    pub directory: TempDir,
    pub db: TestDatabase,
}

impl Deployment {
    /// An API that asks for no token, and a worker.
    pub async fn start() -> Self {
        let mut deployment = Self::api(&[]).await;
        deployment.spawn("worker", &[("VITRINA_METRICS_ADDR", "127.0.0.1:0")]);
        deployment
    }

    /// An API alone, with these settings.
    pub async fn api(settings: &[(&str, &str)]) -> Self {
        let db = TestDatabase::create().await;
        sqlx::raw_sql(CINEMA).execute(db.admin()).await.unwrap();
        migrate::migrate(db.admin(), &["content".to_owned(), "ugc".to_owned()]).await.unwrap();
        let addr = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let directory = TempDir::new().unwrap();
        let mut deployment = Self { services: Vec::new(), addr, directory, db };
        deployment.spawn_api(settings).await;
        deployment
    }

    async fn spawn_api(&mut self, settings: &[(&str, &str)]) {
        let addr = self.addr.to_string();
        let base = [("VITRINA_ADDR", addr.as_str()), ("VITRINA_CREATE_TARGETS", "true")];
        self.spawn("api", &[&base, settings].concat());
        eventually("the API is ready", || std::net::TcpStream::connect(self.addr).is_ok()).await;
    }

    /// Kills the API, and starts it anew at the same address.
    pub async fn restart_api(&mut self) {
        let mut api = self.services.remove(0);
        api.kill().unwrap();
        api.wait().unwrap();
        self.spawn_api(&[]).await;
    }

    /// Starts a service with these settings, which win over the usual ones.
    pub fn spawn(&mut self, service: &str, settings: &[(&str, &str)]) {
        let mut command = program();
        command.arg(service).env("DATABASE_URL", self.db.url()).env("VITRINA_LOG", "warn");
        command.envs(settings.iter().copied()).stdout(Stdio::null()).stderr(Stdio::null());
        self.services.push(command.spawn().unwrap());
    }

    /// The program, told where this API is.
    pub fn vitrina(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.args(arguments).env("VITRINA_URL", format!("http://{}", self.addr));
        command.current_dir(self.directory.path());
        command
    }

    /// What the program prints when all goes well.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.vitrina(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The JSON that the program prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.prints(&[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"))
    }

    /// Keeps runs of the pipeline `big` in their first batch until this transaction ends.
    pub async fn hold(&self) -> sqlx::Transaction<'static, sqlx::Postgres> {
        let mut held = self.db.admin().begin().await.unwrap();
        sqlx::raw_sql("lock table analytics.big in exclusive mode").execute(&mut *held).await.unwrap();
        held
    }

    /// A file in the directory of the test.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    /// Applies a file of this text.
    pub fn apply(&self, text: &str) -> String {
        self.file("file.yaml", text);
        self.prints(&["apply", "-f", "file.yaml"])
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        for service in &mut self.services {
            let _ = kill_process(Pid::from_child(service), Signal::TERM);
        }
        for service in &mut self.services {
            let _ = service.wait();
        }
    }
}

/// The program, with nothing of our own environment that it looks at.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vitrina"));
    for name in ["DATABASE_URL", "VITRINA_ADDR", "VITRINA_URL", "VITRINA_TOKEN", "VITRINA_TOKENS", "ELASTICSEARCH_URL"]
    {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Everything that a program said.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Waits until the condition holds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A file with one pipeline: genres, copied whole.
pub fn genres() -> String {
    "pipelines:
  - name: genres
    mode: full
    target_table: analytics.genre_dim
    source_query: select id as genre_id, name, modified from content.genre
"
    .to_owned()
}

/// The same through two steps; three of five rows are rejected by the second one.
pub fn genres_through_steps() -> String {
    "pipelines:
  - name: genres
    type: RUST
    mode: full
    target_table: analytics.genre_no
    target: {key: [genre_id]}
    options: {on_row_error: dead_letter}
    tasks:
      - order_index: 1
        task_type: SQL
        body: select id as genre_id, case when name < 'Genre 3' then right(name, 1) else name end as no from content.genre
      - {order_index: 2, task_type: RUST, body: trim, options: {columns: [no]}}
      - {order_index: 3, task_type: RUST, body: cast, options: {columns: {no: integer}}}
"
    .to_owned()
}

/// A file with one pipeline of several batches.
pub fn big() -> String {
    "pipelines:
  - name: big
    mode: incremental
    target_table: analytics.big
    batch_size: 100
    incremental_key: modified
    incremental_id_key: id
    source_query: select id, modified from content.big
"
    .to_owned()
}

/// The status of a run that the JSON tells of.
pub fn status(run: &Value) -> &str {
    run["status"].as_str().unwrap_or_else(|| panic!("no status: {run}"))
}

/// Three tokens, one for each role.
pub fn tokens() -> (String, Value) {
    let secrets =
        json!({"viewer": "viewer-secret-0001", "operator": "operator-secret-01", "admin": "admin-secret-00001"});
    let list =
        secrets.as_object().unwrap().iter().map(|(role, secret)| format!("{role}:{role}:{}", secret.as_str().unwrap()));
    (list.collect::<Vec<_>>().join(","), secrets)
}
