//! Which sink a target has: the only place that decides it.

use std::sync::Arc;

use sqlx::PgConnection;
use vitrina_shared::{
    config::WorkerConfig,
    domain::TargetName,
    validation::{FoundTarget, TargetPlace},
};

use super::{BatchError, Opening, Sink, SinkKind, elasticsearch::Indexes, postgres::Marts};
use crate::elasticsearch::Client;

#[derive(Debug, Clone)]
pub struct Sinks(Vec<Arc<dyn SinkKind>>);

impl Sinks {
    /// The sinks that every worker has: marts of the home database, and indexes.
    pub fn of(config: &WorkerConfig) -> Self {
        Self(vec![Arc::new(Marts), Arc::new(Indexes(Client::new(&config.elasticsearch)))])
    }

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

    /// Finds out what a report needs to know of a target besides what the API does.
    pub async fn complete_target(&self, db: &mut PgConnection, target: &mut FoundTarget) -> Result<(), BatchError> {
        self.kind_of(target)?.complete_target(db, target).await
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
