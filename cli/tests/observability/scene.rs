//! A small deployment: two replicas of the API and two workers on a database with the demo's cinema.

use std::{
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vitrina::cinema::{CinemaSize, generate};
use vitrina_shared::{migrate, testing::TestDatabase};

use crate::{configuration::yaml, texts};

/// Nothing takes longer, unless it is broken. The machine may be busy.
const SOON: Duration = Duration::from_secs(90);

/// A service, killed when dropped.
pub struct Service {
    process: Child,
    /// Where it shows its metrics.
    pub addr: String,
}

impl Service {
    fn start(command: &str, url: &str, variable: &str) -> Self {
        Self::start_with(command, url, variable, &[("VITRINA_LOG", "error")])
    }

    /// Starts a service whose address is set by `variable`, with further settings.
    pub fn start_with(command: &str, url: &str, variable: &str, settings: &[(&str, &str)]) -> Self {
        let addr = format!("127.0.0.1:{}", free_port());
        let output =
            if settings.iter().any(|(name, _)| *name == "VITRINA_LOG_FILE") { Stdio::null() } else { Stdio::inherit() };
        let process = Command::new(env!("CARGO_BIN_EXE_vitrina"))
            .arg(command)
            .env_clear()
            .env("DATABASE_URL", url)
            .env(variable, &addr)
            .env("VITRINA_HEARTBEAT_SECONDS", "0.3")
            .envs(settings.iter().copied())
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(output)
            .spawn()
            .unwrap();
        Self { process, addr }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The deployment. Its services end before its database does.
pub struct Scene {
    pub apis: Vec<Service>,
    pub workers: Vec<Service>,
    client: reqwest::Client,
    /// What one of the pipelines calls.
    texts: SocketAddr,
    pub db: TestDatabase,
}

impl Scene {
    /// Starts everything, with the demo's pipelines and one that will fail.
    pub async fn start() -> Self {
        let db = TestDatabase::create().await;
        generate(db.admin(), CinemaSize { films: 3_000, ratings: 9_000 }, |_| ()).await.unwrap();
        migrate::migrate(db.admin(), &["content".to_owned(), "ugc".to_owned()]).await.unwrap();
        let url = db.url();
        let apis = (0..2).map(|_| Service::start("api", &url, "VITRINA_ADDR")).collect();
        let texts = texts::start();
        let workers = (0..2).map(|_| worker(&url, texts)).collect();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        let scene = Self { apis, workers, client, texts, db };
        for service in scene.apis.iter().chain(&scene.workers) {
            eventually("a service", async || {
                scene.client.get(format!("http://{}/health", service.addr)).send().await.ok()
            })
            .await;
        }
        for pipeline in yaml("demo/pipelines.yaml")["pipelines"].as_array().unwrap() {
            let mut pipeline = pipeline.clone();
            // Many batches, so that there is time to kill a worker.
            pipeline["batch_size"] = json!(20);
            scene.create(&pipeline).await;
        }
        scene.create_one_that_will_fail().await;
        scene.create_one_that_calls().await;
        scene
    }

    async fn create_one_that_will_fail(&self) {
        let mart = "create table analytics.doomed (id uuid primary key, name text);
                    insert into etl.etl_targets (target, key) values ('analytics.doomed', '{id}');
                    create table content.doomed (id uuid primary key, name text)";
        sqlx::raw_sql(mart).execute(self.db.admin()).await.unwrap();
        self.create(&json!({"name": "doomed", "mode": "full", "target_table": "analytics.doomed",
                            "source_query": "select id, name from content.doomed"}))
            .await;
        sqlx::raw_sql("alter table content.doomed drop column name").execute(self.db.admin()).await.unwrap();
    }

    async fn create_one_that_calls(&self) {
        let mart = "create table analytics.described (id uuid primary key, name text, description text);
                    insert into etl.etl_targets (target, key) values ('analytics.described', '{id}');
                    insert into etl.etl_limits (name, tokens, period_seconds, burst) values ('texts', 50, 1, 1)";
        sqlx::raw_sql(mart).execute(self.db.admin()).await.unwrap();
        self.create(&json!({"name": "described", "mode": "full", "target_table": "analytics.described", "tasks": [
            {"order_index": 1, "task_type": "SQL", "body": "select id, name from content.genre"},
            {"order_index": 2, "task_type": "RUST", "body": "http", "options": {
                "url": format!("http://{}/{{{{ name | urlencode }}}}", self.texts),
                "columns": {"description": {"path": "/text", "type": "text"}},
                "limit": "texts", "keys": {"pool": "TEXTS"},
            }},
        ]}))
        .await;
    }

    async fn create(&self, pipeline: &Value) {
        let url = format!("http://{}/api/v1/pipelines", self.apis[0].addr);
        let answer = self.client.post(url).json(pipeline).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{}", answer.text().await.unwrap());
    }

    /// Requests a run.
    pub async fn request_run(&self, pipeline: &str) {
        let url = format!("http://{}/api/v1/pipelines/{pipeline}/run", self.apis[0].addr);
        assert_eq!(self.client.post(url).send().await.unwrap().status(), 202);
    }

    /// Requests a run and waits for its end.
    pub async fn run(&self, pipeline: &str) {
        self.request_run(pipeline).await;
        self.settled(pipeline).await;
    }

    /// Waits until the pipeline has no unfinished run.
    pub async fn settled(&self, pipeline: &str) {
        eventually(pipeline, async || {
            let active: bool = sqlx::query_scalar(
                "select exists (select from etl.etl_runs r join etl.etl_pipelines p on p.id = r.pipeline_id
                                where p.name = $1 and r.finished_at is null)",
            )
            .bind(pipeline)
            .fetch_one(self.db.pool())
            .await
            .unwrap();
            (!active).then_some(())
        })
        .await;
    }

    /// Waits until the pipeline's unfinished run has committed some batches more.
    pub async fn progress(&self, pipeline: &str, batches: i64) {
        let committed = async || -> Option<i64> {
            sqlx::query_scalar(
                "select r.batches from etl.etl_runs r join etl.etl_pipelines p on p.id = r.pipeline_id
                 where p.name = $1 and r.finished_at is null",
            )
            .bind(pipeline)
            .fetch_optional(self.db.pool())
            .await
            .unwrap()
        };
        let before = committed().await.unwrap_or_default();
        eventually("progress", async || committed().await.is_none_or(|now| now >= before + batches).then_some(()))
            .await;
    }

    /// Kills the worker that holds a job, with -9, and starts another in its place. Whether there was one.
    pub async fn kill_working_worker(&mut self) -> bool {
        let holder: Option<String> =
            sqlx::query_scalar("select lock_by from apalis.jobs where status = 'Running' limit 1")
                .fetch_optional(self.db.pool())
                .await
                .unwrap();
        let busy = holder.and_then(|name| {
            let pid = name.rsplit('-').nth(1)?.to_owned();
            self.workers.iter().position(|worker| worker.process.id().to_string() == pid)
        });
        let Some(busy) = busy else { return false };
        self.workers[busy].process.kill().unwrap();
        self.workers[busy].process.wait().unwrap();
        let addr = self.workers[busy].addr.clone();
        let mut next = worker(&self.db.url(), self.texts);
        std::mem::swap(&mut self.workers[busy], &mut next);
        assert_ne!(addr, self.workers[busy].addr);
        true
    }

    /// Looks at rows as they would be written.
    pub async fn preview(&self, pipeline: &str) {
        let url = format!("http://{}/api/v1/pipelines/{pipeline}/preview?wait=30", self.apis[0].addr);
        assert_eq!(self.client.post(url).json(&json!({"rows": 2})).send().await.unwrap().status(), 200);
    }

    /// What a service shows under `/metrics`.
    pub async fn metrics(&self, service: &Service) -> String {
        let url = format!("http://{}/metrics", service.addr);
        self.client.get(url).send().await.unwrap().text().await.unwrap()
    }

    /// Asks the API for something that there is not.
    pub async fn ask_in_vain(&self) {
        let url = format!("http://{}/api/v1/pipelines/nobody", self.apis[0].addr);
        assert_eq!(self.client.get(url).send().await.unwrap().status(), 404);
    }
}

/// A worker that may call the service.
fn worker(url: &str, texts: SocketAddr) -> Service {
    let hosts = texts.to_string();
    let receivers = format!("TEXTS={hosts}");
    let settings = [
        ("VITRINA_LOG", "error"),
        ("VITRINA_HTTP_HOSTS", hosts.as_str()),
        ("VITRINA_HTTP_KEYS", receivers.as_str()),
        ("VITRINA_KEYS_TEXTS", texts::KEYS),
    ];
    Service::start_with("worker", url, "VITRINA_METRICS_ADDR", &settings)
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks again and again until the answer is there.
pub async fn eventually<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what} did not happen within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
