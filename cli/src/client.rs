//! The REST API as a client sees it: local or remote, with a token or without.
//!
//! One method a call. An answer that is no success becomes a [`ClientError`], which says what to do about it.

mod address;
mod calls;
mod connection;
mod error;
mod events;
mod model;
mod reports;
mod request;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};
use vitrina_shared::nearest;

pub use address::Address;
pub use connection::Connection;
pub use error::{ApiProblem, ClientError, FieldError};
pub use events::{Event, Events};
pub use model::{
    Call, InstalledApi, Key, Limit, Limits, List, Pipeline, RegisteredStep, RequestedRun, Run, RunStep, State, Target,
    Transition, Worker,
};

use request::{Request, segment};

const PAGE: usize = 200;

/// Options of a run that differ from the pipeline's usual ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunKind {
    /// Reads everything and removes what is gone.
    pub full: bool,
    /// May remove more than `max_removed` allows.
    pub allow_removal: bool,
}

#[derive(serde::Deserialize)]
struct Found {
    problems: Vec<FieldError>,
}

#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    address: Address,
    has_token: bool,
}

impl Client {
    pub async fn pipelines(&self) -> Result<Vec<Value>, ClientError> {
        self.all_pages("pipelines").await
    }

    pub async fn pipeline(&self, name: &str) -> Result<Value, ClientError> {
        self.of_pipeline(name, self.get(&format!("pipelines/{}", segment(name))).await).await
    }

    /// One pipeline, or `None` where there is no such one.
    pub async fn find_pipeline(&self, name: &str) -> Result<Option<Value>, ClientError> {
        match self.get(&format!("pipelines/{}", segment(name))).await {
            Ok(pipeline) => Ok(Some(pipeline)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The problems of a pipeline that is not stored yet; with a target, once that is allowed.
    pub async fn validate(&self, body: &Value, target: Option<&Value>) -> Result<Vec<FieldError>, ClientError> {
        let answer = match target.cloned() {
            None => self.post::<Found>("pipelines/validate", Some(body)).await,
            Some(mut target) => {
                target["pipeline"] = body.clone();
                self.post("targets?dry_run=true", Some(&target)).await
            }
        };
        match answer {
            Ok(found) => Ok(found.problems),
            // A body of another shape is a problem of the pipeline too.
            Err(ClientError::Refused(problem)) if problem.status == 422 => {
                let own = |field: &str| field.strip_prefix("pipeline.").unwrap_or(field).to_owned();
                Ok(problem.errors.into_iter().map(|one| FieldError { field: own(&one.field), ..one }).collect())
            }
            Err(error) => Err(error),
        }
    }

    pub async fn create_pipeline(&self, body: &Value) -> Result<Value, ClientError> {
        self.post("pipelines", Some(body)).await
    }

    /// Changes a pipeline, if it is still at that version.
    pub async fn change_pipeline(&self, name: &str, version: i64, changes: &Value) -> Result<Value, ClientError> {
        let request = Request::new(Method::PATCH, &format!("pipelines/{}", segment(name))).body(changes);
        self.send(request.header("If-Match", format!("\"{version}\""))).await
    }

    pub async fn state(&self, name: &str) -> Result<Value, ClientError> {
        self.of_pipeline(name, self.get(&format!("pipelines/{}/state", segment(name))).await).await
    }

    pub async fn runs(&self, name: &str, limit: u32) -> Result<Value, ClientError> {
        self.of_pipeline(name, self.get(&format!("pipelines/{}/runs?limit={limit}", segment(name))).await).await
    }

    pub async fn run<T: DeserializeOwned>(&self, id: &str) -> Result<T, ClientError> {
        self.get(&format!("runs/{}", segment(id))).await
    }

    pub async fn request_run(&self, name: &str, key: Option<&str>, kind: RunKind) -> Result<RequestedRun, ClientError> {
        let wanted = [("full", kind.full), ("allow_removal", kind.allow_removal)];
        let wanted: Vec<_> =
            wanted.iter().filter(|(_, wanted)| *wanted).map(|(name, _)| format!("{name}=true")).collect();
        let query = if wanted.is_empty() { String::new() } else { format!("?{}", wanted.join("&")) };
        let mut request = Request::new(Method::POST, &format!("pipelines/{}/run{query}", segment(name)));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key.to_owned());
        }
        self.of_pipeline(name, self.send(request).await).await
    }

    pub async fn again(&self, run: &str) -> Result<RequestedRun, ClientError> {
        self.post(&format!("runs/{}/again", segment(run)), None).await
    }

    /// Removes a pipeline with its runs and checkpoint. What it wrote stays.
    pub async fn delete_pipeline(&self, name: &str) -> Result<(), ClientError> {
        let request = Request::new(Method::DELETE, &format!("pipelines/{}", segment(name)));
        self.of_pipeline(name, self.answer(request).await.map(|_| ())).await
    }

    /// `pause`, `cancel` or `reset`.
    pub async fn command(&self, name: &str, command: &str) -> Result<Value, ClientError> {
        self.of_pipeline(name, self.post(&format!("pipelines/{}/{command}", segment(name)), None).await).await
    }

    pub async fn targets(&self) -> Result<Value, ClientError> {
        self.get("targets").await
    }

    /// Allows a target, or finds out whether that could be done.
    pub async fn allow_target(&self, target: &Value, dry_run: bool) -> Result<Value, ClientError> {
        self.post(if dry_run { "targets?dry_run=true" } else { "targets" }, Some(target)).await
    }

    pub async fn forget_target(&self, target: &str) -> Result<(), ClientError> {
        self.answer(Request::new(Method::DELETE, &format!("targets/{}", segment(target)))).await.map(|_| ())
    }

    pub async fn workers(&self) -> Result<Value, ClientError> {
        self.get("workers").await
    }

    /// The steps that a plan may name.
    pub async fn transforms(&self) -> Result<Value, ClientError> {
        self.get("transforms").await
    }

    /// Rows that could not be written: those to be replayed, or `all`. Numbers have all of their digits.
    pub async fn dead_letters(&self, name: &str, limit: u32, all: bool) -> Result<Box<RawValue>, ClientError> {
        let open = if all { "" } else { "&open=true" };
        let path = format!("pipelines/{}/dead-letters?limit={limit}{open}", segment(name));
        self.of_pipeline(name, self.get(&path).await).await
    }

    /// Which deployment this is.
    pub async fn installation(&self) -> Result<InstalledApi, ClientError> {
        self.get("installation").await
    }

    /// Whether the API and its database are ready to work.
    pub async fn ready(&self) -> Result<Value, ClientError> {
        self.get("ready").await
    }

    async fn all_pages(&self, path: &str) -> Result<Vec<Value>, ClientError> {
        let (mut items, mut cursor) = (Vec::new(), None);
        loop {
            let after = cursor.map(|cursor: String| format!("&cursor={}", segment(&cursor))).unwrap_or_default();
            let page: List<Value> = self.get(&format!("{path}?limit={PAGE}{after}")).await?;
            items.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(items),
            }
        }
    }

    /// Adds to an error of an unknown pipeline the name that was probably meant.
    async fn of_pipeline<T>(&self, name: &str, answer: Result<T, ClientError>) -> Result<T, ClientError> {
        if !answer.as_ref().is_err_and(ClientError::is_not_found) {
            return answer;
        }
        let known = self.pipelines().await.unwrap_or_default();
        let names = known.iter().filter_map(|pipeline| pipeline["name"].as_str());
        let meant = nearest::of(name, names).map(str::to_owned);
        Err(ClientError::NoPipeline { name: name.to_owned(), meant, known: known.len() })
    }
}
