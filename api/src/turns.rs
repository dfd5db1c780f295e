//! One at a time per key. Descriptions of queries take turns per author: an author who keeps the server busy with one query
//! waits for it, and no other author does. Changes take turns per pipeline, so that they do not overtake each other.
//! Commands take turns per pipeline too, before they have a connection: a row may be locked for long, and a request that
//! waits for it holds a connection.

use std::{
    collections::HashMap,
    future::Future,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tracing::Instrument;

use crate::problem::{ApiError, ApiResult};

/// The turns of all keys that are in use.
#[derive(Debug)]
pub struct Turns<K> {
    queues: Mutex<HashMap<K, Arc<Semaphore>>>,
    /// How long a request waits for earlier ones.
    patience: Duration,
    /// The answer when that time is over.
    busy: &'static str,
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// A request waits for its turn for `patience`; then it gets `busy`.
    pub fn new(patience: Duration, busy: &'static str) -> Self {
        Self { queues: Mutex::default(), patience, busy }
    }

    /// Waits for a turn, in the order of arrival.
    pub async fn take(&self, key: &K) -> ApiResult<OwnedSemaphorePermit> {
        self.take_within(key, self.patience).await
    }

    async fn take_within(&self, key: &K, patience: Duration) -> ApiResult<OwnedSemaphorePermit> {
        let queue = self.queue(key);
        match timeout(patience, queue.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(ApiError::TooMany(self.busy)),
        }
    }

    /// The queue of a key. Unused queues are removed.
    fn queue(&self, key: &K) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        queues.entry(key.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }
}

/// Executes work on a turn, in a task of its own: the statement of a cancelled request keeps waiting, with its connection,
/// and the next request must not get the turn before that has ended.
pub async fn finish<T: Send + 'static>(
    turn: OwnedSemaphorePermit,
    work: impl Future<Output = ApiResult<T>> + Send + 'static,
) -> ApiResult<T> {
    let work = async move {
        let done = work.await;
        drop(turn);
        done
    };
    tokio::spawn(work.in_current_span()).await.unwrap_or_else(|error| Err(ApiError::internal(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_author_has_one_turn_at_a_time_and_does_not_keep_others_waiting() {
        let turns = Turns::new(Duration::from_secs(10), "busy");
        let (anna, boris): (Arc<str>, Arc<str>) = ("anna".into(), "boris".into());
        let first = turns.take(&anna).await.expect("the first turn");
        assert!(matches!(turns.take_within(&anna, Duration::ZERO).await, Err(ApiError::TooMany(_))));
        assert!(turns.take(&boris).await.is_ok());
        drop(first);
        assert!(turns.take(&anna).await.is_ok());
        assert!(turns.take(&boris).await.is_ok());
        assert_eq!(turns.queues.lock().unwrap_or_else(PoisonError::into_inner).len(), 1, "idle queues are forgotten");
    }
}
