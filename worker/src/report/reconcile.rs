//! Whether a target agrees with its source, how it differs, and the repair of just that. The sink compares and mends.

use std::time::Instant;

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{
        Mode, Report,
        report::{Depth, Reconciliation, Repair, Repaired, Verdict},
    },
    lifecycle::{self, Cause},
    reports::HeldReport,
    store,
};

use super::{finish, keep_runs_away, subject};
use crate::{
    environment::Environment,
    error::{BatchError, at_commit},
    sink::{Compared, Comparing, RemovalLimit, Sink, Subject, Writing, refuse_unfinished},
};

/// Compares, repairs if that is wanted, and ends the report.
pub async fn compare_target(
    env: &Environment,
    job: &HeldReport,
    report: &Report,
    depth: Depth,
    repair: Repair,
) -> Result<(), BatchError> {
    let begun = Instant::now();
    let (subject, sink) = subject::open(env, job, report, |walk| walk).await?;
    refuse_steps(&subject, depth, repair)?;
    let repairs = repair != Repair::Nothing;
    let sessions = env.sessions(&env.reports, report.id.0);
    let mut session = sessions.acquire().await?;
    if repairs {
        refuse_unfinished(&mut session, report.pipeline_id, report.requested_at).await?;
    }
    let of = Comparing { subject: &subject, depth, requested_at: report.requested_at, repairs, sessions };
    let Compared { mut result, mut tx, differing } = sink.compare(&of, &mut session).await?;
    // What is written inside the transaction waits for the database alone.
    let _waiting = matches!(sink.writing(), Writing::Inside(_)).then(|| of.sessions.wait());
    if repairs {
        let mut repaired = Repaired { written: 0, removed: 0 };
        if result.verdict == Verdict::Drift && depth != Depth::Counts {
            let remove_extra = repair == Repair::All || subject.draft().mode == Mode::Full;
            // What comes to be extra while an external sink is repaired is left for the next repair: the checkpoints of others are
            // forgotten first.
            let remove_extra =
                remove_extra && (result.extra != Some(0) || matches!(sink.writing(), Writing::Inside(_)));
            let repairing = Repairing { env, job, report, subject: &subject, remove_extra };
            repairing.allow_removal(&mut tx, &*sink, &result).await?;
            repaired = differing.repair(&mut tx, remove_extra, result.target_rows.unsigned_abs()).await?;
            if repaired.removed > 0 {
                repairing.forget_others(&mut tx).await?;
            }
            // That is in the log, whose entries do not wait for the disk by themselves.
            store::wait_for_disk(&mut tx).await?;
        }
        tracing::info!(rows_written = repaired.written, rows_removed = repaired.removed, "repaired what differed");
        result.repaired = Some(repaired);
    }
    note_other_writer(&mut tx, &subject, &mut result).await?;
    result.took_ms = begun.elapsed().as_millis() as u64;
    finish(&mut tx, job, &result).await?;
    tx.commit().await.map_err(at_commit)
}

/// Rows that another pipeline writes to the target are extra in every comparison, and have not drifted.
async fn note_other_writer(
    tx: &mut PgConnection,
    subject: &Subject,
    result: &mut Reconciliation,
) -> Result<(), BatchError> {
    if result.extra.unwrap_or(result.target_rows - result.source_rows) > 0
        && let Some(other) = lifecycle::other_writer(tx, &subject.pipeline).await?
    {
        let shared = format!("pipeline `{other}` writes this target too: rows that only it writes count as extra here");
        result.note = Some([shared].into_iter().chain(result.note.take()).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

/// Keys are compared as the query returns them, and rows as the plan's steps make them.
fn refuse_steps(subject: &Subject, depth: Depth, repair: Repair) -> Result<(), BatchError> {
    if let Some(step) = subject.steps.dropping() {
        return Err(BatchError::fatal(format!(
            "`{step}` drops rows of the query, and only a run knows which: run the pipeline instead, which leaves exactly the others"
        )));
    }
    if depth == Depth::Rows || repair != Repair::Nothing {
        subject.refuse_unrepeatable("the comparison")
    } else {
        Ok(())
    }
}

struct Repairing<'a> {
    env: &'a Environment,
    job: &'a HeldReport,
    report: &'a Report,
    subject: &'a Subject,
    remove_extra: bool,
}

impl Repairing<'_> {
    /// Keeps runs away, and refuses to remove more than may be.
    async fn allow_removal(
        &self,
        tx: &mut PgConnection,
        sink: &dyn Sink,
        found: &Reconciliation,
    ) -> Result<(), BatchError> {
        if !self.remove_extra {
            return keep_runs_away(tx, self.report, self.subject).await;
        }
        self.refuse_removal(tx, found).await?;
        let is_outside = matches!(sink.writing(), Writing::Before(_));
        if is_outside {
            // What is removed from an external sink stays removed, whatever becomes of this transaction.
            let mut session = self.env.sessions(&self.env.db, self.report.id.0).acquire().await?;
            let mut before = session.begin_named("begin").await?;
            self.forget_others(&mut before).await?;
            store::wait_for_disk(&mut before).await?;
            before.commit().await?;
        }
        keep_runs_away(tx, self.report, self.subject).await?;
        if is_outside && lifecycle::others_have_checkpoints(tx, &self.subject.pipeline).await? {
            return Err(BatchError::NotYet("another pipeline wrote the target meanwhile"));
        }
        self.refuse_removal(tx, found).await
    }

    /// A repair may remove as many rows as a run may, and of those targets that a full run may write.
    async fn refuse_removal(&self, tx: &mut PgConnection, found: &Reconciliation) -> Result<(), BatchError> {
        let draft = self.subject.draft();
        if draft.mode == Mode::Incremental {
            lifecycle::refuse_shared_target(tx, &self.subject.pipeline).await?;
        }
        RemovalLimit::of(draft).refuse(found.extra.unwrap_or(0).unsigned_abs(), found.target_rows.unsigned_abs())
    }

    /// Notes that rows are removed, which may be another pipeline's.
    async fn forget_others(&self, tx: &mut PgConnection) -> Result<(), BatchError> {
        let cause = Cause { actor: &self.job.worker, correlation_id: &self.job.correlation_id };
        let target = self.subject.draft().final_target().0;
        Ok(lifecycle::forget_others(tx, self.subject.pipeline.id, target, cause).await?)
    }
}
