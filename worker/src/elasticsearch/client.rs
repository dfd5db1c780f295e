//! One cluster, as requests see it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use elasticsearch::{
    auth,
    cert::{Certificate, CertificateValidation},
    http::{
        Method,
        headers::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
        transport::{SingleNodeConnectionPool, Transport, TransportBuilder},
    },
};
use serde_json::Value;
use vitrina_shared::{
    config::{Credentials, ElasticsearchConfig},
    domain::ErrorClass,
};

use crate::mutex::unpoisoned;

use super::{
    error::{MOST_ANSWERED, SinkError, retry_after},
    nodes::Nodes,
    patience::Patience,
};

/// A connection to a cluster. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    nodes: Arc<Nodes<Transport>>,
    pub(super) gzip: bool,
    /// How long to go on with requests that get nothing done.
    pub(super) patience: Duration,
    /// When indexes were replaced that cannot note it themselves, by name.
    replaced: Arc<Mutex<HashMap<String, u64>>>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// How long to wait before the next request.
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

impl Client {
    /// Prepares a client; nothing is sent yet.
    pub fn new(config: &ElasticsearchConfig) -> Result<Self, SinkError> {
        let url = config.url.as_ref().ok_or_else(|| {
            SinkError::fatal("ELASTICSEARCH_URL is not set: the worker needs it to write targets that begin with `es:`")
        })?;
        let auth = url.credentials().map(introduction).transpose()?;
        let transports = url.bases().iter().map(|base| transport(base, auth.as_ref(), config));
        let nodes = Nodes::new(transports.collect::<Result<_, _>>()?);
        let nodes = nodes.ok_or_else(|| SinkError::fatal("ELASTICSEARCH_URL has no address"))?;
        Ok(Self { nodes: Arc::new(nodes), gzip: config.gzip, patience: config.patience, replaced: Arc::default() })
    }

    /// The same without patience: for callers that repeat the request soon anyway.
    pub fn impatient(&self) -> Self {
        Self { patience: Duration::ZERO, ..self.clone() }
    }

    /// When an index was seen replaced for the first time, which is `now` unless it was asked for before.
    pub(super) fn replaced_at(&self, index: &str, now: u64) -> u64 {
        *unpoisoned(&self.replaced).entry(index.to_owned()).or_insert(now)
    }

    pub(super) fn forget_replaced(&self, index: &str) {
        unpoisoned(&self.replaced).remove(index);
    }

    /// Sends a request with a JSON body and returns the answer, whatever its status. All requests that are sent this way
    /// may be repeated, so a server that is away, or has no room, is waited for.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, SinkError> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let mut patience = Patience::new(self.patience);
        loop {
            let sent = self.transmit(method, path, HeaderMap::new(), body.clone()).await;
            let retry_after = match &sent {
                Ok(answer) if matches!(answer.status, 429 | 502..=504) => answer.retry_after,
                Err(error) if error.class == ErrorClass::Transient => None,
                Ok(_) | Err(_) => return sent,
            };
            let Some(pause) = patience.pause(retry_after) else { return sent };
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends a request and returns the body of a good answer.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, SinkError> {
        self.send(method, path, body).await?.success()
    }

    pub async fn send_lines(&self, path: &str, body: Bytes, compressed: bool) -> Result<Answer, SinkError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        if compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        self.transmit(Method::Post, path, headers, Some(body)).await
    }

    async fn transmit(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Answer, SinkError> {
        let node = self.nodes.next();
        let sent = async {
            let response = node.transport.send(method, path, headers, None::<&()>, body, None).await?;
            if response.content_length().is_some_and(|bytes| bytes > MOST_ANSWERED as u64) {
                return Ok(Err(SinkError::too_large()));
            }
            let status = response.status_code().as_u16();
            let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = retry_after(wait);
            Ok::<_, elasticsearch::Error>(Ok(Answer { status, retry_after, body: response.bytes().await? }))
        };
        let answer = sent.await;
        if answer.is_ok() {
            node.answered()
        } else {
            node.lost()
        }
        answer.map_err(|error| SinkError::lost(&error))?
    }
}

impl Answer {
    /// The body of a good answer, or why it is none.
    pub fn success(self) -> Result<Value, SinkError> {
        if !(200..300).contains(&self.status) {
            return Err(SinkError::refused(self.status, &self.body));
        }
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body).map_err(|error| SinkError::foreign(&error))
    }

    /// Whether Elasticsearch says that there is no such index. Any other 404 comes from something else, such as a proxy.
    pub fn is_no_index(&self) -> bool {
        let kind = || serde_json::from_slice::<Value>(&self.body).ok()?["error"]["type"].as_str().map(str::to_owned);
        self.status == 404 && kind().as_deref() == Some("index_not_found_exception")
    }
}

fn transport(
    base: &str,
    auth: Option<&auth::Credentials>,
    config: &ElasticsearchConfig,
) -> Result<Transport, SinkError> {
    let address = base.parse().map_err(|_| SinkError::fatal("ELASTICSEARCH_URL has a malformed address"))?;
    let mut builder = TransportBuilder::new(SingleNodeConnectionPool::new(address)).timeout(config.timeout);
    if let Some(auth) = auth {
        builder = builder.auth(auth.clone());
    }
    if let Some(pem) = &config.authorities {
        let authorities = Certificate::from_pem(pem)
            .map_err(|error| SinkError::fatal(format!("VITRINA_ELASTICSEARCH_CA cannot be used: {error}")))?;
        builder = builder.cert_validation(CertificateValidation::Full(authorities));
    }
    builder.build().map_err(|error| SinkError::fatal(format!("Elasticsearch: {error}")))
}

fn introduction(credentials: &Credentials) -> Result<auth::Credentials, SinkError> {
    Ok(match credentials {
        Credentials::Basic { user, password } => auth::Credentials::Basic(user.clone(), password.expose().to_owned()),
        // It goes into a header as it is, and the client panics where that is impossible.
        Credentials::ApiKey(key) if key.expose().bytes().all(|byte| byte.is_ascii_graphic()) => {
            auth::Credentials::EncodedApiKey(key.expose().to_owned())
        }
        Credentials::ApiKey(_) => return Err(SinkError::fatal("the API key in ELASTICSEARCH_URL is malformed")),
    })
}
