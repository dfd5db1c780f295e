//! What jobs reach the world through.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use sqlx::PgPool;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vitrina_shared::{
    domain::{PipelineDraft, PipelineId, RunId},
    guard::{self, Describing, GuardError, SourceSchemas},
    store::catalog::Catalog,
};

use crate::{
    clock::DatabaseClock,
    elsewhere::Lacking,
    in_hand::InHand,
    mutex::unpoisoned,
    plan::{Plan, Reviewed},
    report_slots::ReportSlots,
    session::{LONGEST_STATEMENT, Sessions},
    sink::Sinks,
    source::{Sources, home::Home},
    step::{StepContext, StepRegistry},
};

/// Plans kept ready: a chain that yielded finds its plan again.
const MAX_PLANS: usize = 256;

/// How long a review of source and target holds. Changed tables are seen sooner (`store::catalog`).
const REVIEW_HOLDS: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Connections {
    pub db: PgPool,
    /// For reading pages whose rows pass through the worker.
    pub page_pool: PgPool,
    pub describing: Describing,
    /// For reports: however many there are, batches have their connections.
    pub reports: PgPool,
    /// For heartbeats and maintenance, and for giving jobs back where those for jobs cannot be opened.
    pub control: PgPool,
    /// For the notes of calls to services outside: those of batches have transactions open.
    pub calls: PgPool,
    pub sinks: Sinks,
    pub clock: Arc<DatabaseClock>,
}

impl Connections {
    pub fn home(&self, schemas: SourceSchemas) -> Home {
        let Self { describing, page_pool, clock, .. } = self.clone();
        Home { describing, schemas, page_pool, clock }
    }

    /// Opens what a first run needs and prepares what is asked of every query, before there is a run: where the database is
    /// far away, it would wait for that.
    pub async fn warm_up(&self, schemas: &SourceSchemas) {
        let describe = async {
            let query = guard::parse("select 1 as id", schemas)?;
            self.describing.describe(query, (None, None), schemas).await
        };
        let (batches, described) = tokio::join!(self.db.acquire(), describe);
        if let Some(error) = batches.err().map(GuardError::from).or(described.err()) {
            tracing::debug!(error = %error, "the first run opens its connections itself");
        }
    }

    pub async fn close(&self) {
        self.db.close().await;
        self.page_pool.close().await;
        self.describing.close().await;
        self.reports.close().await;
        self.control.close().await;
        self.calls.close().await;
    }
}

pub struct Environment {
    pub connections: Connections,
    pub sources: Sources,
    pub steps: OwnSteps,
    /// How large a row may be that passes through the worker.
    pub max_row_bytes: u32,
    pub name: String,
    pub wake: watch::Sender<u64>,
    /// Cancelled when the worker stops: chains end after their current batch.
    pub stop: CancellationToken,
    /// Cancelled when the worker's life under this name ends: what it still holds is given to other workers.
    pub life: CancellationToken,
    pub report_slots: ReportSlots,
    pub in_hand: InHand,
    pub memory: Memory,
    pub lacking: Lacking,
}

/// The steps of this worker. Those in Python are there once they were imported.
pub struct OwnSteps(Mutex<Arc<StepRegistry>>);

impl OwnSteps {
    pub fn new(steps: StepRegistry) -> Self {
        Self(Mutex::new(Arc::new(steps)))
    }

    pub fn current(&self) -> Arc<StepRegistry> {
        unpoisoned(&self.0).clone()
    }

    pub fn replace(&self, steps: StepRegistry) {
        *unpoisoned(&self.0) = Arc::new(steps);
    }
}

#[derive(Default)]
pub struct Memory {
    /// How many tasks work on a job: one that gave it back may still wait for the database while another has taken it.
    working: Mutex<HashMap<String, usize>>,
    plans: Mutex<HashMap<RunId, Arc<Plan>>>,
    reviews: Mutex<HashMap<String, (Instant, Arc<Reviewed>)>>,
    beat_at: Mutex<Option<Instant>>,
}

impl Deref for Environment {
    type Target = Connections;

    fn deref(&self) -> &Connections {
        &self.connections
    }
}

impl Environment {
    pub fn note_beat(&self) {
        *unpoisoned(&self.memory.beat_at) = Some(Instant::now());
    }

    /// When the last heartbeat got through, if one has.
    pub fn beat_at(&self) -> Option<Instant> {
        *unpoisoned(&self.memory.beat_at)
    }

    pub fn sessions(&self, pool: &PgPool, id: Uuid) -> Sessions {
        Sessions::new(pool, self.in_hand.handle(id))
    }

    /// What the steps of a pipeline reach the world through, while a statement for this run or report reads their rows.
    pub fn step_context(&self, (pipeline, name): (PipelineId, &str), id: Uuid, correlation_id: &str) -> StepContext {
        StepContext {
            pipeline,
            name: name.to_owned(),
            id,
            correlation_id: correlation_id.to_owned(),
            cancelled: self.in_hand.handle(id).given_up,
            max_row_bytes: self.max_row_bytes,
            deadline: tokio::time::Instant::now() + LONGEST_STATEMENT,
            counts: Arc::default(),
        }
    }

    pub fn plan(&self, run: RunId) -> Option<Arc<Plan>> {
        unpoisoned(&self.memory.plans).get(&run).cloned()
    }

    pub fn keep_plan(&self, run: RunId, plan: Arc<Plan>) {
        let mut plans = unpoisoned(&self.memory.plans);
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(run, plan);
    }

    pub fn forget_plan(&self, run: RunId) {
        unpoisoned(&self.memory.plans).remove(&run);
    }

    /// The catalog that the plan of a run was made from, or else what was found out last about its pipeline.
    pub fn catalog(&self, run: RunId, pipeline: PipelineId) -> Option<Arc<Catalog>> {
        if let Some(plan) = self.plan(run) {
            return Some(plan.catalog.clone());
        }
        let (reviews, own) = (unpoisoned(&self.memory.reviews), pipeline.to_string());
        let of_pipeline = reviews.iter().filter(|(inputs, _)| inputs.starts_with(&own));
        of_pipeline.max_by_key(|(_, (found_at, _))| *found_at).map(|(_, (_, reviewed))| reviewed.catalog.clone())
    }

    /// What was found out about the same inputs of the same pipeline a moment ago.
    pub fn review(&self, pipeline: PipelineId, inputs: &PipelineDraft) -> Option<Arc<Reviewed>> {
        let reviews = unpoisoned(&self.memory.reviews);
        let (found_at, reviewed) = reviews.get(&essence(pipeline, inputs))?;
        (found_at.elapsed() < REVIEW_HOLDS).then(|| reviewed.clone())
    }

    pub fn keep_review(&self, pipeline: PipelineId, inputs: &PipelineDraft, reviewed: Reviewed) -> Arc<Reviewed> {
        let mut reviews = unpoisoned(&self.memory.reviews);
        reviews.retain(|_, (found_at, _)| found_at.elapsed() < REVIEW_HOLDS);
        let reviewed = Arc::new(reviewed);
        reviews.insert(essence(pipeline, inputs), (Instant::now(), reviewed.clone()));
        reviewed
    }

    pub fn forget_reviews(&self) {
        unpoisoned(&self.memory.reviews).clear();
    }

    pub fn take_up(&self, job: &str) {
        *unpoisoned(&self.memory.working).entry(job.to_owned()).or_default() += 1;
    }

    pub fn put_down(&self, job: &str) {
        let mut working = unpoisoned(&self.memory.working);
        if let Some(tasks) = working.get_mut(job) {
            *tasks -= 1;
        }
        working.retain(|_, tasks| *tasks > 0);
    }

    pub fn working(&self) -> Vec<String> {
        unpoisoned(&self.memory.working).keys().cloned().collect()
    }

    /// Makes the queue look for jobs after `delay`, when one that was put back is due.
    pub fn wake_after(&self, delay: Duration) {
        let wake = self.wake.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            wake.send_modify(|count| *count += 1);
        });
    }
}

/// What a review depends on: all of the inputs, and the pipeline. One that was deleted and made again may have a target with
/// another key or other options under the same name.
fn essence(pipeline: PipelineId, inputs: &PipelineDraft) -> String {
    format!("{pipeline} {inputs:?}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_that_differ_in_any_option_of_a_transform_are_reviewed_anew() {
        let mask = |column: &str| -> PipelineDraft {
            let task = json!({"order_index": 1, "task_type": "RUST", "body": "mask", "options": {"columns": [column]}});
            serde_json::from_value(json!({
                "name": "films", "description": "", "kind": "RUST", "mode": "full", "target_table": "analytics.films",
                "batch_size": 10, "enabled": true, "options": {}, "tasks": [task],
            }))
            .expect("a draft")
        };
        let pipeline = PipelineId::generate();
        assert_eq!(essence(pipeline, &mask("title")), essence(pipeline, &mask("title")));
        assert_ne!(essence(pipeline, &mask("title")), essence(pipeline, &mask("name")));
        assert_ne!(essence(pipeline, &mask("title")), essence(PipelineId::generate(), &mask("title")));
    }
}
