//! Before the first batch in a worker's hands: is the run still wanted, and what does it read.

use std::sync::Arc;

use vitrina_shared::{
    domain::{Mode, RunStatus},
    lifecycle::execution::{self, HeldJob, Step},
    store::{
        catalog::Catalog,
        runs::{self, Anew, OpenRun, Start, WalkedColumn},
    },
};

use crate::{
    environment::Environment,
    error::BatchError,
    plan::{Plan, Reviewed},
    session::Session,
    sink::Writing,
};

/// What a job found.
pub(super) enum Opened {
    /// Execute batches.
    Go {
        /// What they read and write.
        plan: Arc<Plan>,
        /// Whether its range was walked to its end before.
        walked: bool,
        /// Whether the run has other ranges.
        cut: bool,
        /// What they are executed over. One session for all of a job: another one would cost a round trip for the question
        /// whether it is still there, and where that is far, a new connection.
        session: Session,
    },
    /// There is nothing to execute.
    Done(Step),
}

/// Takes a job up: checks everything that must hold before the first batch, and begins or resumes its run.
pub(super) async fn open(env: &Environment, job: &mut HeldJob) -> Result<Opened, BatchError> {
    let waits = env.in_hand.waits(job.batch.run_id.0);
    let waiting = waits.begin();
    let mut session = env.sessions(&env.db, job.batch.run_id.0).acquire().await?;
    let known = env.catalog(job.batch.run_id, job.batch.pipeline_id);
    let relations = known.as_ref().map(|catalog| catalog.relations.as_slice());
    let Some(mut run) = runs::open(&mut session, job.batch.run_id, job.batch.range, relations).await? else {
        return Ok(Opened::Done(Step::Dropped));
    };
    // Whoever had the job before may have gone on with it.
    job.go_on(run.next_batch, run.after.take());
    let inputs = &run.inputs;
    if run.is_retyped || run.status == RunStatus::Queued && run.started_at.is_some() {
        // What was found out before is outdated, or may be: the run has rested.
        env.forget_plan(run.id);
        env.forget_reviews();
    }

    let is_same = |catalog: &Catalog| run.catalog.as_ref() == Some(&catalog.fingerprint);
    let plan = match env.plan(run.id).filter(|plan| is_same(&plan.catalog)) {
        Some(plan) => plan,
        None => {
            let reviewed = match env.review(run.pipeline_id, inputs).filter(|reviewed| is_same(&reviewed.catalog)) {
                Some(reviewed) => reviewed,
                None => {
                    let (source, transforms) = (env.sources.of(inputs), env.steps.transforms());
                    let reviewed = Reviewed::find(&mut session, source, inputs, transforms).await?;
                    env.keep_review(run.pipeline_id, inputs, reviewed)
                }
            };
            let of = (run.id, run.mode, run.strategy());
            let sinks = &env.sinks;
            let plan = Arc::new(Plan::for_run(of, inputs, &reviewed, sinks, env.max_row_bytes, &env.steps)?);
            env.keep_plan(run.id, plan.clone());
            plan
        }
    };
    // What is outside of the database is waited for without its connection being taken for silent.
    let waiting = Some(waiting).filter(|_| matches!(plan.sink.writing(), Writing::Inside(_)));
    let prepared = plan.sink.prepare(&mut session, &run).await?;
    drop(waiting);
    let retyped = retyped(&run, &plan)?;
    let anew = prepared.anew.then_some(Anew::OtherIndex).or(retyped);
    run.checkpoint_from = run.checkpoint_from.filter(|_| anew.is_none());
    let _waiting = waits.begin();
    let mut start = match (run.status, run.started_at) {
        (RunStatus::Queued, None) => plan.reading.bound(&mut session, &run).await?,
        // It was begun before: its bound stands.
        _ => Start::default(),
    };
    start.target_id = prepared.target_id;
    start.anew = anew;
    if run.is_cut && run.started_at.is_none() {
        let cuts = runs::cut_at(&mut session, run.id).await?;
        let from = run.checkpoint_from.as_ref().map(|checkpoint| checkpoint.key.as_str());
        // Cuts of a run whose checkpoint says nothing were chosen for another walk.
        let upper = start.upper.as_deref().filter(|_| anew.is_none());
        start.ranges = Some(upper.map_or(1, |upper| plan.walk().ranges(from, upper, &cuts)));
    }
    // Of the same types, and yet others: a table may have taken the place of another one.
    let walks_by = plan.walk().walks_by();
    start.walks_by = (run.is_retyped || run.walks_by.as_deref() != Some(&walks_by)).then_some(walks_by);
    let step = execution::begin(&mut session, job, &run, &start).await?;
    if step != Step::GoesOn {
        return Ok(Opened::Done(step));
    }
    Ok(Opened::Go { plan, walked: run.is_walked, cut: run.is_cut, session })
}

/// Whether a run must begin at the first row because its checkpoint is of columns that had other types. A run that has begun
/// cannot: what it has walked by is not what it would walk by.
fn retyped(run: &OpenRun, plan: &Plan) -> Result<Option<Anew>, BatchError> {
    let is_compared = run.started_at.is_some() || run.mode == Mode::Incremental && run.checkpoint_from.is_some();
    let Some(before) = run.walks_by.as_deref().filter(|_| is_compared) else { return Ok(None) };
    let types =
        |columns: &[WalkedColumn]| -> Vec<_> { columns.iter().map(|column| column.type_name.clone()).collect() };
    let (before, now) = (types(before), types(&plan.walk().walks_by()));
    if before == now {
        return Ok(None);
    }
    let (before, now) = (before.join(", "), now.join(", "));
    if run.started_at.is_some() {
        return Err(BatchError::fatal(format!(
            "the run walks by {}, whose type was {before} when it began and is {now} now: it cannot go on between keys of \
             the two. Run the pipeline again: it begins at the first row",
            plan.walk().names().join(" and "),
        )));
    }
    tracing::warn!(
        before,
        now,
        "the key or the id has another type than the checkpoint: the run begins at the first row"
    );
    Ok(Some(Anew::Retyped))
}
