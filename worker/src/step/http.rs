//! `http`: asks a service about rows (`vitrina_shared::domain::transform::http` declares it).
//!
//! A call is a durable fact (`etl_calls`): it is noted before the request is sent and has its answer afterwards. A block looks up
//! what is known of its calls, sends what is missing within limits, and where answers are outstanding after a while gives the batch
//! back to the queue: the next attempt finds them. So a call is never paid for twice by a retry, a crash or a later run, and
//! nothing is held while a service works.

mod block;
mod call;
mod client;
mod keys;
mod measured;
mod reading;
mod send;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};
use sqlx::PgPool;
use tokio::sync::Semaphore;
use vitrina_shared::{
    config::Keys,
    domain::{
        ErrorClass,
        hosts::AllowedHosts,
        transform::http::{Http, Method, Origin, Request},
    },
    store::limits,
};

use self::{block::Asking, client::Client, keys::Pool};
use super::{Block, Processed, Step, StepContext, StepError};

pub(super) const NAME: &str = "http";
/// How long a health check may take, and how much of its answer is read.
const HEALTH: (Duration, usize) = (Duration::from_secs(10), 64 * 1024);

/// What steps that call services need of their worker.
#[derive(Debug, Clone)]
pub struct Outside {
    pub db: PgPool,
    pub keys: Keys,
    pub hosts: AllowedHosts,
}

/// A step with its connections.
#[derive(Debug)]
pub struct Service {
    step: Http,
    db: PgPool,
    hosts: AllowedHosts,
    client: Client,
    /// For polls, which may go to another server.
    polled: Client,
    keys: Option<Pool>,
    /// How many requests are under way at once.
    room: Semaphore,
    timeout: Duration,
}

#[derive(Debug)]
struct HttpStep(Arc<Service>);

pub(super) fn construct(options: &Map<String, Value>, outside: &Outside) -> Result<Box<dyn Step>, String> {
    let step = Http::of(options)?;
    let Outside { db, keys, hosts } = outside.clone();
    let polled = step.poll.as_ref().map_or(&step.templates.origin, |poll| &poll.origin);
    let service = Service {
        client: Client::new(&hosts, &step.templates.origin)?,
        polled: Client::new(&hosts, polled)?,
        keys: step.keys.as_ref().map(|how| Pool::new(how, &keys, &[&step.templates.origin, polled])).transpose()?,
        room: Semaphore::new(step.concurrency),
        timeout: Duration::from_secs(step.timeout_seconds.into()),
        step,
        db,
        hosts,
    };
    Ok(Box::new(HttpStep(Arc::new(service))))
}

#[async_trait]
impl Step for HttpStep {
    async fn execute(&self, context: &StepContext, block: Block) -> Result<Processed, StepError> {
        Asking::of(self.0.clone(), context, block).run().await
    }

    /// Limits are there, and the service is well.
    async fn check(&self, _: &StepContext) -> Result<(), StepError> {
        let service = &self.0;
        if let Some(limit) = &service.step.limit {
            let mut connection = send::connect(&service.db).await?;
            if !limits::exists(&mut connection, limit).await.map_err(send::away)? {
                return Err(send::missing_limit(limit));
            }
        }
        service.check_health().await
    }
}

impl Service {
    async fn check_health(&self) -> Result<(), StepError> {
        let Some(address) = &self.step.health else { return Ok(()) };
        let fatal = |message: String| StepError::ours(ErrorClass::Fatal, message);
        let (origin, url) = Origin::of(address.as_str()).map_err(fatal)?;
        let client = Client::new(&self.hosts, &origin).map_err(fatal)?;
        let request = Request { method: Method::Get, url, headers: Vec::new(), body: None };
        match client.send(&request, HeaderMap::new(), HEALTH).await {
            Ok(reply) if (200..300).contains(&reply.status) => Ok(()),
            Ok(reply) => Err(fatal(format!("the service is not well: {address} answers {}", reply.status))),
            Err(words) => Err(fatal(format!("the service is not well: {address} {words}"))),
        }
    }
}
