//! The steps of this deployment.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use vitrina_shared::domain::{
    ErrorClass, Task,
    transform::{Configured, Registry, RowTransform, TransformKind},
};

use super::{Block, Processed, Sequence, Step, StepContext, StepError, sequence::PlannedStep};

/// Makes a step of checked options.
pub type Construct = Arc<dyn Fn(&Map<String, Value>) -> Result<Box<dyn Step>, String> + Send + Sync>;

/// The transforms that plans may name, and the code of those that are no functions of one row.
#[derive(Clone, Default)]
pub struct StepRegistry {
    transforms: Registry,
    executed: Vec<(&'static str, Construct)>,
}

impl StepRegistry {
    /// The same with one step more.
    pub fn with(mut self, kind: TransformKind, construct: Construct) -> Self {
        self.transforms = self.transforms.with(kind);
        self.executed.push((kind.name, construct));
        self
    }

    /// What plans are checked against.
    pub fn transforms(&self) -> &Registry {
        &self.transforms
    }

    /// The steps of a checked plan, whose target has this key.
    pub fn sequence(&self, tasks: &[Task], key: &[String]) -> Result<Sequence, StepError> {
        let configured = self.transforms.configured(tasks).into_iter();
        let steps: Result<Vec<_>, _> = configured.map(|(place, step)| self.planned(&tasks[place], step, key)).collect();
        Ok(Sequence::new(steps?))
    }

    fn planned(&self, task: &Task, configured: Configured, key: &[String]) -> Result<PlannedStep, StepError> {
        let declared = configured.declared();
        let touches = declared.touches().into_iter().map(str::to_owned).collect();
        let (is_pure, drops_rows) = (declared.is_pure(), declared.drops_rows());
        let quotes_rows = matches!(configured, Configured::Worker(_));
        let (step, key): (Box<dyn Step>, _) = match configured {
            // What it touches is all that it changes: both are in one file.
            Configured::Row(transform) => (Box::new(RowStep(transform)), Vec::new()),
            Configured::Worker(_) => (self.construct(task)?, key.to_vec()),
        };
        Ok(PlannedStep { name: task.body.clone(), step, touches, is_pure, drops_rows, quotes_rows, key })
    }

    fn construct(&self, task: &Task) -> Result<Box<dyn Step>, StepError> {
        let refused = |message| StepError::new(ErrorClass::Fatal, message).of_step(&task.body);
        let found = self.executed.iter().find(|(name, _)| *name == task.body);
        let (_, construct) = found.ok_or_else(|| refused("this worker has no code for it".to_owned()))?;
        construct(&task.options).map_err(refused)
    }
}

/// A pure function, applied to one row after the other.
#[derive(Debug)]
struct RowStep(Box<dyn RowTransform>);

#[async_trait]
impl Step for RowStep {
    async fn execute(&self, _: &StepContext, block: Block) -> Result<Processed, StepError> {
        let mut processed = Processed { rows: Vec::with_capacity(block.len()), rejected: Vec::new() };
        for mut row in block {
            match self.0.apply(&mut row.document) {
                Ok(()) => processed.rows.push(row),
                Err(reason) => processed.rejected.push(row.reject(reason)),
            }
        }
        Ok(processed)
    }
}
