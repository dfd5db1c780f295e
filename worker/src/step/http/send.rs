//! One request, from its token to the note of its answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sqlx::PgPool;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::{
    domain::{
        ErrorClass, PipelineId,
        transform::http::{Class, Request},
    },
    store::{
        calls::{self, Caller, Claim},
        limits::{self, Token},
        pool_keys::Chosen,
    },
};

use super::{
    NAME, Service,
    client::Client,
    measured,
    reading::{self, Meaning},
};
use crate::step::{StepCounts, StepError};

/// How far ahead a token of a limit may be.
const AHEAD: Duration = Duration::from_secs(1);
/// How long the note of an answer may take, beside the request itself.
const NOTED_WITHIN: Duration = Duration::from_secs(15);
/// How often the note of an answer is tried.
const NOTES: u32 = 5;

/// What is sent, and for which calls.
#[derive(Debug)]
pub struct Sending {
    pub pipeline: PipelineId,
    /// The pipeline's name.
    pub name: String,
    pub counts: Arc<StepCounts>,
    /// How many are sent side by side with it.
    pub lanes: u32,
    pub run: Uuid,
    pub keys: Vec<Vec<u8>>,
    pub inputs: Vec<Vec<u8>>,
    pub idempotency_key: Uuid,
    pub request: Request,
    /// The key by which a call was submitted, where this polls it.
    pub polls: Option<Polled>,
}

#[derive(Debug)]
pub struct Polled {
    pub key_fingerprint: Option<String>,
    pub is_overdue: bool,
}

/// What became of a request.
#[derive(Debug)]
pub enum Sent {
    /// A call was sent, and what became of it is noted.
    Called,
    /// What became of a call that was sent before is noted.
    Noted,
    /// It was not sent: the limit or the pool of keys of this name says not before.
    NotBefore(Duration, String),
    /// It was not sent: the step is not wanted any more, or another attempt sends it.
    Left,
}

/// Sends a request as soon as it may be sent. Once it is noted as sent it goes on to the note of its answer, also where the batch
/// was given up: the answer may be paid for.
pub async fn send_call(service: Arc<Service>, sending: Sending, stop: CancellationToken) -> Result<Sent, StepError> {
    let Ok(_room) = service.room.acquire().await else { return Ok(Sent::Left) };
    if let (Some(poll), Some(Polled { is_overdue: true, .. })) = (&service.step.poll, &sending.polls) {
        let overdue = reading::overdue(poll);
        note(&service, &sending, &overdue).await?;
        measured::observe_outcome(&sending.name, &overdue);
        return Ok(Sent::Noted);
    }
    let key = match key(&service, &sending).await? {
        Ok(key) => key,
        Err(refused) => return Ok(refused),
    };
    let headers = headers(&service, &sending, key.as_deref())?;
    if let Some(refused) = token(&service, &sending, &stop).await? {
        return Ok(refused);
    }
    if stop.is_cancelled() {
        return Ok(Sent::Left);
    }
    let Some(attempt) = claim(&service, &sending, key.as_deref()).await? else { return Ok(Sent::Left) };
    let meaning = ask(&service, &sending, headers, attempt).await;
    note(&service, &sending, &meaning).await?;
    measured::observe_outcome(&sending.name, &meaning);
    follow(&service, &meaning, key.as_deref()).await?;
    Ok(if sending.polls.is_some() { Sent::Noted } else { Sent::Called })
}

/// Waits for a token of the limit; what keeps the request from being sent, if anything does.
async fn token(service: &Service, sending: &Sending, stop: &CancellationToken) -> Result<Option<Sent>, StepError> {
    let Some(limit) = &service.step.limit else { return Ok(None) };
    let taken = limits::take(&mut *connect(&service.db).await?, limit, AHEAD).await.map_err(away)?;
    match taken {
        Some(Token::Taken(after)) => {
            if !after.is_zero() {
                measured::observe_wait(&sending.name, after);
                // Of the step's time that is the part of one of several.
                sending.counts.note_wait(after / sending.lanes.max(1), limit);
            }
            tokio::select! {
                () = sleep(after) => Ok(None),
                () = stop.cancelled() => Ok(Some(Sent::Left)),
            }
        }
        Some(Token::NotBefore(after)) => Ok(Some(Sent::NotBefore(after, limit.clone()))),
        None => Err(missing_limit(limit)),
    }
}

pub fn missing_limit(limit: &str) -> StepError {
    let message =
        format!("there is no limit `{limit}`: make it with `vitrina limits set {limit} --tokens 10 --period 1s`");
    StepError::ours(ErrorClass::Fatal, message)
}

/// The key that the request is sent with, if the step takes one.
async fn key(service: &Service, sending: &Sending) -> Result<Result<Option<String>, Sent>, StepError> {
    let Some(pool) = &service.keys else { return Ok(Ok(None)) };
    if let Some(submitted) = sending.polls.as_ref().and_then(|polled| polled.key_fingerprint.clone()) {
        return Ok(Ok(Some(submitted)));
    }
    match pool.choose(&mut *connect(&service.db).await?).await.map_err(away)? {
        Chosen::Key(key) => Ok(Ok(Some(key))),
        Chosen::Resting(after) => Ok(Err(Sent::NotBefore(after, pool.name().to_owned()))),
        Chosen::Refused => Err(StepError::ours(
            ErrorClass::Quota,
            format!(
                "the service accepts none of the keys of VITRINA_KEYS_{0}: exchange them, or let them be tried again with \
                 `vitrina limits forget-keys {0}`",
                pool.name(),
            ),
        )),
    }
}

/// Notes that the request is sent now, and returns the number of this attempt. A poll changes nothing, so it is not noted.
async fn claim(service: &Service, sending: &Sending, key: Option<&str>) -> Result<Option<i32>, StepError> {
    if sending.polls.is_some() {
        return Ok(Some(1));
    }
    let claim = Claim {
        keys: &sending.keys,
        inputs: &sending.inputs,
        idempotency_key: sending.idempotency_key,
        run: sending.run,
        key_fingerprint: key,
        lease: service.timeout + NOTED_WITHIN,
    };
    calls::claim(&mut *connect(&service.db).await?, caller(sending), &claim).await.map_err(away)
}

/// What a request says besides what the plan says: its key, and the id by which the service knows the call.
fn headers(service: &Service, sending: &Sending, key: Option<&str>) -> Result<HeaderMap, StepError> {
    let mut headers = HeaderMap::new();
    if let (Some(pool), Some(key)) = (&service.keys, key) {
        pool.add(&mut headers, key).map_err(|message| StepError::ours(ErrorClass::Fatal, message))?;
    }
    if let (Some(name), None) = (&service.step.idempotency_header, &sending.polls)
        && let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&sending.idempotency_key.to_string()))
    {
        headers.insert(name, value);
    }
    Ok(headers)
}

async fn ask(service: &Service, sending: &Sending, headers: HeaderMap, attempt: i32) -> Meaning {
    let step = &service.step;
    let bounds = (service.timeout, step.max_answer_bytes);
    let client: &Client = if sending.polls.is_some() { &service.polled } else { &service.client };
    let began = Instant::now();
    let mut reply = client.send(&sending.request, headers, bounds).await;
    if let (Ok(reply), Some(pool)) = (&mut reply, &service.keys) {
        reply.body = pool.conceal(std::mem::take(&mut reply.body));
    }
    measured::observe_request(&sending.name, began.elapsed());
    match (reply, &step.poll, &sending.polls) {
        (Ok(reply), Some(poll), Some(_)) => reading::of_poll(step, poll, &reply),
        (Ok(reply), _, _) => reading::of_request(step, sending.keys.len(), &reply, attempt),
        (Err(_), Some(poll), Some(_)) => reading::poll_again(poll),
        (Err(words), _, _) => Meaning::failed(words, None, attempt),
    }
}

/// Notes what became of a request. An answer is worth several tries.
async fn note(service: &Service, sending: &Sending, meaning: &Meaning) -> Result<(), StepError> {
    let answers: Vec<Option<String>> = match &meaning.answers {
        Some(answers) => answers.iter().cloned().map(Some).collect(),
        None => sending.keys.iter().map(|_| None).collect(),
    };
    let mut tries = 0;
    loop {
        let noted = async {
            let mut connection = service.db.acquire().await?;
            let of = (caller(sending), sending.idempotency_key);
            calls::note(&mut connection, of.0, of.1, &sending.keys, &answers, &meaning.outcome).await
        };
        match noted.await {
            Ok(()) => return Ok(()),
            Err(error) if tries == NOTES => return Err(away(error)),
            Err(_) => tries += 1,
        }
        sleep(Duration::from_millis(200) * tries).await;
    }
}

/// What the class of an answer means for the key, the limit and the run.
async fn follow(service: &Service, meaning: &Meaning, key: Option<&str>) -> Result<(), StepError> {
    let words = || meaning.outcome.error.clone().unwrap_or_default();
    let of_key = service.keys.as_ref().zip(key);
    match (meaning.class, of_key) {
        (None, Some((pool, key))) => {
            pool.answered(&mut *connect(&service.db).await?, key).await.map_err(away)?;
        }
        (Some(Class::RateLimited), Some((pool, key))) => {
            pool.rest(&mut *connect(&service.db).await?, key, meaning.pause).await.map_err(away)?;
        }
        (Some(Class::RateLimited), None) => {
            if let (Some(limit), Some(pause)) = (&service.step.limit, meaning.outcome.next_look) {
                limits::rest(&mut *connect(&service.db).await?, limit, pause).await.map_err(away)?;
            }
        }
        (Some(Class::Unauthorized), Some((pool, key))) => {
            let status = meaning.outcome.status.map(|status| status.to_string()).unwrap_or_default();
            pool.refuse(&mut *connect(&service.db).await?, key, &status).await.map_err(away)?;
        }
        (Some(Class::Unauthorized), None) => return Err(StepError::new(ErrorClass::Quota, words())),
        (Some(Class::Quota), _) => return Err(StepError::new(ErrorClass::Quota, words())),
        (Some(Class::Redirected), _) => {
            let message = "the service leads to another server: name that one in the plan";
            return Err(StepError::ours(ErrorClass::Fatal, message));
        }
        (None | Some(Class::Temporary | Class::Refused), _) => {}
    }
    Ok(())
}

fn caller(sending: &Sending) -> Caller<'static> {
    Caller { pipeline: sending.pipeline, step: NAME }
}

/// A connection of the calls' own: the batch's has its transaction open.
pub async fn connect(db: &PgPool) -> Result<sqlx::pool::PoolConnection<sqlx::Postgres>, StepError> {
    db.acquire().await.map_err(away)
}

/// The database did not answer: no attempt of the batch has failed with that.
pub fn away(error: sqlx::Error) -> StepError {
    match error.as_database_error() {
        Some(server) if !matches!(server.code().as_deref(), Some("57P01" | "57P02" | "57P03" | "53300")) => {
            StepError::ours(ErrorClass::Transient, format!("noting a call failed: {}", server.message()))
        }
        Some(_) | None => StepError::awaits(Duration::from_millis(500), "the database is away"),
    }
}
