//! Requests a reconcile, a preview or a replay, and waits until a worker has finished it.

use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Client, ClientError,
    request::{Request, segment},
};

/// How long the API may hold its answer back, in seconds.
const WAIT: u64 = 20;
/// The interval between two requests for an unfinished report.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// The answer of `GET /reports/{id}`.
#[derive(Debug, Deserialize)]
struct ReportAnswer {
    status: String,
    result: Option<Value>,
    error: Option<String>,
}

impl Client {
    /// Asks for a report (`reconcile`, `preview`, `dead-letters/replay`) and waits for its result.
    pub async fn report(&self, name: &str, kind: &str, body: &Value) -> Result<Value, ClientError> {
        let path = format!("pipelines/{}/{kind}?wait={WAIT}", segment(name));
        let request = Request::new(Method::POST, &path).body(body).within(Duration::from_secs(WAIT + 30));
        let answer = self.of_pipeline(name, self.answer(request).await).await?;
        let status = answer.status();
        let location = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
        let url = answer.url().to_string();
        let body: Value = answer.json().await.map_err(|error| self.lost(&error))?;
        match (status, location) {
            (StatusCode::ACCEPTED, Some(location)) => self.await_report(&location, kind).await,
            (StatusCode::ACCEPTED, None) => Err(ClientError::NotVitrina { url, status: status.as_u16(), to: None }),
            _ => Ok(body),
        }
    }

    async fn await_report(&self, location: &str, kind: &str) -> Result<Value, ClientError> {
        let path = location.rsplit_once("/api/v1/").map_or(location, |(_, path)| path).to_owned();
        loop {
            let report: ReportAnswer = self.get(&path).await?;
            if let Some(result) = report.result {
                return Ok(result);
            }
            // An error without the status `FAILED` belongs to an attempt that is retried.
            if report.status == "FAILED" {
                let reason = report.error.unwrap_or_else(|| "it gives no reason".to_owned());
                return Err(ClientError::Report(format!("{kind} failed: {reason}")));
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}
