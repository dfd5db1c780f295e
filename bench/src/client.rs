//! A client of the API: asks for runs and follows them on the event stream.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use reqwest::{Client, Method, Response};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::Outcome;

/// No run here takes longer.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A change of status, and when it was heard of.
#[derive(Debug, Deserialize)]
pub struct Transition {
    pub run_id: Option<Uuid>,
    pub to: String,
    #[serde(skip, default = "Instant::now")]
    pub heard: Instant,
}

#[derive(Debug, Deserialize)]
pub struct Run {
    pub status: String,
    pub rows_read: u64,
    pub error: Option<String>,
    #[serde(default)]
    pub steps: Vec<RunStep>,
}

#[derive(Debug, Deserialize)]
pub struct RunStep {
    pub rows_in: u64,
    pub duration_ms: f64,
}

/// A finished run and how long it took from the request to the news of its end.
pub struct Finished {
    pub id: Uuid,
    pub run: Run,
    pub took: Duration,
}

/// A client with an open event stream.
pub struct Api {
    pub url: String,
    http: Client,
    events: mpsc::UnboundedReceiver<Transition>,
}

impl Api {
    /// Connects, and follows events from now on.
    pub async fn connect(url: &str) -> Outcome<Self> {
        let http = Client::new();
        let stream = http.get(format!("{url}/api/v1/events")).send().await?.error_for_status()?;
        let (sender, events) = mpsc::unbounded_channel();
        tokio::spawn(follow(stream, sender));
        Ok(Self { http, url: url.to_owned(), events })
    }

    pub async fn create(&self, pipeline: &Value) -> Outcome<()> {
        self.send::<Value>(Method::POST, "pipelines", Some(pipeline)).await.map(drop)
    }

    pub async fn allow(&self, target: &str, key: &str) -> Outcome<()> {
        let body = json!({ "target": target, "key": [key] });
        self.send::<Value>(Method::POST, "targets", Some(&body)).await.map(drop)
    }

    /// Waits until a worker has published a step.
    pub async fn knows_step(&self, name: &str) -> Outcome<()> {
        let asked = async {
            loop {
                let steps: Value = self.send(Method::GET, "transforms", None).await?;
                if steps["items"].as_array().into_iter().flatten().any(|step| step["name"] == name) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), asked)
            .await
            .map_err(|_| format!("no worker has the step {name}"))?
    }

    pub async fn reset(&self, pipeline: &str) -> Outcome<()> {
        self.send::<Value>(Method::POST, &format!("pipelines/{pipeline}/reset"), None).await.map(drop)
    }

    pub async fn request(&self, pipeline: &str) -> Outcome<Uuid> {
        #[derive(Deserialize)]
        struct Requested {
            run_id: Uuid,
        }
        let requested: Requested = self.send(Method::POST, &format!("pipelines/{pipeline}/run"), None).await?;
        Ok(requested.run_id)
    }

    /// Requests a run whenever the last one has ended, until the answer is dropped.
    pub fn request_again_and_again(&self, pipeline: &str) -> AbortOnDropHandle<()> {
        let (http, url) = (self.http.clone(), format!("{}/api/v1/pipelines/{pipeline}/run", self.url));
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                let _ = http.post(&url).send().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }

    pub async fn run(&mut self, pipeline: &str) -> Outcome<Finished> {
        let start = Instant::now();
        let id = self.request(pipeline).await?;
        let heard = loop {
            let event = self.next_event().await?;
            if event.run_id == Some(id) && (event.to == "IDLE" || event.to == "FAILED") {
                break event.heard;
            }
        };
        let run: Run = self.send(Method::GET, &format!("runs/{id}"), None).await?;
        if run.status != "SUCCESS" {
            return Err(format!("run of {pipeline}: {} {}", run.status, run.error.unwrap_or_default()).into());
        }
        Ok(Finished { id, run, took: heard - start })
    }

    /// Compares a pipeline's mart with its source, however long that takes.
    pub async fn reconcile(&self, pipeline: &str, body: &Value) -> Outcome<Value> {
        let place = format!("pipelines/{pipeline}/reconcile?wait=60");
        let mut answer: Value = self.send(Method::POST, &place, Some(body)).await?;
        while let Some(id) = answer["id"].as_str().map(str::to_owned) {
            let report: Value = self.send(Method::GET, &format!("reports/{id}"), None).await?;
            match report["status"].as_str() {
                Some("DONE") => answer = report["result"].clone(),
                Some("FAILED") => return Err(format!("reconcile of {pipeline}: {}", report["error"]).into()),
                Some(_) | None => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        Ok(answer)
    }

    pub async fn metrics(&self) -> Outcome<String> {
        Ok(self.http.get(format!("{}/metrics", self.url)).send().await?.error_for_status()?.text().await?)
    }

    pub async fn next_event(&mut self) -> Outcome<Transition> {
        let event = tokio::time::timeout(PATIENCE, self.events.recv()).await?;
        event.ok_or_else(|| "the event stream ended".into())
    }

    async fn send<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<&Value>) -> Outcome<T> {
        let mut request = self.http.request(method, format!("{}/api/v1/{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        if !status.is_success() {
            return Err(format!("{path}: {status} {text}").into());
        }
        Ok(serde_json::from_str(&text)?)
    }
}

/// Reads server-sent events until the stream or its reader ends.
async fn follow(stream: Response, sender: mpsc::UnboundedSender<Transition>) {
    let mut chunks = stream.bytes_stream();
    let mut pending = Vec::new();
    while let Some(Ok(chunk)) = chunks.next().await {
        pending.extend_from_slice(&chunk);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            if let Ok(event) = serde_json::from_slice(data)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    }
}
