//! One chunk, until every one of its documents has found its fate.
//!
//! What the server had no room for is sent again, alone, after a pause that grows and has jitter. As long as something
//! gets through it goes on; without any progress it ends with the client's patience. Sending twice is harmless: a document
//! has one id.

use std::{sync::Arc, time::Duration};

use vitrina_shared::domain::ErrorClass;

use super::{
    super::{client::Answer, error::SinkError, patience::Patience},
    BulkEndpoint, Written,
    answer::{DocumentFate, fates},
    chunk::{Chunk, compress},
    limiter::Permit,
};

/// Delivers a chunk, for whose first request there is room. `Ok`: every document is acknowledged, or rejected by name.
pub async fn deliver(endpoint: Arc<BulkEndpoint>, chunk: Chunk, permit: Permit) -> Result<Written, SinkError> {
    let patience = Patience::new(endpoint.client.patience);
    let mut delivery = Delivery { patience, endpoint, permit: Some(permit), written: Written::default() };
    let mut waiting = vec![chunk];
    while let Some(chunk) = waiting.pop() {
        delivery.attempt(chunk, &mut waiting).await?;
    }
    Ok(delivery.written)
}

struct Delivery {
    endpoint: Arc<BulkEndpoint>,
    permit: Option<Permit>,
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
                Ok(fates) => self.count_fates(&chunk, fates, answer.retry_after, waiting).await,
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

    async fn send(&mut self, chunk: &Chunk) -> Result<Answer, SinkError> {
        let _permit = match self.permit.take() {
            Some(permit) => permit,
            None => self.endpoint.limiter.acquire().await,
        };
        let client = &self.endpoint.client;
        let body = chunk.body();
        if !client.gzip {
            return client.send_lines(&self.endpoint.path, body, false).await;
        }
        let compressed = tokio::task::spawn_blocking(move || compress(&body)).await;
        let body = compressed.map_err(|error| SinkError::lost(&error))?.map_err(|error| SinkError::lost(&error))?;
        client.send_lines(&self.endpoint.path, body, true).await
    }

    /// Counts what was acknowledged, keeps what was refused, and puts aside what must be sent again.
    async fn count_fates(
        &mut self,
        chunk: &Chunk,
        fates: Vec<DocumentFate>,
        retry_after: Option<Duration>,
        waiting: &mut Vec<Chunk>,
    ) -> Result<(), SinkError> {
        let (mut left, mut reason) = (Vec::new(), None);
        for (place, fate) in fates.into_iter().enumerate() {
            match fate {
                DocumentFate::Created => self.written.created += 1,
                DocumentFate::Updated => self.written.updated += 1,
                DocumentFate::Unchanged => self.written.unchanged += 1,
                DocumentFate::Superseded(version) => {
                    self.written.superseded += 1;
                    self.written.newest = self.written.newest.max(version);
                }
                DocumentFate::Deleted => self.written.deleted += 1,
                DocumentFate::Rejected(reason) => self.reject(chunk, place, reason),
                DocumentFate::Again(error) => {
                    left.push(place);
                    reason.get_or_insert(error);
                }
            }
        }
        if left.len() < chunk.len() {
            self.patience.renew();
        }
        let Some(reason) = reason else {
            self.endpoint.limiter.eased();
            return Ok(());
        };
        self.again(chunk.only(left), reason, retry_after, waiting).await
    }

    fn reject(&mut self, chunk: &Chunk, place: usize, reason: String) {
        self.written.rejected.extend(chunk.document(place).map(|document| document.rejected(reason)));
    }

    /// Waits, and puts the chunk back; or gives up.
    async fn again(
        &mut self,
        chunk: Chunk,
        error: SinkError,
        retry_after: Option<Duration>,
        waiting: &mut Vec<Chunk>,
    ) -> Result<(), SinkError> {
        self.endpoint.limiter.pressed();
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
