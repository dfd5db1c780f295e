//! What a process finds in the operator's directory.

use std::{path::Path, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use vitrina_shared::config::PythonConfig;

use super::process::{Process, ProcessError};

/// The pauses before a worker starts its first process again.
const FIRST_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// What a process says of the directory.
#[derive(Debug, Deserialize)]
pub(super) struct Loaded {
    pub version: String,
    pub steps: Vec<Declared>,
    problems: Vec<ImportProblem>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Declared {
    pub name: String,
    pub description: String,
    pub columns: Vec<(String, String)>,
    pub removes: Vec<String>,
    pub needs: Vec<String>,
    pub options_schema: Value,
    pub per_row: bool,
    pub pure: bool,
}

/// A module that could not be imported.
#[derive(Debug, Deserialize)]
struct ImportProblem {
    module: String,
    error: String,
    place: String,
}

impl Loaded {
    /// Starts a process, and logs what it could not import.
    pub async fn start(config: &PythonConfig, path: &Path) -> Result<(Process, Self), ProcessError> {
        let (process, loaded) = Process::start(config, path).await?;
        let loaded: Self = serde_json::from_slice(&loaded).map_err(|_| ProcessError::Rubbish)?;
        for ImportProblem { module, error, place } in &loaded.problems {
            tracing::error!(module, error, place, "a module of VITRINA_PYTHON_PATH could not be imported");
        }
        Ok((process, loaded))
    }

    /// Starts the first process. What it lacks the worker lacks, so it is tried several times.
    pub async fn start_first(config: &PythonConfig, path: &Path) -> Result<(Process, Self), ProcessError> {
        for delay in FIRST_DELAYS {
            match Self::start(config, path).await {
                Err(error) if error.may_pass() => {
                    tracing::warn!(path = %path.display(), error = %error, "Python is started again");
                    tokio::time::sleep(delay).await;
                }
                started => return started,
            }
        }
        Self::start(config, path).await
    }
}
