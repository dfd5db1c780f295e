//! Room for reports: few at once, so that comparing a large mart neither takes the slots of batches nor the server's time;
//! and of one pipeline no two of a kind, so that many requests for one pipeline do not delay those for others.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vitrina_shared::domain::{PipelineId, ReportKind};

use crate::mutex::unpoisoned;

/// Previews at once. They are short, and a client waits for them.
const PREVIEWS: usize = 2;
/// Comparisons and replays at once: each keeps one of the server's cores busy for a while.
const COMPARISONS: usize = 1;

#[derive(Debug)]
pub struct ReportSlots {
    previews: Room,
    comparisons: Room,
}

/// Reports that share their slots, and the pipelines that they are of.
#[derive(Debug)]
struct Room {
    slots: Arc<Semaphore>,
    pipelines: Mutex<HashSet<PipelineId>>,
}

impl Default for ReportSlots {
    fn default() -> Self {
        let room = |slots| Room { slots: Arc::new(Semaphore::new(slots)), pipelines: Mutex::default() };
        Self { previews: room(PREVIEWS), comparisons: room(COMPARISONS) }
    }
}

impl ReportSlots {
    fn room(&self, kind: ReportKind) -> &Room {
        match kind {
            ReportKind::Preview => &self.previews,
            ReportKind::Reconcile | ReportKind::Replay => &self.comparisons,
        }
    }

    /// A slot, if one is free. A preview never waits behind a comparison.
    pub fn take(&self, kind: ReportKind) -> Option<OwnedSemaphorePermit> {
        self.room(kind).slots.clone().try_acquire_owned().ok()
    }

    /// The pipeline's only place among reports of this kind, if it is free.
    pub fn take_pipeline(&self, kind: ReportKind, pipeline: PipelineId) -> Option<PipelinePlace<'_>> {
        let room = self.room(kind);
        unpoisoned(&room.pipelines).insert(pipeline).then(|| PipelinePlace { room, pipeline })
    }
}

/// A pipeline's place, until it is dropped.
#[derive(Debug)]
pub struct PipelinePlace<'a> {
    room: &'a Room,
    pipeline: PipelineId,
}

impl Drop for PipelinePlace<'_> {
    fn drop(&mut self) {
        unpoisoned(&self.room.pipelines).remove(&self.pipeline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_has_one_preview_and_one_comparison_or_replay_at_a_time() {
        let (slots, one, other) = (ReportSlots::default(), PipelineId::generate(), PipelineId::generate());
        let preview = slots.take_pipeline(ReportKind::Preview, one).expect("the first");
        assert!(slots.take_pipeline(ReportKind::Preview, one).is_none());
        assert!(slots.take_pipeline(ReportKind::Preview, other).is_some());
        let _comparison = slots.take_pipeline(ReportKind::Reconcile, one).expect("it is no preview");
        assert!(slots.take_pipeline(ReportKind::Replay, one).is_none());
        drop(preview);
        assert!(slots.take_pipeline(ReportKind::Preview, one).is_some());
    }
}
