//! Limits, keys and calls of the API.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Client, ClientError, Limit, Request, segment};

#[derive(Deserialize)]
struct Forgotten {
    forgotten: i64,
}

impl Client {
    pub async fn limits(&self) -> Result<Value, ClientError> {
        self.get("limits").await
    }

    pub async fn set_limit(
        &self,
        name: &str,
        (tokens, period_seconds, burst): (i32, f64, i32),
    ) -> Result<Limit, ClientError> {
        let body = json!({ "tokens": tokens, "period_seconds": period_seconds, "burst": burst });
        self.send(Request::new(Method::PUT, &format!("limits/{}", segment(name))).body(&body)).await
    }

    pub async fn remove_limit(&self, name: &str) -> Result<(), ClientError> {
        self.answer(Request::new(Method::DELETE, &format!("limits/{}", segment(name)))).await.map(|_| ())
    }

    /// Lets the keys of a pool be tried again. Returns how many there are.
    pub async fn forget_keys(&self, pool: &str) -> Result<i64, ClientError> {
        let request = Request::new(Method::DELETE, &format!("limits/keys/{}", segment(pool)));
        self.send::<Forgotten>(request).await.map(|answer| answer.forgotten)
    }

    pub async fn calls(&self, pipeline: Option<&str>, state: Option<&str>, limit: u32) -> Result<Value, ClientError> {
        let filter = [("pipeline", pipeline), ("state", state)];
        let filter = filter.iter().filter_map(|(name, value)| Some(format!("&{name}={}", segment((*value)?))));
        let answer = self.get(&format!("calls?limit={limit}{}", filter.collect::<String>())).await;
        match pipeline {
            Some(pipeline) => self.of_pipeline(pipeline, answer).await,
            None => answer,
        }
    }

    /// Forgets calls of a pipeline. Returns how many.
    pub async fn forget_calls(&self, pipeline: &str, state: Option<&str>) -> Result<i64, ClientError> {
        let state = state.map(|state| format!("&state={}", segment(state))).unwrap_or_default();
        let request = Request::new(Method::DELETE, &format!("calls?pipeline={}{state}", segment(pipeline)));
        let answer = self.of_pipeline(pipeline, self.send::<Forgotten>(request).await).await;
        answer.map(|answer| answer.forgotten)
    }
}
