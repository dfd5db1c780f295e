//! The processes of a worker: as many as there are batches side by side, each for one block at a time.

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use vitrina_shared::config::PythonConfig;

use super::{
    loaded::Loaded,
    process::{Process, ProcessError},
};
use crate::mutex::unpoisoned;

#[derive(Debug)]
pub struct Pool {
    config: PythonConfig,
    path: PathBuf,
    /// The code that the worker has published.
    published: Loaded,
    room: Semaphore,
    idle: Mutex<Vec<Process>>,
    asked: AtomicU64,
}

impl Pool {
    pub fn new(config: PythonConfig, path: PathBuf, processes: usize, (first, published): (Process, Loaded)) -> Self {
        let (room, idle) = (Semaphore::new(processes), Mutex::new(vec![first]));
        Self { config, path, published, room, idle, asked: AtomicU64::new(0) }
    }

    pub fn published(&self) -> &Loaded {
        &self.published
    }

    /// Whether the directory still has the code that was published. Nobody knows where no process waits.
    pub async fn is_current(&self) -> bool {
        let Ok(_room) = self.room.acquire().await else { return false };
        let (id, Some(mut process)) = (self.next_id(), self.idle()) else { return false };
        let request = json!({"version": self.path}).to_string().replacen('{', &format!("{{\"id\":{id},"), 1);
        let Ok(answer) = process.ask(("", id), request.as_bytes(), self.config.timeout).await else { return false };
        unpoisoned(&self.idle).push(process);
        serde_json::from_slice::<Value>(&answer)
            .is_ok_and(|answer| answer["version"] == self.published.version.as_str())
    }

    pub fn next_id(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Has a block executed. The process is used again if `understand` takes its answer; otherwise it is killed.
    pub async fn ask<T>(
        &self,
        step: &str,
        id: u64,
        request: &[u8],
        understand: impl FnOnce(&[u8]) -> Result<T, ProcessError>,
    ) -> Result<T, ProcessError> {
        let ended = |_| ProcessError::Ended("is not wanted any more".to_owned());
        let _room = self.room.acquire().await.map_err(ended)?;
        let mut process = match self.idle() {
            Some(process) => process,
            None => self.start().await?,
        };
        let understood = understand(&process.ask((step, id), request, self.config.timeout).await?)?;
        unpoisoned(&self.idle).push(process);
        Ok(understood)
    }

    /// A process that waits for work. One that has died meanwhile, or said something, is killed with what it has started.
    fn idle(&self) -> Option<Process> {
        let mut idle = unpoisoned(&self.idle);
        std::iter::from_fn(|| idle.pop()).find_map(|mut process| process.is_waiting().then_some(process))
    }

    /// All processes execute the code that the worker has published, and have all of its steps.
    async fn start(&self) -> Result<Process, ProcessError> {
        let (process, loaded) = Loaded::start(&self.config, &self.path).await?;
        match (loaded.version == self.published.version, loaded.steps == self.published.steps) {
            (true, true) => Ok(process),
            (true, false) => Err(ProcessError::Incomplete),
            (false, _) => Err(ProcessError::Changed),
        }
    }
}
