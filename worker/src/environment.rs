//! What jobs reach the world through.

use std::{
    collections::HashMap,
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

/// How long what was found out about source and target holds. What changes in their tables is seen sooner
/// (`store::catalog`).
const REVIEW_HOLDS: Duration = Duration::from_secs(10);

/// The connections that jobs have.
#[derive(Debug, Clone)]
pub struct Connections {
    /// For batches.
    pub batches: PgPool,
    /// For reading pages whose rows pass through the worker.
    pub reading: PgPool,
    /// For describing queries.
    pub describing: Describing,
    /// For reports.
    pub reports: PgPool,
    /// For heartbeats, maintenance, and giving back jobs.
    pub control: PgPool,
    pub sinks: Sinks,
    /// What the database's clock said last.
    pub clock: Arc<DatabaseClock>,
}

impl Connections {
    /// The home database as a source.
    pub fn home(&self, schemas: SourceSchemas) -> Home {
        let Self { describing, reading, clock, .. } = self.clone();
        Home { describing, schemas, reading, clock }
    }

    /// Opens what a first run needs and prepares what is asked of every query, before there is a run: where the database is
    /// far away, it would wait for that.
    pub async fn warm_up(&self, schemas: &SourceSchemas) {
        let describe = async {
            let query = guard::parse("select 1 as id", schemas)?;
            self.describing.describe(query, (None, None), schemas).await
        };
        let (batches, described) = tokio::join!(self.batches.acquire(), describe);
        if let Some(error) = batches.err().map(GuardError::from).or(described.err()) {
            tracing::debug!(error = %error, "the first run opens its connections itself");
        }
    }

    /// Closes those to the database.
    pub async fn close(&self) {
        self.batches.close().await;
        self.reading.close().await;
        self.describing.close().await;
        self.reports.close().await;
        self.control.close().await;
    }
}

/// Everything a job needs.
pub struct Environment {
    /// For batches.
    pub db: PgPool,
    pub sources: Sources,
    /// For reports: however many there are, batches have their connections.
    pub reports: PgPool,
    /// For heartbeats and maintenance, and for giving jobs back where the others cannot.
    pub control: PgPool,
    pub sinks: Sinks,
    /// Room for reports.
    pub report_slots: ReportSlots,
    /// Runs and reports that are being worked on.
    pub in_hand: InHand,
    /// How large a row may be that passes through the worker.
    pub max_row_bytes: u32,
    pub name: String,
    /// Steps that plans may name.
    pub steps: StepRegistry,
    /// Cancelled when the worker stops: chains end after their current batch.
    pub stop: CancellationToken,
    /// Cancelled when the worker's life under this name ends: whatever it still holds is given to others.
    pub life: CancellationToken,
    /// What the database's clock said last.
    pub clock: Arc<DatabaseClock>,
    /// Makes the queue look for jobs.
    pub wake: watch::Sender<u64>,
    /// How many tasks work on a job: one that gave it back may still wait for the database while another has taken it.
    working: Mutex<HashMap<String, usize>>,
    plans: Mutex<HashMap<RunId, Arc<Plan>>>,
    reviews: Mutex<HashMap<String, (Instant, Arc<Reviewed>)>>,
    beat_at: Mutex<Instant>,
}

impl Environment {
    /// An environment of the given worker.
    pub fn new(
        connections: Connections,
        (sources, steps): (Sources, StepRegistry),
        max_row_bytes: u32,
        name: String,
        wake: watch::Sender<u64>,
        stop: CancellationToken,
        life: CancellationToken,
    ) -> Self {
        let Connections { batches, reports, control, sinks, clock, .. } = connections;
        Self {
            db: batches,
            sources,
            reports,
            control,
            sinks,
            report_slots: ReportSlots::default(),
            in_hand: InHand::default(),
            max_row_bytes,
            name,
            steps,
            stop,
            life,
            clock,
            wake,
            working: Mutex::default(),
            plans: Mutex::default(),
            reviews: Mutex::default(),
            beat_at: Mutex::new(Instant::now()),
        }
    }

    /// Notes that a heartbeat got through.
    pub fn note_beat(&self) {
        *unpoisoned(&self.beat_at) = Instant::now();
    }

    /// When the last heartbeat got through, or the worker's life began.
    pub fn beat_at(&self) -> Instant {
        *unpoisoned(&self.beat_at)
    }

    /// Sessions of one of the pools for the work on a run or report.
    pub fn sessions(&self, pool: &PgPool, id: Uuid) -> Sessions {
        Sessions::new(pool, self.in_hand.handle(id))
    }

    /// What the steps of a pipeline reach the world through, while a statement for this run or report reads their rows.
    pub fn step_context(&self, pipeline: PipelineId, id: Uuid, correlation_id: &str) -> StepContext {
        StepContext {
            pipeline,
            id,
            correlation_id: correlation_id.to_owned(),
            cancelled: self.in_hand.handle(id).given_up,
            deadline: tokio::time::Instant::now() + LONGEST_STATEMENT,
        }
    }

    /// The plan of a run, if it was made here before.
    pub fn plan(&self, run: RunId) -> Option<Arc<Plan>> {
        unpoisoned(&self.plans).get(&run).cloned()
    }

    /// Keeps a run's plan.
    pub fn keep_plan(&self, run: RunId, plan: Arc<Plan>) {
        let mut plans = unpoisoned(&self.plans);
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(run, plan);
    }

    /// Forgets the plan of a run that ended.
    pub fn forget_plan(&self, run: RunId) {
        unpoisoned(&self.plans).remove(&run);
    }

    /// The catalog that the plan of a run was made from, or else what was found out last about its pipeline.
    pub fn catalog(&self, run: RunId, pipeline: PipelineId) -> Option<Arc<Catalog>> {
        if let Some(plan) = self.plan(run) {
            return Some(plan.catalog.clone());
        }
        let (reviews, own) = (unpoisoned(&self.reviews), pipeline.to_string());
        let of_pipeline = reviews.iter().filter(|(inputs, _)| inputs.starts_with(&own));
        of_pipeline.max_by_key(|(_, (found_at, _))| *found_at).map(|(_, (_, reviewed))| reviewed.catalog.clone())
    }

    /// What was found out about the same inputs of the same pipeline a moment ago.
    pub fn review(&self, pipeline: PipelineId, inputs: &PipelineDraft) -> Option<Arc<Reviewed>> {
        let reviews = unpoisoned(&self.reviews);
        let (found_at, reviewed) = reviews.get(&essence(pipeline, inputs))?;
        (found_at.elapsed() < REVIEW_HOLDS).then(|| reviewed.clone())
    }

    /// Keeps what was found out about inputs.
    pub fn keep_review(&self, pipeline: PipelineId, inputs: &PipelineDraft, reviewed: Reviewed) -> Arc<Reviewed> {
        let mut reviews = unpoisoned(&self.reviews);
        reviews.retain(|_, (found_at, _)| found_at.elapsed() < REVIEW_HOLDS);
        let reviewed = Arc::new(reviewed);
        reviews.insert(essence(pipeline, inputs), (Instant::now(), reviewed.clone()));
        reviewed
    }

    /// Forgets what was found out about inputs.
    pub fn forget_reviews(&self) {
        unpoisoned(&self.reviews).clear();
    }

    /// Notes that a task works on a job.
    pub fn take_up(&self, job: &str) {
        *unpoisoned(&self.working).entry(job.to_owned()).or_default() += 1;
    }

    /// Notes that a task does not work on a job any more.
    pub fn put_down(&self, job: &str) {
        let mut working = unpoisoned(&self.working);
        if let Some(tasks) = working.get_mut(job) {
            *tasks -= 1;
        }
        working.retain(|_, tasks| *tasks > 0);
    }

    /// The jobs that are being worked on.
    pub fn working(&self) -> Vec<String> {
        unpoisoned(&self.working).keys().cloned().collect()
    }

    /// Looks for jobs after `delay`, when one that was put back is due.
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
    use vitrina_shared::domain::{Mode, PipelineOptions, Task, TaskKind};

    use super::*;

    #[test]
    fn inputs_that_differ_in_any_option_of_a_transform_are_reviewed_anew() {
        let mask = |column: &str| PipelineDraft {
            name: "films".to_owned(),
            description: String::new(),
            kind: TaskKind::Rust,
            mode: Mode::Full,
            source_query: None,
            target_table: "analytics.films".to_owned(),
            batch_size: 10,
            incremental_key: None,
            incremental_id_key: None,
            enabled: true,
            options: PipelineOptions::default(),
            tasks: vec![Task {
                order_index: 1,
                task_type: TaskKind::Rust,
                body: "mask".to_owned(),
                target_table: None,
                options: serde_json::Map::from_iter([("columns".to_owned(), serde_json::json!([column]))]),
            }],
        };
        let pipeline = PipelineId::generate();
        assert_eq!(essence(pipeline, &mask("title")), essence(pipeline, &mask("title")));
        assert_ne!(essence(pipeline, &mask("title")), essence(pipeline, &mask("name")));
        assert_ne!(essence(pipeline, &mask("title")), essence(PipelineId::generate(), &mask("title")));
    }
}
