//! A process that executes steps: started, asked, and killed with everything that it has started.

use std::{io, path::Path, process::Stdio, time::Duration};

use futures_util::FutureExt;
use rand::RngExt;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};
use vitrina_shared::config::PythonConfig;

use super::{frames, output::Output};

/// How long importing the operator's code may take.
pub const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to learn why a process has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// What a process exits with when its memory is used up (`python/vitrina/_host.py`).
const OUT_OF_MEMORY: i32 = 77;

const BOOT: &str = include_str!("../../../../python/vitrina/_boot.py");
/// The package, carried along so that nothing has to be installed.
const MODULES: &[(&str, &str)] = &[
    ("vitrina", include_str!("../../../../python/vitrina/__init__.py")),
    ("vitrina._block", include_str!("../../../../python/vitrina/_block.py")),
    ("vitrina._context", include_str!("../../../../python/vitrina/_context.py")),
    ("vitrina._host", include_str!("../../../../python/vitrina/_host.py")),
    ("vitrina._outcomes", include_str!("../../../../python/vitrina/_outcomes.py")),
    ("vitrina._schema", include_str!("../../../../python/vitrina/_schema.py")),
    ("vitrina._step", include_str!("../../../../python/vitrina/_step.py")),
    ("vitrina._values", include_str!("../../../../python/vitrina/_values.py")),
];
/// Secrets of the worker that the operator's code does not need.
const SECRETS: [&str; 3] = ["DATABASE_URL", "ELASTICSEARCH_URL", "PGPASSWORD"];

/// Why a process did not answer. None of it quotes a value.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("the Python process could not be started: {0}")]
    NotStarted(String),
    #[error("the Python process {0}")]
    Ended(String),
    #[error("the Python process ran out of the memory that VITRINA_PYTHON_MEMORY_MB allows")]
    OutOfMemory,
    #[error("took longer than VITRINA_PYTHON_TIMEOUT_SECONDS allows for a block, {} s", .0.as_secs_f64())]
    TooLate(Duration),
    #[error("the Python process answers what is no answer")]
    Rubbish,
    #[error("the Python process answered what it was not asked")]
    Unasked,
    #[error("the code in VITRINA_PYTHON_PATH has changed since this worker started: restart the worker")]
    Changed,
    #[error("a further Python process has other steps than the first one: the log says what it could not import")]
    Incomplete,
}

impl ProcessError {
    /// Whether another process may do better: memory and what a module connects to may be there a moment later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Ended(_) | Self::OutOfMemory | Self::Rubbish | Self::Unasked => true,
            Self::NotStarted(_) | Self::TooLate(_) | Self::Changed | Self::Incomplete => false,
        }
    }
}

#[derive(Debug)]
pub struct Process {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    output: Output,
}

#[derive(Serialize)]
struct Hello<'a> {
    modules: Value,
    path: &'a Path,
    memory_bytes: Option<u64>,
    token: &'a str,
}

impl Process {
    /// Starts a process in a group of its own. Returns it with what it says of the operator's code.
    pub async fn start(config: &PythonConfig, path: &Path) -> Result<(Self, Vec<u8>), ProcessError> {
        let not_started = |error: io::Error| ProcessError::NotStarted(format!("{}: {error}", config.program));
        let mut command = Command::new(&config.program);
        command.args(["-B", "-c", BOOT]).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("VITRINA_") || SECRETS.contains(&&*text) {
                command.env_remove(&name);
            }
        }
        let mut child = command.spawn().map_err(not_started)?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let Some(((requests, replies), printed)) = pipes else {
            return Err(ProcessError::NotStarted("it has no pipes".to_owned()));
        };
        let token = format!("{:032x}", rand::rng().random::<u128>());
        let output = Output::follow(printed, token.clone());
        let mut process = Self { child, requests, replies: BufReader::new(replies), output };
        let modules = MODULES.iter().map(|(name, source)| ((*name).to_owned(), Value::from(*source))).collect();
        let hello = Hello { modules: Value::Object(modules), path, memory_bytes: config.memory_bytes, token: &token };
        let hello = serde_json::to_vec(&hello).map_err(|error| ProcessError::NotStarted(error.to_string()))?;
        match timeout(STARTS_WITHIN, process.exchange(&hello)).await {
            Ok(answer) => Ok((process, answer?)),
            Err(_late) => Err(ProcessError::NotStarted(format!("it took longer than {} s", STARTS_WITHIN.as_secs()))),
        }
    }

    /// Whether it waits for a request: it has not ended since the last answer, and has said nothing.
    pub fn is_waiting(&mut self) -> bool {
        !self.has_ended() && self.replies.fill_buf().now_or_never().is_none()
    }

    /// It is not waited for here, so that its number is still its own when its group is killed.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.id().is_none_or(|id| !matches!(waitid(WaitId::Pid(id), look), Ok(None)))
    }

    fn id(&self) -> Option<Pid> {
        self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// Sends a request and returns the answer. A process that is dropped meanwhile, or did not answer, is killed.
    pub async fn ask(
        &mut self,
        (step, id): (&str, u64),
        request: &[u8],
        limit: Duration,
    ) -> Result<Vec<u8>, ProcessError> {
        self.output.begin(step);
        let answer = timeout(limit, self.exchange(request)).await.map_err(|_late| ProcessError::TooLate(limit))??;
        if !answer.starts_with(format!("{{\"id\":{id},").as_bytes()) {
            return Err(ProcessError::Unasked);
        }
        self.output.wait_for(id).await;
        Ok(answer)
    }

    /// Both ways at once: neither side waits for the other one to read.
    async fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, ProcessError> {
        match tokio::try_join!(frames::write(&mut self.requests, request), frames::read(&mut self.replies)) {
            Ok(((), answer)) => Ok(answer),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(ProcessError::Rubbish),
            Err(_gone) => Err(self.reason_of_end().await),
        }
    }

    async fn reason_of_end(&mut self) -> ProcessError {
        // What has ended by itself keeps its own reason.
        self.kill();
        let Ok(Ok(status)) = timeout(ENDS_WITHIN, self.child.wait()).await else {
            return ProcessError::Ended("does not answer".to_owned());
        };
        match status.code() {
            Some(OUT_OF_MEMORY) => ProcessError::OutOfMemory,
            Some(_) | None => ProcessError::Ended(format!("ended unexpectedly ({status})")),
        }
    }

    /// Kills the process and what it has started. Until it was waited for, no other one can have its number.
    fn kill(&self) {
        if let Some(Err(error)) = self.id().map(|id| kill_process_group(id, Signal::KILL)) {
            tracing::debug!(error = %error, "a Python process could not be killed");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
