//! Wake-ups that are never lost.
//!
//! apalis asks its strategy whenever it may fetch. A notification that arrives while a fetch is under way could be answered by
//! that fetch, which began too early to see the job. So a wake-up stays due until a fetch *began after* it: the queue has
//! connections of its own, and every fetch takes one.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use apalis_core::backend::ext::poll_strategy::{PollSnapshot, PollStrategy};
use tokio::{
    sync::watch,
    time::{Sleep, sleep},
};
use vitrina_shared::database::Watch;

/// How soon apalis is asked again to fetch while a wake-up is due. The database is not asked more often for that.
const AGAIN: Duration = Duration::from_millis(10);

type Changed = Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send + Sync>>;

/// Fires on every change of a counter, and until a fetch has begun since.
pub struct Wake {
    changed: Changed,
    connections: Watch,
    /// How often a connection had been taken when the last wake-up came.
    due: Option<u64>,
    again: Option<Pin<Box<Sleep>>>,
}

impl Wake {
    /// `connections` are those of the queue.
    pub fn new(wakeups: watch::Receiver<u64>, connections: Watch) -> Self {
        Self { changed: next_change(wakeups), connections, due: None, again: None }
    }
}

fn next_change(mut wakeups: watch::Receiver<u64>) -> Changed {
    Box::pin(async move {
        if wakeups.changed().await.is_err() {
            // The sender is gone; the slow poll goes on.
            std::future::pending::<()>().await;
        }
        wakeups
    })
}

impl PollStrategy for Wake {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _snapshot: &PollSnapshot) -> Poll<Option<()>> {
        while let Poll::Ready(wakeups) = self.changed.as_mut().poll(cx) {
            self.due = Some(self.connections.taken());
            self.changed = next_change(wakeups);
        }
        if self.due.is_none() {
            return Poll::Pending;
        }
        let mut again = Box::pin(sleep(AGAIN));
        // Only for its waker: it has just begun.
        let _pending = again.as_mut().poll(cx);
        self.again = Some(again);
        Poll::Ready(Some(()))
    }

    fn on_poll(&mut self, _snapshot: &PollSnapshot) {
        if self.due.is_some_and(|before| self.connections.taken() > before) {
            (self.due, self.again) = (None, None);
        }
    }
}
