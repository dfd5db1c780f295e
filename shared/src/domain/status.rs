//! The state machine of a pipeline.
//!
//! ```text
//!            RequestRun            Claim              Finish
//!   IDLE ───────────────▶ RUN_REQUESTED ───▶ RUNNING ────────▶ IDLE
//!                          ▲   ▲   │            │ │ Fail
//!              RequestRun  │   │   │RequestPause│ └──────────▶ FAILED ── RequestRun ▶ RUN_REQUESTED
//!                          │   │   ▼            ▼                      └─ Reset ▶ IDLE
//!                       PAUSED ◀── PAUSE_REQUESTED
//!                          ConfirmPause
//! ```
//!
//! `Cancel` leads from every status with an unfinished run to IDLE. A run request while a pause is pending
//! withdraws the pause.

use super::names::named_enum;

named_enum! {
    /// Where a pipeline stands.
    Status {
        Idle = "IDLE",
        /// A run is queued and no worker has begun it.
        RunRequested = "RUN_REQUESTED",
        Running = "RUNNING",
        /// A pause takes effect after the current batch.
        PauseRequested = "PAUSE_REQUESTED",
        /// An unfinished run rests at its checkpoint.
        Paused = "PAUSED",
        /// The last run failed; an operator must act.
        Failed = "FAILED",
    }
}

/// What may be asked of a pipeline, by clients and by workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A client wants it to run, or to go on.
    RequestRun,
    /// A worker begins the run.
    Claim,
    /// A client wants it to pause after the current batch.
    RequestPause,
    /// A worker stopped between two batches.
    ConfirmPause,
    /// A worker wrote the last batch.
    Finish,
    /// A worker gave up.
    Fail,
    /// A client ends the unfinished run.
    Cancel,
    /// A client wants the checkpoint forgotten.
    Reset,
}

impl Command {
    pub const ALL: [Self; 8] = [
        Self::RequestRun,
        Self::Claim,
        Self::RequestPause,
        Self::ConfirmPause,
        Self::Finish,
        Self::Fail,
        Self::Cancel,
        Self::Reset,
    ];

    /// What the command does to a pipeline, as words that fit after «cannot».
    pub const fn verb(self) -> &'static str {
        match self {
            Self::RequestRun => "run",
            Self::Claim => "begin",
            Self::RequestPause => "pause",
            Self::ConfirmPause => "confirm the pause of",
            Self::Finish => "finish",
            Self::Fail => "fail",
            Self::Cancel => "cancel",
            Self::Reset => "reset",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {} a pipeline that is {from}", command.verb())]
pub struct IllegalTransition {
    pub from: Status,
    pub command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The status changes by these commands, one after the other; [`Status::apply`] may refuse the first.
    Change(&'static [Command]),
    /// Nothing changes: it is as wished.
    Stay,
    /// Nothing changes: there is no run that a worker could go on with.
    Drop,
}

impl Status {
    /// What `wish` leads to: clients wish what is so already, and workers find that something else is wished.
    pub fn decide(self, wish: Command) -> Decision {
        use Command::{Cancel, Claim, ConfirmPause, Fail, Finish, RequestPause, RequestRun, Reset};
        use Decision::{Change, Drop, Stay};
        use Status::{Failed, Idle, PauseRequested, Paused, RunRequested, Running};

        match (self, wish) {
            (Idle | Paused | Failed | PauseRequested, RequestRun) => Change(&[RequestRun]),
            (RunRequested | Running, RequestRun) => Stay,
            (Idle | Failed | RunRequested | Running, RequestPause) => Change(&[RequestPause]),
            (PauseRequested | Paused, RequestPause) => Stay,
            (Idle | RunRequested | Running | PauseRequested | Paused | Failed, Cancel) => Change(&[Cancel]),
            (Idle | RunRequested | Running | PauseRequested | Paused | Failed, Reset) => Change(&[Reset]),

            (RunRequested, Claim) => Change(&[Claim]),
            (Running, Claim) | (RunRequested | Running, ConfirmPause) => Stay,
            (PauseRequested, Claim | ConfirmPause) => Change(&[ConfirmPause]),
            // A pause was withdrawn while a batch was written, or the run fails before it has begun.
            (RunRequested, Finish) => Change(&[Claim, Finish]),
            (RunRequested, Fail) => Change(&[Claim, Fail]),
            (Running | PauseRequested, Finish) => Change(&[Finish]),
            (Running | PauseRequested, Fail) => Change(&[Fail]),
            (Idle | Paused | Failed, Claim | ConfirmPause | Finish | Fail) => Drop,
        }
    }

    /// The status after `command`. Every pair is spelled out: a new status does not compile until each is decided.
    pub fn apply(self, command: Command) -> Result<Self, IllegalTransition> {
        use Command::{Cancel, Claim, ConfirmPause, Fail, Finish, RequestPause, RequestRun, Reset};
        use Status::{Failed, Idle, PauseRequested, Paused, RunRequested, Running};

        let illegal = Err(IllegalTransition { from: self, command });
        match (self, command) {
            (Idle | Paused | Failed | PauseRequested, RequestRun) => Ok(RunRequested),
            (RunRequested, Claim) => Ok(Running),
            (RunRequested | Running, RequestPause) => Ok(PauseRequested),
            (PauseRequested, ConfirmPause) => Ok(Paused),
            (Running | PauseRequested, Finish) => Ok(Idle),
            (Running | PauseRequested, Fail) => Ok(Failed),
            (RunRequested | Running | PauseRequested | Paused, Cancel) => Ok(Idle),
            (Idle | Failed, Reset) => Ok(Idle),

            (Idle, Claim | RequestPause | ConfirmPause | Finish | Fail | Cancel) => illegal,
            (RunRequested, RequestRun | ConfirmPause | Finish | Fail | Reset) => illegal,
            (Running, RequestRun | Claim | ConfirmPause | Reset) => illegal,
            (PauseRequested, Claim | RequestPause | Reset) => illegal,
            (Paused, Claim | RequestPause | ConfirmPause | Finish | Fail | Reset) => illegal,
            (Failed, Claim | RequestPause | ConfirmPause | Finish | Fail | Cancel) => illegal,
        }
    }

    /// Whether a run is queued, executing or resting: its configuration must not change under it.
    pub fn has_unfinished_run(self) -> bool {
        match self {
            Self::RunRequested | Self::Running | Self::PauseRequested | Self::Paused => true,
            Self::Idle | Self::Failed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_walk_of_an_ordinary_run_ends_where_it_began() {
        let end =
            [Command::RequestRun, Command::Claim, Command::Finish].into_iter().try_fold(Status::Idle, Status::apply);
        assert_eq!(end, Ok(Status::Idle));
    }

    #[test]
    fn an_illegal_command_names_itself_and_the_status() {
        let refusal = Status::Idle.apply(Command::RequestPause).expect_err("idle cannot pause");
        assert_eq!(refusal.to_string(), "cannot pause a pipeline that is IDLE");
    }

    #[test]
    fn what_is_decided_is_allowed_or_refused_with_the_wish_itself() {
        for status in Status::ALL {
            for wish in Command::ALL {
                let Decision::Change(commands) = status.decide(wish) else { continue };
                let end = commands.iter().try_fold(*status, |status, command| status.apply(*command));
                assert!(end.is_ok() || commands == [wish], "{status} {wish:?}: {end:?}");
            }
        }
    }

    #[test]
    fn a_worker_never_meets_a_refusal() {
        for status in Status::ALL {
            for wish in [Command::Claim, Command::ConfirmPause, Command::Finish, Command::Fail] {
                let Decision::Change(commands) = status.decide(wish) else { continue };
                let end = commands.iter().try_fold(*status, |status, command| status.apply(*command));
                assert!(end.is_ok(), "{status} {wish:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_an_unfinished_run_can_be_cancelled_and_a_finished_one_run_again(
            commands in proptest::collection::vec(proptest::sample::select(&Command::ALL[..]), 0..40)
        ) {
            let status = commands
                .into_iter()
                .fold(Status::Idle, |status, command| status.apply(command).unwrap_or(status));
            if status.has_unfinished_run() {
                prop_assert_eq!(status.apply(Command::Cancel), Ok(Status::Idle));
            } else {
                prop_assert_eq!(status.apply(Command::RequestRun), Ok(Status::RunRequested));
            }
        }
    }
}
