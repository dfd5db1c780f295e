//! One request and its answer.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ApiProblem, Client, ClientError};

/// How long an answer may take: longer than the API takes to give up by itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How often to come back when the API is busy.
const TRIES: u32 = 4;

pub(super) struct Request {
    method: Method,
    path: String,
    body: Option<Value>,
    headers: Vec<(&'static str, String)>,
    within: Duration,
}

impl Request {
    pub(super) fn new(method: Method, path: &str) -> Self {
        Self { method, path: path.to_owned(), body: None, headers: Vec::new(), within: ANSWER_WITHIN }
    }

    pub(super) fn body(mut self, body: &Value) -> Self {
        self.body = Some(body.clone());
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }
}

impl Client {
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(Request::new(Method::GET, path)).await
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: Option<&Value>) -> Result<T, ClientError> {
        self.send(Request { body: body.cloned(), ..Request::new(Method::POST, path) }).await
    }

    pub(super) async fn send<T: DeserializeOwned>(&self, request: Request) -> Result<T, ClientError> {
        let answer = self.answer(request).await?;
        let (url, status) = (answer.url().to_string(), answer.status());
        let read = answer.bytes().await.map_err(|error| self.lost(&error))?;
        serde_json::from_slice(&read).map_err(|_| ClientError::NotVitrina { url, status: status.as_u16(), to: None })
    }

    /// The successful answer. A busy API refuses a request before it does anything, so the request is repeated.
    pub(super) async fn answer(&self, request: Request) -> Result<Response, ClientError> {
        let mut tries = 1;
        loop {
            let answer =
                self.build(&request).timeout(request.within).send().await.map_err(|error| self.lost(&error))?;
            if answer.status() != StatusCode::TOO_MANY_REQUESTS || tries == TRIES {
                return self.accepted(answer).await;
            }
            tries += 1;
            tokio::time::sleep(retry_after(&answer)).await;
        }
    }

    fn build(&self, request: &Request) -> reqwest::RequestBuilder {
        let url = format!("{}/api/v1/{}", self.address, request.path);
        let mut builder = self.http.request(request.method.clone(), url);
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        match &request.body {
            Some(body) => builder.json(body),
            None => builder,
        }
    }

    /// The answer, or its problem.
    pub(super) async fn accepted(&self, answer: Response) -> Result<Response, ClientError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let url = answer.url().to_string();
        let to = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
        let body = answer.bytes().await.unwrap_or_default();
        match serde_json::from_slice::<ApiProblem>(&body) {
            Ok(problem) if problem.is_ours() => Err(self.refused(problem)),
            Ok(_) | Err(_) => Err(ClientError::NotVitrina { url, status: status.as_u16(), to }),
        }
    }

    fn refused(&self, problem: ApiProblem) -> ClientError {
        match problem.status {
            401 => ClientError::Unauthorized { has_token: self.has_token },
            403 => ClientError::Forbidden { detail: problem.detail },
            _ => ClientError::Refused(problem),
        }
    }

    pub(super) fn lost(&self, error: &reqwest::Error) -> ClientError {
        ClientError::lost(&self.address, error)
    }
}

fn retry_after(answer: &Response) -> Duration {
    let seconds = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1).min(10))
}

/// Encodes a name as one segment of a path, or as the value of a parameter.
pub(super) fn segment(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    // Dots stay, unless the name has nothing else: `..` would mean another path.
    let only_dots = name.bytes().all(|byte| byte == b'.');
    let mut text = String::new();
    for byte in name.bytes() {
        if keep(byte) || (byte == b'.' && !only_dots) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    // Software that normalises paths takes an encoded dot for a dot.
    if only_dots { format!("%20{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn a_name_stays_one_segment_whatever_is_in_it() {
        assert_eq!(segment("film_dim-1.v2"), "film_dim-1.v2");
        assert_eq!(segment("a/b?c"), "a%2Fb%3Fc");
        assert_eq!(segment("жанр"), "%D0%B6%D0%B0%D0%BD%D1%80");
        assert_eq!(segment(".."), "%20%2E%2E");
    }
}
