//! Room for reports: few at once, so that comparing a large mart neither takes the slots of batches nor the server's time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vitrina_shared::domain::ReportKind;

/// Previews at once. They are short, and somebody waits for them.
const PREVIEWS: usize = 2;
/// Comparisons and replays at once: each keeps one of the server's cores busy for a while.
const COMPARISONS: usize = 1;

/// The slots of one worker.
#[derive(Debug)]
pub struct ReportSlots {
    previews: Arc<Semaphore>,
    comparisons: Arc<Semaphore>,
}

impl Default for ReportSlots {
    fn default() -> Self {
        Self { previews: Arc::new(Semaphore::new(PREVIEWS)), comparisons: Arc::new(Semaphore::new(COMPARISONS)) }
    }
}

impl ReportSlots {
    /// A slot, if one is free. A preview never waits behind a comparison.
    pub fn take(&self, kind: ReportKind) -> Option<OwnedSemaphorePermit> {
        let slots = match kind {
            ReportKind::Preview => &self.previews,
            ReportKind::Reconcile | ReportKind::Replay => &self.comparisons,
        };
        slots.clone().try_acquire_owned().ok()
    }
}
