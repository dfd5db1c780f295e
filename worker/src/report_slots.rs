//! Room for reports: few at once, so that comparing a large mart neither takes the slots of batches nor the server's time;
//! and of one pipeline no two of a kind, so that whoever asks for many does not keep others waiting.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vitrina_shared::domain::{PipelineId, ReportKind};

use crate::mutex::unpoisoned;

/// Previews at once. They are short, and somebody waits for them.
const PREVIEWS: usize = 2;
/// Comparisons and replays at once: each keeps one of the server's cores busy for a while.
const COMPARISONS: usize = 1;

/// The slots of one worker.
#[derive(Debug)]
pub struct ReportSlots {
    previews: Arc<Semaphore>,
    comparisons: Arc<Semaphore>,
    pipelines: Mutex<HashSet<(Room, PipelineId)>>,
}

/// Reports that share their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Room {
    Previews,
    Comparisons,
}

impl Room {
    fn of(kind: ReportKind) -> Self {
        match kind {
            ReportKind::Preview => Self::Previews,
            ReportKind::Reconcile | ReportKind::Replay => Self::Comparisons,
        }
    }
}

impl Default for ReportSlots {
    fn default() -> Self {
        Self {
            previews: Arc::new(Semaphore::new(PREVIEWS)),
            comparisons: Arc::new(Semaphore::new(COMPARISONS)),
            pipelines: Mutex::default(),
        }
    }
}

impl ReportSlots {
    /// A slot, if one is free. A preview never waits behind a comparison.
    pub fn take(&self, kind: ReportKind) -> Option<OwnedSemaphorePermit> {
        let slots = match Room::of(kind) {
            Room::Previews => &self.previews,
            Room::Comparisons => &self.comparisons,
        };
        slots.clone().try_acquire_owned().ok()
    }

    /// The pipeline's only place among reports of this kind, if it is free.
    pub fn take_pipeline(&self, kind: ReportKind, pipeline: PipelineId) -> Option<PipelinePlace<'_>> {
        let place = (Room::of(kind), pipeline);
        unpoisoned(&self.pipelines).insert(place).then(|| PipelinePlace { slots: self, place })
    }
}

/// A pipeline's place, until it is dropped.
#[derive(Debug)]
pub struct PipelinePlace<'a> {
    slots: &'a ReportSlots,
    place: (Room, PipelineId),
}

impl Drop for PipelinePlace<'_> {
    fn drop(&mut self) {
        unpoisoned(&self.slots.pipelines).remove(&self.place);
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
