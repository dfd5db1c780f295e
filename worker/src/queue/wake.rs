//! Wake-ups that are never lost.
//!
//! apalis asks its strategy whenever it may fetch. A notification that arrives while a fetch is under way could be
//! answered by that fetch, which began too early to see the job. So every wake-up is followed by a second one a moment
//! later: a fetch that *began after* the notification always happens.

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

/// When the second look follows.
const SECOND_LOOK: Duration = Duration::from_millis(10);

type Changed = Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send + Sync>>;

/// Fires on every change of a counter, and once more a moment later.
pub(super) struct Wake {
    changed: Changed,
    second_look: Option<Pin<Box<Sleep>>>,
}

impl Wake {
    pub fn new(wakeups: watch::Receiver<u64>) -> Self {
        Self { changed: next_change(wakeups), second_look: None }
    }
}

fn next_change(mut wakeups: watch::Receiver<u64>) -> Changed {
    Box::pin(async move {
        if wakeups.changed().await.is_err() {
            // Whoever wakes us is gone; the slow poll goes on.
            std::future::pending::<()>().await;
        }
        wakeups
    })
}

impl PollStrategy for Wake {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _snapshot: &PollSnapshot) -> Poll<Option<()>> {
        let mut fired = false;
        while let Poll::Ready(wakeups) = self.changed.as_mut().poll(cx) {
            fired = true;
            self.second_look = Some(Box::pin(sleep(SECOND_LOOK)));
            self.changed = next_change(wakeups);
        }
        if let Some(timer) = self.second_look.as_mut()
            && timer.as_mut().poll(cx).is_ready()
        {
            self.second_look = None;
            fired = true;
        }
        if fired { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
