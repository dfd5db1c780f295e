//! One at a time per author: whoever keeps the server busy with one query waits for it, and nobody else does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::problem::{ApiError, ApiResult};

/// How long a request waits for an earlier one of the same author.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns of all authors. There are as many as the deployment has tokens.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<Arc<str>, Arc<Semaphore>>>);

impl Turns {
    /// Waits for the author's turn.
    pub async fn take(&self, author: &Arc<str>) -> ApiResult<OwnedSemaphorePermit> {
        self.take_within(author, PATIENCE).await
    }

    async fn take_within(&self, author: &Arc<str>, patience: Duration) -> ApiResult<OwnedSemaphorePermit> {
        let turns = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(author.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        match timeout(patience, turns.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(ApiError::TooMany(
                "the server is still busy with an earlier query of this token, one is read at a time",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_author_has_one_turn_at_a_time_and_does_not_keep_others_waiting() {
        let turns = Turns::default();
        let (anna, boris): (Arc<str>, Arc<str>) = ("anna".into(), "boris".into());
        let first = turns.take(&anna).await.expect("the first turn");
        assert!(matches!(turns.take_within(&anna, Duration::ZERO).await, Err(ApiError::TooMany(_))));
        assert!(turns.take(&boris).await.is_ok());
        drop(first);
        assert!(turns.take(&anna).await.is_ok());
    }
}
