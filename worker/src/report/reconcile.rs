//! Whether a target agrees with its source, how it differs, and the repair of just that.
//!
//! `scope` says which rows of the source should be there by now, whatever the target is; `mart` compares a table,
//! `index` an index.

mod index;
mod mart;
mod scope;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Mode, Report, TargetName, removal,
        report::{Depth, Reconciliation, Repair, Repaired},
    },
    lifecycle::{self, Cause},
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
    let subject = Subject::look(env, job, report).await?;
    refuse_steps(&subject, depth, repair)?;
    match subject.target.clone() {
        TargetName::Mart(table) => mart::Comparison::of(report, subject, table, depth).make(env, job, repair).await,
        TargetName::Index(name) => {
            index::Comparison::of(env, report, subject, name, (depth, repair))?.make(job, repair).await
        }
    }
}

/// Keys are compared as the query returns them, and rows as the plan's steps make them.
fn refuse_steps(subject: &Subject, depth: Depth, repair: Repair) -> Result<(), BatchError> {
    if let Some(step) = subject.steps.dropping() {
        return Err(BatchError::fatal(format!(
            "`{step}` drops rows of the query, and only a run knows which: run the pipeline instead, which leaves exactly the others"
        )));
    }
    if depth == Depth::Rows || repair != Repair::Nothing { subject.refuse_impure("the comparison") } else { Ok(()) }
}

/// A repair may remove as many rows as a run may, and of those targets that a full run may write.
async fn refuse_removal(tx: &mut PgConnection, subject: &Subject, found: &Reconciliation) -> Result<(), BatchError> {
    if subject.draft().mode == Mode::Incremental {
        lifecycle::refuse_shared_target(tx, &subject.pipeline).await?;
    }
    refuse_too_many(subject, found.extra.unwrap_or(0).unsigned_abs(), found.target_rows.unsigned_abs())
}

/// Rows may have gone from the source since it was compared.
fn refuse_too_many(subject: &Subject, removed: u64, of: u64) -> Result<(), BatchError> {
    let draft = subject.draft();
    match removal::refusal(draft.options.max_removed, removed, of, draft.final_target().0, &draft.name) {
        Some(refusal) => Err(BatchError::fatal(refusal)),
        None => Ok(()),
    }
}

/// Notes what a repair has removed. Rows may be another pipeline's.
async fn forget_others(
    tx: &mut PgConnection,
    job: &HeldReport,
    subject: &Subject,
    repaired: Repaired,
) -> Result<(), BatchError> {
    if repaired.removed == 0 {
        return Ok(());
    }
    let cause = Cause { actor: &job.worker, correlation_id: &job.job.correlation_id };
    Ok(lifecycle::forget_others(tx, subject.pipeline.id, subject.draft().final_target().0, cause).await?)
}

/// What is to be said of a query whose rows differ, and `unsteady` of which were read differently twice.
fn note(subject: &Subject, unsteady: i64) -> Option<String> {
    let calls = subject.reader.unsteady.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let because = match (unsteady, calls.is_empty()) {
        (0, true) => return None,
        (0, false) => format!("it uses {calls}"),
        (rows, true) => format!(
            "read twice, {rows} of the rows that differ came differently, as from an aggregate without an order"
        ),
        (rows, false) => format!("read twice, {rows} of the rows that differ came differently, and it uses {calls}"),
    };
    Some(format!(
        "the query is not deterministic ({because}): its rows differ after every run, and need not have drifted; have it \
         return the same values each time, or leave those columns out"
    ))
}
