//! A server of its own for every test, and the words tests are written in.

mod cinema;
mod proxy;
mod sse;

use std::{future::Future, net::SocketAddr, time::Duration};

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use vitrina_api::{App, ServeError, Server};
use vitrina_shared::{
    config::{ApiConfig, DatabaseConfig, Env, SourceConfig},
    testing::TestDatabase,
};

pub use proxy::Proxy;
pub use sse::{Event, Events};

/// Nothing here takes longer, unless it is broken.
pub const SOON: Duration = Duration::from_secs(20);

/// An API on a port and a database of its own.
pub struct Api {
    addr: SocketAddr,
    client: Client,
    stop: CancellationToken,
    server: JoinHandle<Result<(), ServeError>>,
    _stop_when_dropped: DropGuard,
    /// Removed after the server, which was told to stop.
    pub db: TestDatabase,
}

impl Api {
    /// Starts with the cinema's tables and no tokens.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts with further settings.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let db = TestDatabase::create().await;
        cinema::create(&db).await;
        let url = db.url();
        Self::start_at(db, &url, settings).await
    }

    /// Starts on a database that is reached by another address, such as a [`Proxy`].
    pub async fn start_at(db: TestDatabase, url: &str, settings: &[(&str, &str)]) -> Self {
        let base = [("DATABASE_URL", url), ("VITRINA_ADDR", "127.0.0.1:0"), ("VITRINA_DB_CONNECTIONS", "8")];
        let (api, database, source): (ApiConfig, DatabaseConfig, SourceConfig) =
            Env::from_pairs(base.iter().chain(settings).copied()).read().unwrap();
        let stop = CancellationToken::new();
        let server = Server::bind(App::new(api, &database, &source, stop.clone())).await.unwrap();
        let addr = server.addr();
        let server = tokio::spawn(server.run());
        let client = Client::builder().no_proxy().build().unwrap();
        Self { addr, client, _stop_when_dropped: stop.clone().drop_guard(), stop, server, db }
    }

    /// The server's address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A request for a path under `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.raw(method, &format!("/api/v1{path}"))
    }

    /// A request for any path.
    pub fn raw(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.addr)).timeout(SOON)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    pub fn patch(&self, path: &str) -> RequestBuilder {
        self.request(Method::PATCH, path)
    }

    pub fn delete(&self, path: &str) -> RequestBuilder {
        self.request(Method::DELETE, path)
    }

    /// The JSON that a path shows.
    pub async fn show(&self, path: &str) -> Value {
        expect(self.get(path), StatusCode::OK).await
    }

    /// Creates a pipeline and returns it.
    pub async fn create(&self, pipeline: &Value) -> Value {
        expect(self.post("/pipelines").json(pipeline), StatusCode::CREATED).await
    }

    /// Creates the pipeline of genres under this name.
    pub async fn create_genres(&self, name: &str) -> Value {
        self.create(&genres(name)).await
    }

    /// Requests a run.
    pub async fn run(&self, pipeline: &str) -> Value {
        expect(self.post(&format!("/pipelines/{pipeline}/run")), StatusCode::ACCEPTED).await
    }

    /// Opens the stream of events.
    pub async fn events(&self, query: &str, last_event_id: Option<i64>) -> Events {
        Events::of(self.event_request(query, last_event_id).send().await.unwrap())
    }

    /// A request for the stream of events, without a time limit.
    pub fn event_request(&self, query: &str, last_event_id: Option<i64>) -> RequestBuilder {
        let request = self.client.get(format!("http://{}/api/v1/events{query}", self.addr));
        match last_event_id {
            Some(id) => request.header("Last-Event-ID", id),
            None => request,
        }
    }

    /// Tells the server to stop, as a signal would.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has ended.
    pub async fn ended(&mut self) -> Result<(), ServeError> {
        within(SOON, &mut self.server).await.unwrap()
    }

    /// Does what a worker would: moves a pipeline and its unfinished run to these statuses.
    pub async fn simulate_worker(&self, pipeline: &str, status: &str, run_status: &str) {
        sqlx::query(
            "with p as (update etl.etl_pipelines set status = $2 where name = $1 returning id)
             update etl.etl_runs r
             set status = $3,
                 started_at = coalesce(r.started_at, now()),
                 finished_at = case when $3 in ('SUCCESS', 'FAILED') then now() end
             from p
             where r.pipeline_id = p.id and r.status in ('QUEUED', 'RUNNING', 'PAUSED')",
        )
        .bind(pipeline)
        .bind(status)
        .bind(run_status)
        .execute(self.db.pool())
        .await
        .unwrap();
    }

    /// Waits until a request of ours waits for a lock in the database.
    pub async fn until_something_waits_for_a_lock(&self) {
        eventually("a wait for a lock", async || {
            let waiting: bool = sqlx::query_scalar(
                "select exists (select from pg_stat_activity
                                where wait_event_type = 'Lock' and datname = current_database())",
            )
            .fetch_one(self.db.admin())
            .await
            .unwrap();
            waiting.then_some(())
        })
        .await;
    }

    /// A number that the database knows.
    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.db.pool()).await.unwrap()
    }
}

/// A pipeline that copies the genres incrementally.
pub fn genres(name: &str) -> Value {
    json!({
        "name": name,
        "mode": "incremental",
        "source_query": "select id as genre_id, name, description, modified from content.genre",
        "target_table": "analytics.genre_dim",
        "batch_size": 100,
        "incremental_key": "modified",
        "incremental_id_key": "genre_id",
    })
}

/// The same with some fields replaced; null removes one.
pub fn genres_but(changes: &Value) -> Value {
    let mut pipeline = genres("genres");
    for (field, value) in changes.as_object().unwrap() {
        pipeline[field] = value.clone();
        if value.is_null() {
            pipeline.as_object_mut().unwrap().remove(field);
        }
    }
    pipeline
}

/// Sends the request, wants this status and returns the body.
pub async fn expect(request: RequestBuilder, status: StatusCode) -> Value {
    let response = request.send().await.unwrap();
    let (got, url) = (response.status(), response.url().clone());
    let text = response.text().await.unwrap();
    assert_eq!(got, status, "{url}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
}

/// Sends the request and wants a complete problem with this status and the last part of its type.
pub async fn expect_problem(request: RequestBuilder, status: u16, kind: &str) -> Value {
    problem(request.send().await.unwrap(), status, kind).await
}

/// Wants the answer to be a complete problem.
pub async fn problem(response: Response, status: u16, kind: &str) -> Value {
    let (got, path) = (response.status().as_u16(), response.url().path().to_owned());
    let media_type = response.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
    assert!(response.headers().contains_key("x-request-id"), "{path} has no X-Request-Id");
    let text = response.text().await.unwrap();
    assert_eq!(got, status, "{path}: {text}");
    assert_eq!(media_type.as_deref(), Some("application/problem+json"), "{path}: {text}");
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["type"], format!("urn:vitrina:problem:{kind}"), "{problem}");
    assert_eq!(problem["status"], status, "{problem}");
    assert_eq!(problem["instance"], path, "{problem}");
    assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    assert!(problem["errors"].is_array(), "{problem}");
    problem
}

/// The messages of a problem about one field.
pub fn messages(problem: &Value, field: &str) -> Vec<String> {
    let all = problem["errors"].as_array().or_else(|| problem["problems"].as_array()).unwrap();
    let of_field = all.iter().filter(|error| error["field"] == field);
    of_field.map(|error| error["message"].as_str().unwrap().to_owned()).collect()
}

/// The value of a future that must not take longer than this.
pub async fn within<F: Future>(limit: Duration, future: F) -> F::Output {
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("nothing happened within {limit:?}"))
}

/// Asks again and again until the answer is there.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, asking).await.unwrap_or_else(|_| panic!("{what} did not happen within {SOON:?}"))
}
