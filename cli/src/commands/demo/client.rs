//! The demo as a client of its own API.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use vitrina_shared::process::Failure;

/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Pipelines as a file has them: what `POST /pipelines` takes.
#[derive(Debug, Deserialize)]
pub struct PipelineFile {
    /// The pipelines.
    pub pipelines: Vec<Value>,
}

/// A run, as far as the demo looks at it.
#[derive(Debug, Deserialize)]
pub struct Run {
    /// How it stands.
    pub status: String,
    /// Rows read so far.
    pub rows_read: i64,
    /// Rows inserted or changed so far.
    pub rows_written: i64,
    /// From its first batch to now.
    pub duration_ms: Option<i64>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Talks to the API.
pub struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    pub fn new(addr: SocketAddr) -> Self {
        Self { http: reqwest::Client::new(), base: format!("http://{addr}/api/v1") }
    }

    /// Creates the pipeline, or changes the one of that name. Returns the name.
    pub async fn apply(&self, pipeline: &Value) -> Result<String, Failure> {
        let name = pipeline["name"].as_str().ok_or("a pipeline has no name")?.to_owned();
        let created = self.http.post(format!("{}/pipelines", self.base)).json(pipeline).send().await?;
        let answer = if created.status() == StatusCode::CONFLICT {
            self.http.patch(format!("{}/pipelines/{name}", self.base)).json(pipeline).send().await?
        } else {
            created
        };
        accepted(answer).await?;
        Ok(name)
    }

    /// Requests a run and returns its id.
    pub async fn request_run(&self, name: &str) -> Result<String, Failure> {
        let answer = self.http.post(format!("{}/pipelines/{name}/run", self.base)).send().await?;
        let requested: Value = accepted(answer).await?.json().await?;
        Ok(requested["run_id"].as_str().ok_or("the API named no run")?.to_owned())
    }

    /// Waits for the run's end.
    pub async fn wait(&self, run: &str, mut progress: impl FnMut(&Run)) -> Result<Run, Failure> {
        loop {
            let answer = self.http.get(format!("{}/runs/{run}", self.base)).send().await?;
            let run: Run = accepted(answer).await?.json().await?;
            progress(&run);
            if matches!(run.status.as_str(), "SUCCESS" | "FAILED" | "CANCELLED") {
                return Ok(run);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The answer, or the problem that it tells of.
async fn accepted(answer: Response) -> Result<Response, Failure> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let problem: Value = answer.json().await?;
    Err(format!("the API refused: {} {}", problem["detail"].as_str().unwrap_or_default(), problem["errors"]).into())
}
