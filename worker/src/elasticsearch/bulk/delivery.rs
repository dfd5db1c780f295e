//! One chunk, until every one of its documents has found its fate.
//!
//! What the server had no room for is sent again, alone, after a pause that grows and has jitter. As long as something
//! gets through it goes on; without any progress it ends with the client's patience. Sending twice is harmless: a document
//! has one id.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rand::RngExt;
use vitrina_shared::domain::ErrorClass;

use super::{
    super::{client::Answer, error::SinkError},
    Rejected, Route, Written,
    answer::{Fate, fates},
    chunk::{Chunk, compress},
};

/// The first pause; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Delivers a chunk. `Ok` means that every document is acknowledged, or rejected by name.
pub async fn deliver(route: Arc<Route>, chunk: Chunk) -> Result<Written, SinkError> {
    let mut delivery =
        Delivery { patience: Patience::new(route.client.patience()), route, written: Written::default() };
    let mut waiting = vec![chunk];
    while let Some(chunk) = waiting.pop() {
        delivery.attempt(chunk, &mut waiting).await?;
    }
    Ok(delivery.written)
}

struct Delivery {
    route: Arc<Route>,
    written: Written,
    patience: Patience,
}

impl Delivery {
    /// Sends a chunk once; what is left to send is put on the pile.
    async fn attempt(&mut self, chunk: Chunk, waiting: &mut Vec<Chunk>) -> Result<(), SinkError> {
        let answer = match self.send(&chunk).await {
            Ok(answer) => answer,
            Err(error) => return self.again(chunk, error, None, waiting).await,
        };
        match answer.status {
            200..=299 => match fates(&answer.body, chunk.len()) {
                Ok(fates) => self.settle(&chunk, fates, answer.retry_after, waiting).await,
                Err(error) if error.class == ErrorClass::Transient => self.again(chunk, error, None, waiting).await,
                Err(error) => Err(error),
            },
            413 => self.too_large(&chunk, waiting),
            429 | 502..=504 => {
                let error = SinkError::refused(answer.status, &answer.body);
                self.again(chunk, error, answer.retry_after, waiting).await
            }
            status => Err(SinkError::refused(status, &answer.body)),
        }
    }

    async fn send(&self, chunk: &Chunk) -> Result<Answer, SinkError> {
        let _permit = self.route.limiter.acquire().await;
        let client = &self.route.client;
        let body = chunk.body();
        if !client.gzip() {
            return client.send_lines(&self.route.path, body, false).await;
        }
        let compressed = tokio::task::spawn_blocking(move || compress(&body)).await;
        let body = compressed.map_err(|error| SinkError::lost(&error))?.map_err(|error| SinkError::lost(&error))?;
        client.send_lines(&self.route.path, body, true).await
    }

    /// Counts what was acknowledged, keeps what was refused, and puts aside what must be sent again.
    async fn settle(
        &mut self,
        chunk: &Chunk,
        fates: Vec<Fate>,
        retry_after: Option<Duration>,
        waiting: &mut Vec<Chunk>,
    ) -> Result<(), SinkError> {
        let (mut left, mut reason) = (Vec::new(), None);
        for (place, fate) in fates.into_iter().enumerate() {
            match fate {
                Fate::Created => self.written.created += 1,
                Fate::Updated => self.written.updated += 1,
                Fate::Unchanged => self.written.unchanged += 1,
                Fate::Superseded => self.written.superseded += 1,
                Fate::Deleted => self.written.deleted += 1,
                Fate::Rejected(reason) => self.reject(chunk, place, reason),
                Fate::Again(error) => {
                    left.push(place);
                    reason.get_or_insert(error);
                }
            }
        }
        if left.len() < chunk.len() {
            self.patience.renew();
        }
        let Some(reason) = reason else {
            self.route.limiter.eased();
            return Ok(());
        };
        self.again(chunk.only(left), reason, retry_after, waiting).await
    }

    fn reject(&mut self, chunk: &Chunk, place: usize, reason: String) {
        self.written.rejected.extend(chunk.document(place).map(|document| Rejected { document, reason }));
    }

    /// Waits, and puts the chunk back; or gives up.
    async fn again(
        &mut self,
        chunk: Chunk,
        error: SinkError,
        retry_after: Option<Duration>,
        waiting: &mut Vec<Chunk>,
    ) -> Result<(), SinkError> {
        self.route.limiter.pressed();
        let Some(pause) = self.patience.pause(retry_after) else { return Err(error) };
        tracing::debug!(documents = chunk.len(), pause_ms = pause.as_millis(), error = %error, "sending again");
        tokio::time::sleep(pause).await;
        waiting.push(chunk);
        Ok(())
    }

    /// The server takes smaller requests only: half of it, or this document is too large for it.
    fn too_large(&mut self, chunk: &Chunk, waiting: &mut Vec<Chunk>) -> Result<(), SinkError> {
        if chunk.len() > 1 {
            waiting.extend(chunk.halves());
        } else {
            let reason = format!(
                "the document has {} bytes, more than the server takes in one request (http.max_content_length)",
                chunk.body().len()
            );
            self.reject(chunk, 0, reason);
        }
        Ok(())
    }
}

/// How long to go on without progress, and the pauses meanwhile.
struct Patience {
    limit: Duration,
    since: Option<Instant>,
    next: Duration,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self { limit, since: None, next: FIRST_PAUSE }
    }

    fn renew(&mut self) {
        *self = Self::new(self.limit);
    }

    /// The next pause: what the server asks for, or ours. None when it would go beyond the limit.
    fn pause(&mut self, retry_after: Option<Duration>) -> Option<Duration> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let own = self.next.mul_f64(rand::rng().random_range(0.5..=1.0));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        let pause = retry_after.map_or(own, |asked| asked.max(own));
        (since.elapsed() + pause <= self.limit).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_jitter_and_end_with_the_limit() {
        let mut patience = Patience::new(Duration::from_secs(3600));
        for expected in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            let pause = patience.pause(None).expect("within the limit").as_millis();
            assert!((expected / 2..=expected).contains(&pause), "{pause}");
        }
        assert_eq!(patience.pause(Some(Duration::from_secs(3601))), None);
        assert_eq!(patience.pause(Some(Duration::from_secs(30))), Some(Duration::from_secs(30)));
        assert_eq!(Patience::new(Duration::ZERO).pause(None), None);
    }
}
