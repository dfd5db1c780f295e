//! Before the first batch in a worker's hands: is the run still wanted, and what does it read.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::PgConnection;
use vitrina_shared::{
    domain::{Hooks, Mode, RunStatus},
    lifecycle::execution::{self, Conclusion, HeldBatch},
    store::{
        catalog::Catalog,
        runs::{self, Anew, OpenRun, Start, WalkedColumn},
    },
    validation,
};

use super::{
    batch::{self, BegunRun},
    progress,
};
use crate::{
    environment::Environment,
    error::BatchError,
    plan::{Plan, Reviewed},
    sink::{Prepared, Writing},
    step::{StepContext, StepRegistry},
};

/// How long the steps of a plan may take to find out whether what they use is there. Meanwhile the job keeps its slot.
const STEPS_CHECKED_WITHIN: Duration = Duration::from_secs(60);

/// Executes the job's batch and those after it. `job` always says which batch failed when an error comes back.
pub async fn execute(env: &Environment, job: &mut HeldBatch) -> Result<Conclusion, BatchError> {
    let started = Instant::now();
    let run = match begin_run(env, job).await? {
        ControlFlow::Continue(run) => run,
        ControlFlow::Break(conclusion) => return Ok(conclusion),
    };
    tracing::Span::current().record("pipeline", &run.plan.pipeline);
    progress::show_series(&run.plan.pipeline);
    progress::observe_phase(&run.plan.pipeline, "open", started.elapsed());
    batch::walk_range(env, job, run).await
}

/// Checks everything that must hold before the first batch of a job, and begins or resumes its run.
async fn begin_run(env: &Environment, job: &mut HeldBatch) -> Result<ControlFlow<Conclusion, BegunRun>, BatchError> {
    let waits = env.in_hand.waits(job.run_id.0);
    let waiting = waits.begin();
    let mut session = env.sessions(&env.db, job.run_id.0).acquire().await?;
    let known = env.catalog(job.run_id, job.pipeline_id);
    let relations = known.as_ref().map(|catalog| catalog.relations.as_slice());
    let Some(mut run) = runs::open(&mut session, job.run_id, job.range, relations).await? else {
        return Ok(ControlFlow::Break(Conclusion::Dropped));
    };
    let steps = env.steps.current();
    env.lacking.refuse(&steps, &mut session, (&run.inputs.tasks, run.code.as_deref())).await?;
    // The worker that had the job before may have gone on with it.
    job.go_on(run.next_batch, run.after.take());
    let plan = plan_run(env, &mut session, &run, &steps).await?;
    if run.started_at.is_none() {
        check_hooks(&mut session, &plan.hooks).await?;
        let _resting = waiting.rest();
        let context = env.step_context((job.pipeline_id, &plan.pipeline), job.run_id.0, &job.correlation_id);
        plan.check_steps(&StepContext { deadline: tokio::time::Instant::now() + STEPS_CHECKED_WITHIN, ..context })
            .await?;
    }
    // While an external sink is prepared, the idle connection to the database must not count as silent.
    let waiting = Some(waiting).filter(|_| matches!(plan.sink.writing(), Writing::Inside(_)));
    let prepared = plan.sink.prepare(&mut session, &run).await?;
    drop(waiting);
    let _waiting = waits.begin();
    let mut start = find_start(&mut session, &plan, &mut run, prepared).await?;
    start.code = Some(steps.code(&run.inputs.tasks)).filter(|code| !code.is_empty());
    match execution::begin(&mut session, job, &run, &start).await? {
        Conclusion::GoesOn => {}
        other @ (Conclusion::Paused | Conclusion::Finished | Conclusion::Failed | Conclusion::Dropped) => {
            return Ok(ControlFlow::Break(other));
        }
    }
    Ok(ControlFlow::Continue(BegunRun { plan, walked: run.is_walked, cut: run.is_cut, session }))
}

/// Refuses hooks that may not be called any more, before a row is read.
async fn check_hooks(session: &mut PgConnection, hooks: &Hooks) -> Result<(), BatchError> {
    let problems = validation::hook_problems(session, hooks).await?;
    let problems: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect();
    if problems.is_empty() { Ok(()) } else { Err(BatchError::fatal(problems.join("; "))) }
}

/// The plan of a run: the one that was made before, while the catalog's entries of its tables are the same.
async fn plan_run(
    env: &Environment,
    session: &mut PgConnection,
    run: &OpenRun,
    steps: &StepRegistry,
) -> Result<Arc<Plan>, BatchError> {
    if run.is_retyped || run.status == RunStatus::Queued && run.started_at.is_some() {
        // What was found out before is outdated, or may be: the run has rested.
        env.forget_plan(run.id);
        env.forget_reviews();
    }
    let is_same = |catalog: &Catalog| run.catalog.as_ref() == Some(&catalog.fingerprint);
    if let Some(plan) = env.plan(run.id).filter(|plan| is_same(&plan.catalog)) {
        return Ok(plan);
    }
    let inputs = &run.inputs;
    let reviewed = match env.review(run.pipeline_id, inputs).filter(|reviewed| is_same(&reviewed.catalog)) {
        Some(reviewed) => reviewed,
        None => {
            let (source, known) = (env.sources.of(inputs), (steps.transforms(), &env.sinks));
            env.keep_review(run.pipeline_id, inputs, Reviewed::find(session, source, inputs, known).await?)
        }
    };
    let of = (run.id, run.mode, run.strategy());
    let plan = Arc::new(Plan::for_run(of, inputs, &reviewed, &env.sinks, env.max_row_bytes, steps)?);
    env.keep_plan(run.id, plan.clone());
    Ok(plan)
}

/// From where to where a run reads, and by which columns. One that was begun before keeps its bound.
async fn find_start(
    session: &mut PgConnection,
    plan: &Plan,
    run: &mut OpenRun,
    prepared: Prepared,
) -> Result<Start, BatchError> {
    let retyped = find_retyped(run, plan)?;
    let anew = prepared.anew.then_some(Anew::OtherTarget).or(retyped);
    run.checkpoint_from = run.checkpoint_from.take().filter(|_| anew.is_none());
    let mut start = match (run.status, run.started_at) {
        (RunStatus::Queued, None) => plan.reading.bound(session, run).await?,
        _ => Start::default(),
    };
    start.target_id = prepared.target_id;
    start.target_files = run.target_files.take();
    start.anew = anew;
    if run.is_cut && run.started_at.is_none() {
        let cuts = runs::cut_at(session, run.id).await?;
        let from = run.checkpoint_from.as_ref().map(|checkpoint| checkpoint.key.as_str());
        // Cuts of a run whose checkpoint says nothing were chosen for another walk.
        let upper = start.upper.as_deref().filter(|_| anew.is_none());
        start.ranges = Some(upper.map_or(1, |upper| plan.walk().ranges(from, upper, &cuts)));
    }
    // Columns of the same types may belong to another table, so the columns themselves are compared too.
    let walks_by = plan.walk().walks_by();
    start.walks_by = (run.is_retyped || run.walks_by.as_deref() != Some(&walks_by)).then_some(walks_by);
    Ok(start)
}

/// Whether a run must begin at the first row because its checkpoint is of columns that had other types. A run that has begun
/// cannot begin again: its position is a key of the old type.
fn find_retyped(run: &OpenRun, plan: &Plan) -> Result<Option<Anew>, BatchError> {
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
