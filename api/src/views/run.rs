//! Runs, their progress and the log of transitions.

use chrono::{DateTime, Utc};
use salvo::oapi::ToSchema;
use serde::Serialize;
use uuid::Uuid;
use vitrina_shared::{
    domain::{ErrorClass, Mode, Run, RunStatus, RunStep, Status, Trigger, advice::Facts},
    lifecycle::RequestedRun,
    progress::pace,
    store::transitions::Transition,
};

use super::{CheckpointView, OneOf, Values};

/// One attempt to run a pipeline.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Run"))]
pub struct RunView {
    /// Id of the run.
    pub id: Uuid,
    /// The pipeline it belongs to.
    pub pipeline_id: Uuid,
    /// That pipeline's name.
    pub pipeline: String,
    /// The mode it was requested in.
    pub mode: OneOf<Mode>,
    /// Status of the run.
    pub status: OneOf<RunStatus>,
    /// What requested it.
    pub trigger: OneOf<Trigger>,
    /// When it was requested.
    pub requested_at: DateTime<Utc>,
    /// When its first batch began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From its first batch to its end, or to now.
    pub duration_ms: Option<i64>,
    /// Rows that its query returned.
    pub rows_read: i64,
    /// Rows that were inserted or changed.
    pub rows_written: i64,
    /// Rows that were put aside as dead letters.
    pub rows_rejected: i64,
    /// Rows that were removed, because the query no longer returns them.
    pub rows_removed: i64,
    /// Batches committed.
    pub batches: i64,
    /// Attempts that failed.
    pub attempts: i32,
    /// Error of the last failed attempt.
    pub error: Option<String>,
    /// Class of that error.
    pub error_class: Option<OneOf<ErrorClass>>,
    /// Position where it began.
    pub checkpoint_from: Option<CheckpointView>,
    /// Position of the last committed batch.
    pub checkpoint_to: Option<CheckpointView>,
    /// What the steps of its plan did, in their order.
    pub steps: Vec<RunStepView>,
    /// What would help, as far as that follows from the numbers of a run that has ended.
    pub advice: Vec<String>,
}

/// What a step of a plan did in a run. Rows are those of committed batches; blocks, time, calls and waits those of all batches.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "RunStep"))]
pub struct RunStepView {
    /// Its `order_index` in the plan.
    pub place: i32,
    /// Its name.
    pub step: String,
    /// Rows that came to it.
    pub rows_in: i64,
    /// Rows that it passed on.
    pub rows_out: i64,
    /// Rows that it rejected.
    pub rejected: i64,
    /// Rows that it left out.
    pub dropped: i64,
    /// Blocks of rows that it was executed for.
    pub blocks: i64,
    /// How long all of them took it.
    pub duration_ms: f64,
    /// How long one of them took it on average.
    pub mean_ms_per_block: Option<f64>,
    /// Calls to services outside that it made.
    pub calls_made: i64,
    /// Calls that it did not make because the answers were known.
    pub calls_saved: i64,
    /// How long it waited for limits and keys, its job's rests in the queue included.
    pub waited_ms: f64,
    /// The limit or pool of keys that it waited for last.
    pub waited_for: Option<String>,
}

impl From<RunStep> for RunStepView {
    fn from(step: RunStep) -> Self {
        Self {
            mean_ms_per_block: step.mean_ms_per_block(),
            place: step.place,
            step: step.step,
            rows_in: step.rows_in,
            rows_out: step.rows_out,
            rejected: step.rejected,
            dropped: step.dropped,
            blocks: step.blocks,
            duration_ms: step.duration_us as f64 / 1000.0,
            calls_made: step.calls_made,
            calls_saved: step.calls_saved,
            waited_ms: step.waited_us as f64 / 1000.0,
            waited_for: step.waited_for,
        }
    }
}

impl RunView {
    pub fn new(run: Run, values: Values) -> Self {
        let advice = Facts::of(&run).map(|facts| facts.advice()).unwrap_or_default();
        let until = run.finished_at.unwrap_or_else(Utc::now);
        Self {
            id: run.id.0,
            pipeline_id: run.pipeline_id.0,
            pipeline: run.pipeline,
            mode: run.mode.into(),
            status: run.status.into(),
            trigger: run.trigger.into(),
            requested_at: run.requested_at,
            started_at: run.started_at,
            finished_at: run.finished_at,
            duration_ms: run.started_at.map(|start| (until - start).num_milliseconds().max(0)),
            rows_read: run.rows_read,
            rows_written: run.rows_written,
            rows_rejected: run.rows_rejected,
            rows_removed: run.rows_removed,
            batches: run.batches,
            attempts: run.attempts,
            error: run.error.map(|error| values.message(error)),
            error_class: run.error_class.map(OneOf),
            checkpoint_from: run.checkpoint_from.and_then(|checkpoint| values.checkpoint(checkpoint)),
            checkpoint_to: run.checkpoint_to.and_then(|checkpoint| values.checkpoint(checkpoint)),
            steps: run.steps.into_iter().map(RunStepView::from).collect(),
            advice,
        }
    }
}

/// Progress of a run.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Progress"))]
pub struct ProgressView {
    /// Rows read so far.
    pub rows_read: i64,
    /// Estimate of all rows.
    pub rows_total: Option<i64>,
    /// Mean speed since the first batch.
    pub rows_per_second: Option<f64>,
    /// Estimate of the seconds left.
    pub eta_seconds: Option<f64>,
}

impl ProgressView {
    /// The progress of an unfinished run at `now`.
    pub fn of(run: &Run, now: DateTime<Utc>) -> Self {
        let seconds = run.started_at.map(|start| (now - start).as_seconds_f64());
        let (rows_per_second, eta_seconds) = pace(run.rows_read, run.rows_total, seconds);
        Self { rows_read: run.rows_read, rows_total: run.rows_total, rows_per_second, eta_seconds }
    }
}

/// The answer to a run request.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "RequestedRun"))]
pub struct RequestedRunView {
    /// The run that was created, resumed or found.
    pub run_id: Uuid,
    /// Status of the pipeline.
    pub status: OneOf<Status>,
    /// Whether an unfinished run existed already.
    pub already_active: bool,
}

impl From<RequestedRun> for RequestedRunView {
    fn from(requested: RequestedRun) -> Self {
        Self { run_id: requested.run.id.0, status: requested.status.into(), already_active: requested.already_active }
    }
}

/// One entry of the transition log, as an event.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = "Transition"))]
pub struct TransitionView {
    /// Id of the entry, and of the event.
    pub id: i64,
    /// The pipeline that changed.
    pub pipeline_id: Uuid,
    /// Name of the pipeline.
    pub pipeline: String,
    /// The run, if the change belongs to one.
    pub run_id: Option<Uuid>,
    /// Status before.
    pub from: OneOf<Status>,
    /// Status after.
    pub to: OneOf<Status>,
    /// Who or what caused the change.
    pub actor: String,
    /// Reason of the change.
    pub reason: String,
    /// Id of the request that caused it.
    pub correlation_id: Option<String>,
    /// When the status changed.
    pub at: DateTime<Utc>,
}

impl TransitionView {
    pub fn new(transition: Transition, values: Values) -> Self {
        Self {
            id: transition.id,
            pipeline_id: transition.pipeline_id.0,
            pipeline: transition.pipeline,
            run_id: transition.run_id.map(|run| run.0),
            from: transition.from_status.into(),
            to: transition.to_status.into(),
            actor: transition.actor,
            reason: values.message(transition.reason),
            correlation_id: transition.correlation_id,
            at: transition.at,
        }
    }
}
