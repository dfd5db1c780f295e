//! Why a status was not changed, in sentences for clients.

use crate::{
    domain::{Command, HookFailure, IllegalTransition, PipelineRef, RunId, RunStatus},
    jobs::EnqueueError,
    store,
};

/// The index that keeps a second unfinished run from a target.
const ONE_PER_TARGET: &str = "etl_runs_one_per_target_idx";

#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    #[error("there is no pipeline `{0}`")]
    NoPipeline(PipelineRef),
    #[error("there is no run `{0}`")]
    NoRun(RunId),
    #[error("pipeline `{0}` is disabled: enable it before running it")]
    Disabled(String),
    #[error("run {run} walked by {then}, and pipeline `{pipeline}` walks by {now}: run the pipeline as it is now")]
    WalksOtherwise { run: RunId, then: String, pipeline: String, now: String },
    #[error(
        "run {run} had another {} than pipeline `{pipeline}` has now: run the pipeline as it is now",
        .differs.join(" and another ")
    )]
    ChangedSince { run: RunId, differs: Vec<&'static str>, pipeline: String },
    #[error("`{target}` is being written by a run of pipeline `{writer}`, which is {status}: {}", go_on(*.status, .writer))]
    TargetBusy { target: String, writer: String, status: RunStatus },
    #[error(
        "pipeline `{other}` writes `{target}` too, by another query: this would remove the rows of `{other}`. Give one of \
         them a target of its own, or make them one query"
    )]
    SharedTarget { target: String, other: String },
    #[error(
        "pipeline `{0}` is incremental, and only a full run removes rows: ask for one too (`--full`, ?full=true), or leave \
         allow_removal out"
    )]
    RemovesNothing(String),
    #[error("run {run} of pipeline `{pipeline}` is not finished and {lacks}: let it end, or cancel it first")]
    AnotherRun { run: RunId, pipeline: String, lacks: &'static str },
    #[error("{transition}{}", advice(.transition))]
    Illegal {
        #[from]
        transition: IllegalTransition,
    },
    /// A statement did not apply to a pipeline whose row the transaction has locked: its runs are written around the lifecycle.
    #[error("the pipeline's run was changed by another session while its row was locked: try again")]
    ChangedUnderLock,
    #[error(transparent)]
    Hook(#[from] HookFailure),
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

fn advice(refused: &IllegalTransition) -> &'static str {
    match (refused.command, refused.from.has_unfinished_run()) {
        (Command::Reset, true) => ": cancel its run first",
        (Command::RequestPause | Command::Cancel, false) => ": it has no run in progress",
        (Command::RequestRun, true) => ": its run is not finished",
        (Command::Reset | Command::RequestRun, false)
        | (Command::RequestPause | Command::Cancel, true)
        | (Command::Claim | Command::ConfirmPause | Command::Finish | Command::Fail, _) => "",
    }
}

/// How to get at a target that another run writes.
fn go_on(status: RunStatus, writer: &str) -> String {
    match status {
        RunStatus::Paused => format!("let it go on (`vitrina run {writer}`), or cancel it (`vitrina cancel {writer}`)"),
        RunStatus::Queued | RunStatus::Running | RunStatus::Success | RunStatus::Failed | RunStatus::Cancelled => {
            "try again when it has ended".to_owned()
        }
    }
}

impl LifecycleError {
    /// Whether the database refused a second unfinished run on one target.
    pub(super) fn is_target_busy(&self) -> bool {
        matches!(self, Self::Database(error) if store::violates(error, ONE_PER_TARGET))
    }
}
