//! Which sink a target has: the only place that decides it.

use std::sync::Arc;

use vitrina_shared::{domain::TargetName, validation::TargetPlace};

use super::{BatchError, Opening, Sink, SinkKind, elasticsearch::Indexes, postgres::Marts};
use crate::elasticsearch::{Client, SinkError};

/// The kinds of sinks that a worker has.
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

    /// All kinds.
    pub fn kinds(&self) -> &[Arc<dyn SinkKind>] {
        &self.0
    }

    /// The sink of a target.
    pub fn open(&self, opening: &Opening<'_>) -> Result<Arc<dyn Sink>, BatchError> {
        let scheme = match &opening.target.place {
            TargetPlace::Mart(..) => TargetName::MART_SCHEMA,
            TargetPlace::External(scheme, _) => scheme,
        };
        let kind = self.0.iter().find(|kind| kind.scheme() == scheme);
        let target = &opening.target.entry.target;
        kind.ok_or_else(|| BatchError::fatal(format!("this worker has no sink for `{target}`")))?.open(opening)
    }
}
