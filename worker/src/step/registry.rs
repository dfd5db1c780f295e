//! The steps of this deployment.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use vitrina_shared::{
    config::Keys,
    domain::{
        ErrorClass, SourceColumn, Task, TaskKind,
        transform::{self, Configured, Hash, Outcome, PublishedStep, Registry, RowTransform, TransformKind},
    },
    store::worker_steps,
};

use super::{
    Block, Outside, Processed, Python, Sequence, Step, StepContext, StepError, hash, http, sequence::PlannedStep,
    within_block,
};

/// Makes a step of checked options.
pub type Construct = Arc<dyn Fn(&Map<String, Value>) -> Result<Box<dyn Step>, String> + Send + Sync>;

/// The transforms that plans may name, and the code of those that are no functions of one row.
#[derive(Clone, Default)]
pub struct StepRegistry {
    transforms: Registry,
    executed: Vec<(&'static str, Construct)>,
    python: Option<Arc<Python>>,
    /// Pools of one key, each with what tells it from others.
    keys: Vec<(String, String)>,
    /// Whether steps in Python are still being looked for.
    is_looking: bool,
}

/// Rows that come to a plan's first step.
#[derive(Debug, Clone, Copy)]
pub struct Arriving<'a> {
    /// The columns before the first step, and after each.
    pub stages: &'a [Vec<SourceColumn>],
    /// Whether arrays travel as texts, as they do on their way to a mart.
    pub arrays_as_text: bool,
}

impl StepRegistry {
    pub fn with(mut self, kind: TransformKind, construct: Construct) -> Self {
        self.transforms = self.transforms.with(kind);
        self.executed.push((kind.name, construct));
        self
    }

    /// The same with the steps that use keys of this worker's environment.
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys.single().map(|(pool, fingerprint)| (pool.to_owned(), fingerprint)).collect();
        self.executed.push((hash::NAME, Arc::new(move |options| hash::construct(options, &keys))));
        self
    }

    /// The same with those, and the steps that call services outside.
    pub fn with_outside(mut self, outside: Outside) -> Self {
        let keys = outside.keys.clone();
        self.executed.push((http::NAME, Arc::new(move |options| http::construct(options, &outside))));
        self.with_keys(keys)
    }

    /// The same with the steps in Python of this worker.
    pub fn with_python(mut self, python: Python) -> Self {
        self.transforms = self.transforms.with_published(python.steps().iter().map(|step| (**step).clone()));
        self.python = Some(Arc::new(python));
        self
    }

    /// The same while its steps in Python are being looked for, or not any more.
    pub fn looking(mut self, is_looking: bool) -> Self {
        self.is_looking = is_looking;
        self
    }

    /// Whether this worker may have steps soon that it lacks now.
    pub fn is_looking(&self) -> bool {
        self.is_looking
    }

    /// What other processes are told of: the steps that only some workers have.
    pub fn published(&self) -> Vec<PublishedStep> {
        self.transforms.published().iter().map(|step| (**step).clone()).collect()
    }

    /// The steps in Python of a plan, if this worker does not have all of them.
    pub fn lacking(&self, tasks: &[Task]) -> Vec<String> {
        let named = tasks.iter().filter(|task| task.task_type == TaskKind::Python).map(|task| task.body.clone());
        let mut named: Vec<_> = named.collect();
        named.sort();
        named.dedup();
        let has_all = named.iter().all(|name| self.transforms.find_published(name).is_some());
        if has_all { Vec::new() } else { named }
    }

    /// What tells the code that this worker would execute for a plan from other code: the versions of its published steps, and
    /// the keys of its pseudonyms.
    pub fn code(&self, tasks: &[Task]) -> Vec<String> {
        let mut code: Vec<_> = tasks.iter().filter_map(|task| self.code_of(task)).collect();
        code.sort();
        code.dedup();
        code
    }

    fn code_of(&self, task: &Task) -> Option<String> {
        match task.task_type {
            TaskKind::Python => {
                let step = self.transforms.find_published(&task.body)?;
                Some(worker_steps::step_in_version(&step.name, &step.version))
            }
            TaskKind::Rust if task.body == hash::NAME => {
                let pool = Hash::of(&task.options).ok()?.pool;
                let (_, fingerprint) = self.keys.iter().find(|(own, _)| *own == pool)?;
                Some(worker_steps::key(&pool, fingerprint))
            }
            TaskKind::Rust | TaskKind::Sql => None,
        }
    }

    /// What this worker has that others may lack, in the words of `store::worker_steps`.
    pub fn has(&self) -> Vec<String> {
        let steps = self.transforms.published().iter();
        let steps = steps
            .flat_map(|own| [worker_steps::step(&own.name), worker_steps::step_in_version(&own.name, &own.version)]);
        steps.chain(self.keys.iter().map(|(pool, fingerprint)| worker_steps::key(pool, fingerprint))).collect()
    }

    /// The pools of one key of this worker, each with what tells the key from others.
    pub fn keys(&self) -> &[(String, String)] {
        &self.keys
    }

    /// What plans are checked against.
    pub fn transforms(&self) -> &Registry {
        &self.transforms
    }

    /// The steps of a checked plan, whose target has this key.
    pub fn sequence(&self, tasks: &[Task], key: &[String], arriving: Arriving<'_>) -> Result<Sequence, StepError> {
        let configured = self.transforms.configured(tasks).into_iter().zip(arriving.stages.windows(2));
        let planned = configured
            .map(|((place, step), stages)| self.planned(&tasks[place], step, Arriving { stages, ..arriving }, key));
        let steps = planned.collect::<Result<Vec<_>, _>>()?;
        if steps.len() + 1 < tasks.len() {
            return Err(StepError::new(ErrorClass::Fatal, "a step of the plan was not checked"));
        }
        Ok(Sequence::new(steps))
    }

    fn planned(
        &self,
        task: &Task,
        configured: Configured,
        arriving: Arriving<'_>,
        key: &[String],
    ) -> Result<PlannedStep, StepError> {
        let refused = |message| StepError::new(ErrorClass::Fatal, message).of_step(&task.body);
        let columns = arriving.stages;
        let declared = configured.declared();
        let touches = transform::touched(declared, &columns[0], &columns[1]);
        let (is_pure, repeats, drops_rows) = (declared.is_pure(), declared.repeats(), declared.drops_rows());
        let quotes_rows = matches!(configured, Configured::Worker(_));
        let entity = Some(declared.entity().join(", ")).filter(|columns| !columns.is_empty());
        let concurrency = declared.concurrency().and_then(|most| i32::try_from(most).ok());
        let (step, key): (Box<dyn Step>, _) = match configured {
            // What it touches is all that it changes: both are in one file.
            Configured::Row(mut transform) => {
                transform.prepare(&columns[0]).map_err(refused)?;
                (Box::new(RowStep(transform)), Vec::new())
            }
            // No other columns come back than those that it touches.
            Configured::Worker(_) if task.task_type == TaskKind::Python => {
                (self.in_python(task, arriving, key)?, Vec::new())
            }
            Configured::Worker(_) => (self.construct(task)?, key.to_vec()),
        };
        let (place, name, counts) = (task.order_index, task.body.clone(), Arc::default());
        Ok(PlannedStep {
            place,
            name,
            step,
            touches,
            is_pure,
            repeats,
            drops_rows,
            quotes_rows,
            key,
            entity,
            concurrency,
            counts,
        })
    }

    fn in_python(&self, task: &Task, arriving: Arriving<'_>, key: &[String]) -> Result<Box<dyn Step>, StepError> {
        let Arriving { stages, arrays_as_text } = arriving;
        let python = self.python.as_ref();
        let step = python.and_then(|python| python.step(&task.body, &task.options, (&stages[0], key), arrays_as_text));
        step.ok_or_else(|| StepError::new(ErrorClass::Fatal, "this worker has no code for it").of_step(&task.body))
    }

    fn construct(&self, task: &Task) -> Result<Box<dyn Step>, StepError> {
        let refused = |message| StepError::new(ErrorClass::Fatal, message).of_step(&task.body);
        let found = self.executed.iter().find(|(name, _)| *name == task.body);
        let (_, construct) = found.ok_or_else(|| refused("this worker has no code for it".to_owned()))?;
        construct(&task.options).map_err(refused)
    }
}

/// Rows between which others have their turn.
const ROWS_AT_ONCE: usize = 16;

/// A pure function, applied to one row after the other.
#[derive(Debug)]
struct RowStep(Box<dyn RowTransform>);

#[async_trait]
impl Step for RowStep {
    async fn execute(&self, _: &StepContext, block: Block) -> Result<Processed, StepError> {
        let mut processed = Processed { rows: Vec::with_capacity(block.len()), rejected: Vec::new() };
        let mut bytes = 0;
        for (place, mut row) in block.into_iter().enumerate() {
            if place % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 {
                // Only between two rows can a run be cancelled, or its deadline pass.
                tokio::task::yield_now().await;
            }
            match self.0.apply(&mut row.document) {
                Ok(Outcome::Kept) => {
                    bytes += row.document.bytes();
                    within_block(bytes)?;
                    processed.rows.push(row);
                }
                Ok(Outcome::Dropped) => {}
                Err(reason) => processed.rejected.push(row.reject(reason)),
            }
        }
        Ok(processed)
    }
}
