//! Before the first batch in a worker's hands: is the run still wanted, and what does it read.

use std::sync::Arc;

use sqlx::Connection;
use vitrina_shared::{
    domain::RunStatus,
    lifecycle::execution::{self, HeldJob, Step},
    store::runs::{self, Start},
};

use super::{
    binding,
    plan::{Plan, Reviewed},
    start,
};
use crate::{environment::Environment, error::BatchError, session::Session};

/// What a job found.
pub(super) enum Opened {
    /// Execute batches.
    Go {
        /// What they read and write.
        plan: Arc<Plan>,
        /// Whether none has been executed yet.
        fresh: bool,
        /// What they are executed over. One session for all of a job: another one would cost a round trip for the question
        /// whether it is still there, and where that is far, a new connection.
        session: Session,
    },
    /// There is nothing to execute.
    Done(Step),
}

/// Takes a job up: checks everything that must hold before the first batch, and begins or resumes its run.
pub(super) async fn open(env: &Environment, job: &HeldJob) -> Result<Opened, BatchError> {
    let waits = env.in_hand.waits(job.batch.run_id.0);
    let waiting = waits.begin();
    let mut session = env.sessions(&env.db, job.batch.run_id.0).acquire().await?;
    let Some(mut run) = runs::open(&mut session, job.batch.run_id).await? else {
        return Ok(Opened::Done(Step::Dropped));
    };
    let inputs = &run.inputs;

    let plan = match env.plan(run.id) {
        Some(plan) => plan,
        None => {
            let reviewed = match env.review(run.pipeline_id, inputs) {
                Some(reviewed) => reviewed,
                None => {
                    let reviewed = Reviewed::look(&mut session, &env.describing, inputs, &env.schemas).await?;
                    env.keep_review(run.pipeline_id, inputs, reviewed)
                }
            };
            let of = (run.id, run.mode, run.strategy());
            let plan = Arc::new(Plan::make(of, inputs, &reviewed, &env.elasticsearch, env.max_row_bytes)?);
            env.keep_plan(run.id, plan.clone());
            plan
        }
    };
    drop(waiting);
    let binding = match plan.index() {
        Some(index) => Some(binding::bind(&mut session, index, &run).await?),
        None => None,
    };
    run.checkpoint_from = run.checkpoint_from.filter(|_| !binding.as_ref().is_some_and(|binding| binding.anew));
    let _waiting = waits.begin();
    let mut start = match (run.status, run.started_at) {
        (RunStatus::Queued, None) => start::find(&mut session, &env.clock, &run, &plan).await?,
        // It was begun before: its bound stands.
        _ => Start::default(),
    };
    if let Some(binding) = binding {
        (start.target_id, start.anew) = (Some(binding.target_id), binding.anew);
    }
    let step = if execution::begin_at_once(&mut session, job, &run, &start).await? {
        Step::GoesOn
    } else {
        let mut tx = session.begin().await?;
        let step = execution::begin(&mut tx, job, &start).await?;
        tx.commit().await?;
        step
    };
    if step != Step::GoesOn {
        return Ok(Opened::Done(step));
    }
    Ok(Opened::Go { plan, fresh: run.started_at.is_none(), session })
}
