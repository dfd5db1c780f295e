//! Whether a target agrees with its source, how it differs, and the repair of just that.
//!
//! `scope` says which rows of the source should be there by now, whatever the target is; `mart` compares a table,
//! `index` an index.

mod index;
mod mart;
mod scope;

use vitrina_shared::{
    domain::{
        PipelineDraft, Report, TargetName, removal,
        report::{Depth, Reconciliation, Repair},
    },
    reports::HeldReport,
};

use super::subject::Subject;
use crate::{environment::Environment, error::BatchError};

/// Differences that a result shows.
const SAMPLE: usize = 20;

/// Compares, repairs if that is wanted, and ends the report.
pub async fn make(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    depth: Depth,
    repair: Repair,
) -> Result<(), BatchError> {
    let subject = Subject::look(env, report.pipeline_id).await?;
    match subject.target.clone() {
        TargetName::Mart(table) => mart::Comparison::of(report, subject, table, depth).make(env, job, repair).await,
        TargetName::Index(name) => index::Comparison::of(env, report, subject, name, depth)?.make(job, repair).await,
    }
}

/// A repair may remove as many rows as a run may.
fn refuse_removal(draft: &PipelineDraft, found: &Reconciliation) -> Result<(), BatchError> {
    let (removed, of) = (found.extra.unwrap_or(0).unsigned_abs(), found.target_rows.unsigned_abs());
    match removal::refusal(draft.options.max_removed, removed, of, draft.final_target().0, &draft.name) {
        Some(refusal) => Err(BatchError::fatal(refusal)),
        None => Ok(()),
    }
}
