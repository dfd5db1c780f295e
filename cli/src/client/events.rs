//! `/events` as a stream that survives lost connections: it comes back with the id of the last event that was seen, so
//! no transition is lost or repeated. Progress has no id; a lost one is replaced by the next.

mod lines;

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use reqwest::{Method, header};
use serde_json::Value;
use vitrina_shared::progress::Progress;

use self::lines::{Lines, Message};
use super::{
    Client, ClientError, Transition,
    request::{Request, segment},
};

/// The API sends something at least every ten seconds.
const SILENCE: Duration = Duration::from_secs(25);
/// The pause before the first attempt to come back; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const GIVE_UP_AFTER: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub enum Event {
    /// A status change, typed and as the API's JSON.
    Transition(Transition, Value),
    /// Progress of a run, likewise.
    Progress(Progress, Value),
    /// The connection was lost; the next event comes after it is back.
    Lost(ClientError),
    Back,
}

pub struct Events {
    client: Client,
    path: String,
    last_id: Option<String>,
    lines: Option<Lines>,
    lost_at: Option<Instant>,
    pause: Duration,
}

impl Client {
    /// Follows what happens from now on, to one pipeline or to all.
    pub async fn follow(&self, pipeline: Option<&str>) -> Result<Events, ClientError> {
        Events::open(self, pipeline, "").await
    }

    /// The newest entries of the log, and then, with `follow`, what happens from now on.
    pub async fn log(&self, pipeline: Option<&str>, last: u32, follow: bool) -> Result<Events, ClientError> {
        Events::open(self, pipeline, &format!("&last={last}&follow={follow}")).await
    }
}

impl Events {
    async fn open(client: &Client, pipeline: Option<&str>, parameters: &str) -> Result<Self, ClientError> {
        let only = pipeline.map(|name| format!("&pipeline={}", segment(name))).unwrap_or_default();
        let path = format!("events?{}", format!("{only}{parameters}").trim_start_matches('&'));
        let client = client.clone();
        let mut events = Self { client, path, last_id: None, lines: None, lost_at: None, pause: PAUSE };
        let connected = events.connect().await;
        events.client.of_pipeline(pipeline.unwrap_or_default(), connected).await?;
        Ok(events)
    }

    /// The next event; `None` when the API has ended a stream that does not follow. Dropping the future loses no event.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            let Some(lines) = &mut self.lines else {
                self.come_back().await?;
                return Ok(Some(Event::Back));
            };
            let deadline = lines.heard_at() + SILENCE;
            match tokio::time::timeout_at(deadline.into(), lines.next()).await {
                Ok(Some(Ok(message))) => {
                    self.last_id = message.id.clone().or_else(|| self.last_id.take());
                    if let Some(event) = read(&message) {
                        return Ok(Some(event));
                    }
                }
                Ok(None) if self.path.contains("follow=false") => return Ok(None),
                Ok(Some(Err(error))) => return Ok(Some(self.lose(error))),
                Ok(None) => return Ok(Some(self.lose(self.broken("the API ended the stream")))),
                Err(_) => return Ok(Some(self.lose(self.broken("nothing came for a while")))),
            }
        }
    }

    fn broken(&self, reason: &str) -> ClientError {
        ClientError::Lost { address: self.client.address.clone(), reason: reason.to_owned() }
    }

    fn lose(&mut self, error: ClientError) -> Event {
        self.lines = None;
        self.lost_at = Some(Instant::now());
        self.pause = PAUSE;
        Event::Lost(error)
    }

    async fn come_back(&mut self) -> Result<(), ClientError> {
        loop {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            match self.connect().await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_passing() && self.lost_at.is_none_or(|at| at.elapsed() < GIVE_UP_AFTER) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        // A stream has no time limit; only its silence is bounded.
        let mut request = Request::new(Method::GET, &self.path).within(Duration::from_secs(365 * 24 * 3600));
        request = request.header(header::ACCEPT.as_str(), "text/event-stream".to_owned());
        if let Some(id) = &self.last_id {
            request = request.header("Last-Event-ID", id.clone());
        }
        let answer = self.client.answer(request).await?;
        let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            let (url, status) = (answer.url().to_string(), answer.status().as_u16());
            return Err(ClientError::NotVitrina { url, status, to: None });
        }
        let client = self.client.clone();
        let bytes = answer.bytes_stream().map(move |part| match part {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(error) => Err(client.lost(&error)),
        });
        self.lines = Some(Lines::new(bytes.boxed()));
        Ok(())
    }
}

/// The item of a message; none for unknown messages of a newer API.
fn read(message: &Message) -> Option<Event> {
    let value: Value = serde_json::from_str(&message.data).ok()?;
    match message.name.as_str() {
        "transition" => Some(Event::Transition(serde_json::from_value(value.clone()).ok()?, value)),
        "progress" => Some(Event::Progress(serde_json::from_value(value.clone()).ok()?, value)),
        _ => None,
    }
}
