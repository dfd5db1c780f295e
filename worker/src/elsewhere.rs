//! Plans with steps that this worker does not have: it gives their jobs back, and a worker that has them takes those.
//!
//! A run has begun with one version of its steps' code, and one key of its pseudonyms: no worker with others goes on with it. Where no
//! live worker has what a plan needs, workers may just be restarting. After a while the run fails and says what is missing.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use sqlx::PgConnection;
use vitrina_shared::{domain::Task, jobs::BATCH_QUEUE, store::worker_steps};

use crate::{error::BatchError, mutex::unpoisoned, step::StepRegistry};

/// How long no live worker may have a step before a run fails, in heartbeats.
const PATIENT_HEARTBEATS: u32 = 30;
/// A part of that time: a job that no worker can take comes back every second.
const FORGETS_AFTER: u32 = 3;

/// Steps that no live worker had when this worker asked.
#[derive(Debug)]
pub struct Lacking {
    patience: Duration,
    since: Mutex<HashMap<Vec<String>, Asked>>,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    first: Instant,
    last: Instant,
}

impl Lacking {
    pub fn new(heartbeat: Duration) -> Self {
        Self { patience: heartbeat * PATIENT_HEARTBEATS, since: Mutex::default() }
    }

    /// Notes that no live worker has these steps. Whether that has been so for too long.
    fn note_nowhere(&self, steps: &[String], now: Instant) -> bool {
        let mut since = unpoisoned(&self.since);
        if !since.contains_key(steps) {
            tracing::warn!(steps = steps.join(", "), "a plan waits for steps in Python that no live worker has");
        }
        // What was not asked for lately may have been somewhere meanwhile.
        since.retain(|_, asked| now.duration_since(asked.last) < self.patience / FORGETS_AFTER);
        let asked = since.entry(steps.to_vec()).or_insert(Asked { first: now, last: now });
        asked.last = now;
        now.duration_since(asked.first) >= self.patience
    }

    fn note_somewhere(&self, steps: &[String]) {
        unpoisoned(&self.since).remove(steps);
    }

    /// Refuses a plan with a step that is not among those of this worker, and one that has begun with other code.
    pub async fn refuse(
        &self,
        own: &StepRegistry,
        connection: &mut PgConnection,
        (tasks, begun_with): (&[Task], Option<&[String]>),
    ) -> Result<(), BatchError> {
        let lacking = own.lacking(tasks);
        let needs: Vec<_> = match begun_with {
            Some(code) if code == own.code(tasks) => return Ok(()),
            Some(code) => code.to_vec(),
            None if lacking.is_empty() => return Ok(()),
            None => lacking.iter().map(|name| worker_steps::step(name)).collect(),
        };
        let names = needs.join(", ");
        if worker_steps::are_on_one_worker(connection, BATCH_QUEUE, &needs).await? {
            self.note_somewhere(&needs);
            return Err(BatchError::Elsewhere { needs, message: format!("another worker has {names}") });
        }
        if own.is_looking() {
            let message = format!("{names} may be among the steps that this worker is still importing");
            return Err(BatchError::Elsewhere { needs, message });
        }
        if !self.note_nowhere(&needs, Instant::now()) {
            return Err(BatchError::Elsewhere { needs, message: format!("no live worker has {names}") });
        }
        Err(BatchError::fatal(match begun_with {
            Some(_) => changed(&names),
            None => missing(&lacking),
        }))
    }
}

fn missing(steps: &[String]) -> String {
    let names = steps.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    format!(
        "the plan names {names} in Python, and for a while no live worker has had all of this: start a worker whose \
         VITRINA_PYTHON_PATH has it, or change the plan"
    )
}

fn changed(names: &str) -> String {
    format!(
        "the code or the key has changed since the run began: it began with {names}, and for a while no live worker has had that. Run \
         the pipeline again. An incremental one goes on after the rows that are written, which keep their old form; with \
         `--full` all rows are written anew"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_missing_for_as_long_as_every_answer_says_so() {
        let lacking = Lacking::new(Duration::from_secs(2));
        let (steps, begun) = (["slug".to_owned()], Instant::now());
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        let answers = (0..=7).map(|asked| lacking.note_nowhere(&steps, after(asked * 9)));
        assert_eq!(answers.collect::<Vec<_>>(), [false, false, false, false, false, false, false, true]);
        // For a while no job asked: another worker may have had the step.
        assert!(!lacking.note_nowhere(&steps, after(63 + 20)));
        let long = (1..=7).map(|asked| lacking.note_nowhere(&steps, after(83 + asked * 9)));
        assert_eq!(long.filter(|is_missing| *is_missing).count(), 1);
        lacking.note_somewhere(&steps);
        assert!(!lacking.note_nowhere(&steps, after(150)));
    }
}
