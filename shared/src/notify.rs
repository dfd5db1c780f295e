//! LISTEN with its own ping and reconnect.
//!
//! A notification only tells a reader to read the tables, which are the truth. So a lost one costs only latency, and a
//! listener that was away wakes its readers once after it is back.

use std::time::Duration;

use rand::RngExt;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

pub const EVENTS_CHANNEL: &str = "vitrina_events";

/// How long the connection may be silent before we ask whether it is still there.
const PING_AFTER: Duration = Duration::from_secs(5);
/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How long it may take to connect and to subscribe.
const CONNECTS_WITHIN: Duration = Duration::from_secs(6);
/// Longest pause between two attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Counts wake-ups: a reader waits for `changed()`, then reads the table from where it was.
pub type Wakeups = watch::Receiver<u64>;

#[derive(Debug)]
pub enum Noticed<'a> {
    /// It connected: readers can now look for what they missed.
    Connected,
    /// All was silent for a while, and the connection is still there: nothing was missed.
    Silence,
    Notification {
        channel: &'a str,
        payload: &'a str,
    },
}

/// Listens on `channel` until `stop` is cancelled, over a connection of its own.
pub fn listen(options: PgConnectOptions, channel: &'static str, stop: CancellationToken) -> Wakeups {
    let (wake, wakeups) = watch::channel(0);
    follow(options, vec![channel], stop, move |noticed| match noticed {
        Noticed::Connected | Noticed::Notification { .. } => wake.send_modify(|count| *count += 1),
        Noticed::Silence => {}
    });
    wakeups
}

/// Hands everything that comes on `channels` to `notice` until `stop` is cancelled, over a connection of its own.
pub fn follow(
    options: PgConnectOptions,
    channels: Vec<&'static str>,
    stop: CancellationToken,
    notice: impl Fn(Noticed<'_>) + Send + Sync + 'static,
) {
    tokio::spawn(async move {
        tokio::select! {
            () = keep_listening(&options, &channels, &notice) => {}
            () = stop.cancelled() => {}
        }
    });
}

async fn keep_listening(options: &PgConnectOptions, channels: &[&str], notice: &(impl Fn(Noticed<'_>) + Sync)) {
    let mut failures = 0;
    loop {
        match timeout(CONNECTS_WITHIN, connect(options, channels)).await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(listener) => {
                failures = 0;
                let error = forward(listener, notice).await;
                tracing::warn!(?channels, error = %error, "the listener lost its connection");
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(?channels, error = %error, failures, "the listener cannot connect");
            }
        }
        tokio::time::sleep(backoff(failures)).await;
    }
}

/// Connects through a pool that is made for this one connection. A dropped listener sends `unlisten` and keeps its place in
/// the pool until the server has answered, which on a silent connection never happens.
async fn connect(options: &PgConnectOptions, channels: &[&str]) -> Result<PgListener, sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ANSWER_WITHIN)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen_all(channels.iter().copied()).await?;
    Ok(listener)
}

/// Passes notifications and silences on, until the connection is lost.
async fn forward(mut listener: PgListener, notice: &(impl Fn(Noticed<'_>) + Sync)) -> sqlx::Error {
    notice(Noticed::Connected);
    loop {
        match timeout(PING_AFTER, listener.try_recv()).await {
            Ok(Ok(Some(message))) => {
                notice(Noticed::Notification { channel: message.channel(), payload: message.payload() });
            }
            Ok(Ok(None)) => return sqlx::Error::PoolClosed,
            Ok(Err(error)) => return error,
            Err(_silence) => {
                if let Err(error) = ping(&mut listener).await {
                    return error;
                }
                notice(Noticed::Silence);
            }
        }
    }
}

/// A half-open connection would be silent forever.
async fn ping(listener: &mut PgListener) -> Result<(), sqlx::Error> {
    match timeout(ANSWER_WITHIN, sqlx::query("select 1").execute(listener)).await {
        Ok(answer) => answer.map(|_| ()),
        Err(_silence) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// Grows from 50 ms with every failure, with jitter so that replicas do not return together.
fn backoff(failures: u32) -> Duration {
    let ceiling = Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(failures)).min(MAX_BACKOFF);
    ceiling.mul_f64(rand::rng().random_range(0.5..=1.0))
}
