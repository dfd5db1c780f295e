//! Which sink a target has: the only place that decides it.

use std::sync::Arc;

use vitrina_shared::{
    domain::TargetName,
    validation::{FoundTarget, TargetPlace},
};

use super::{BatchError, Opening, Sink, SinkKind, elasticsearch::Indexes, postgres::Marts};
use crate::elasticsearch::{Client, SinkError};

#[derive(Debug, Clone)]
pub struct Sinks(Vec<Arc<dyn SinkKind>>);

impl Sinks {
    /// Marts of the home database, and indexes, or why there can be none.
    pub fn new(elasticsearch: Result<Client, SinkError>) -> Self {
        Self(vec![Arc::new(Marts), Arc::new(Indexes(elasticsearch))])
    }

    /// The same and others.
    pub fn and(mut self, others: &[Arc<dyn SinkKind>]) -> Self {
        self.0.extend(others.iter().cloned());
        self
    }

    pub fn kinds(&self) -> &[Arc<dyn SinkKind>] {
        &self.0
    }

    pub fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError> {
        self.kind_of(opening.target)?.open(opening)
    }

    /// The table of the home database that a target is; none where it is outside of that.
    pub fn relation(&self, target: &TargetName) -> Option<String> {
        self.0.iter().find_map(|kind| kind.relation(target))
    }

    fn kind_of(&self, target: &FoundTarget) -> Result<&dyn SinkKind, BatchError> {
        let scheme = match &target.place {
            TargetPlace::Mart(..) => TargetName::MART_SCHEMA,
            TargetPlace::External(scheme, _) => scheme,
        };
        let (kind, target) = (self.0.iter().find(|kind| kind.scheme() == scheme), &target.entry.target);
        kind.map(|kind| &**kind).ok_or_else(|| BatchError::fatal(format!("this worker has no sink for `{target}`")))
    }
}
