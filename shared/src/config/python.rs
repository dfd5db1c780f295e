//! Settings of a worker's steps in Python.

use std::{path::PathBuf, time::Duration};

use super::env::{Env, FromEnv};

const TIMEOUT_SECONDS: f64 = 60.0;
const MEMORY_MB: u64 = 1024;

#[derive(Debug, Clone)]
pub struct PythonConfig {
    /// The directory of the operator's code; without one the worker has no steps in Python: `VITRINA_PYTHON_PATH`.
    pub path: Option<PathBuf>,
    /// The interpreter: `VITRINA_PYTHON`.
    pub program: String,
    /// How long a step may take for a block of rows: `VITRINA_PYTHON_TIMEOUT_SECONDS`.
    pub timeout: Duration,
    /// How much address space a process may have: `VITRINA_PYTHON_MEMORY_MB`. 0 means any.
    pub memory_bytes: Option<u64>,
}

impl FromEnv for PythonConfig {
    fn from_env(env: &mut Env) -> Option<Self> {
        let path = env.parsed("VITRINA_PYTHON_PATH", |value| {
            let path = PathBuf::from(value);
            let is_there = path.is_dir();
            is_there.then_some(path).ok_or_else(|| format!("is \"{value}\", which is no directory"))
        });
        let program = env.parsed("VITRINA_PYTHON", |value| Ok::<_, String>(value.to_owned()));
        let timeout = env.seconds("VITRINA_PYTHON_TIMEOUT_SECONDS", TIMEOUT_SECONDS, 0.1..=600.0);
        let memory: u64 = env.number("VITRINA_PYTHON_MEMORY_MB", MEMORY_MB, 0..=1_048_576);
        Some(Self {
            path,
            program: program.unwrap_or_else(|| "python3".to_owned()),
            timeout,
            memory_bytes: (memory > 0).then_some(memory * 1024 * 1024),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_a_worker_has_no_steps_in_python() {
        let python: PythonConfig = Env::from_pairs::<&str, &str>([]).read().expect("defaults");
        assert_eq!((python.path, python.program.as_str()), (None, "python3"));
        assert_eq!((python.timeout, python.memory_bytes), (Duration::from_secs(60), Some(1 << 30)));
        let unlimited: PythonConfig = Env::from_pairs([("VITRINA_PYTHON_MEMORY_MB", "0")]).read().expect("no limit");
        assert_eq!(unlimited.memory_bytes, None);
    }

    #[test]
    fn every_wrong_variable_is_named() {
        let pairs = [
            ("VITRINA_PYTHON_PATH", "/no/such/directory"),
            ("VITRINA_PYTHON_TIMEOUT_SECONDS", "601"),
            ("VITRINA_PYTHON_MEMORY_MB", "all"),
        ];
        let errors = Env::from_pairs(pairs).read::<PythonConfig>().expect_err("all are wrong");
        let named: Vec<&str> = errors.problems().iter().map(|problem| problem.variable).collect();
        assert_eq!(named, pairs.map(|(name, _)| name));
    }
}
