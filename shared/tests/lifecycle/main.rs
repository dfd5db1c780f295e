//! The lifecycle on a real database: what each command leaves behind, also when many come at once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod execution;
mod log;
mod property;
mod races;
mod ranges;
mod recovery;
mod requests;
mod rest;
mod retention;

use std::{future::Future, time::Duration};

use tokio::time::timeout;
use vitrina_shared::{
    definitions::{self, OnCheckpoint},
    domain::{
        Mode, Pipeline, PipelineDraft, PipelineId, PipelineOptions, PipelineRef, Run, RunId, RunStatus, Status,
        TaskKind, Trigger,
    },
    jobs::{BatchJob, Queued},
    lifecycle::{self, Cause, LifecycleError, RequestedRun, WantedRun},
    store::{pipelines, runs, transitions},
    testing::TestDatabase,
};

const ANNA: Cause<'static> = Cause { actor: "anna", correlation_id: "request-1" };
/// Nothing here takes longer, unless it is broken.
const SOON: Duration = Duration::from_secs(20);

fn draft(name: &str) -> PipelineDraft {
    PipelineDraft {
        name: name.to_owned(),
        description: String::new(),
        kind: TaskKind::Sql,
        mode: Mode::Incremental,
        source_query: Some("select id as genre_id, name, description, modified from content.genre".to_owned()),
        target_table: "analytics.genre_dim".to_owned(),
        batch_size: 100,
        incremental_key: Some("modified".to_owned()),
        incremental_id_key: Some("genre_id".to_owned()),
        enabled: true,
        options: PipelineOptions::default(),
        tasks: Vec::new(),
    }
}

/// A database with one pipeline in it.
struct World {
    db: TestDatabase,
    id: PipelineId,
}

impl World {
    async fn new() -> Self {
        Self::with(draft("genres")).await
    }

    async fn with(draft: PipelineDraft) -> Self {
        let db = TestDatabase::create().await;
        let id = definitions::create(db.pool(), &draft).await.unwrap().id;
        Self { db, id }
    }

    /// A world whose pipeline has a run and stands here.
    async fn at(status: Status) -> Self {
        let world = Self::new().await;
        if status != Status::Idle {
            world.run().await.unwrap();
        }
        match status {
            Status::Idle | Status::RunRequested => {}
            Status::Running => world.worker(Status::Running, RunStatus::Running, "Running").await,
            Status::PauseRequested => drop(world.pause().await.unwrap()),
            Status::Paused => world.worker(Status::Paused, RunStatus::Paused, "Done").await,
            Status::Failed => world.worker(Status::Failed, RunStatus::Failed, "Done").await,
        }
        world
    }

    fn pipeline(&self) -> PipelineRef {
        self.id.into()
    }

    async fn run(&self) -> Result<RequestedRun, LifecycleError> {
        lifecycle::request_run(self.db.pool(), &self.pipeline(), WantedRun::by(Trigger::Api), ANNA).await
    }

    async fn run_with_key(&self, key: &str) -> RequestedRun {
        let wanted = WantedRun { idempotency_key: Some(key), ..WantedRun::by(Trigger::Api) };
        lifecycle::request_run(self.db.pool(), &self.pipeline(), wanted, ANNA).await.unwrap()
    }

    async fn pause(&self) -> Result<Status, LifecycleError> {
        lifecycle::request_pause(self.db.pool(), &self.pipeline(), ANNA).await
    }

    async fn cancel(&self) -> Result<Status, LifecycleError> {
        Ok(lifecycle::cancel(self.db.pool(), &self.pipeline(), ANNA).await?.status)
    }

    async fn reset(&self) -> Result<Status, LifecycleError> {
        lifecycle::reset(self.db.pool(), &self.pipeline(), ANNA).await
    }

    async fn again(&self, run: RunId) -> Result<RequestedRun, LifecycleError> {
        lifecycle::run_again(self.db.pool(), run, ANNA).await
    }

    async fn change(&self, edit: impl FnOnce(&mut PipelineDraft)) -> Result<Pipeline, definitions::DefinitionError> {
        let Pipeline { mut draft, version, .. } = self.show().await;
        edit(&mut draft);
        definitions::change(self.db.pool(), self.id, version, &draft, OnCheckpoint::Keep, ANNA).await
    }

    async fn show(&self) -> Pipeline {
        let mut connection = self.db.pool().acquire().await.unwrap();
        pipelines::find(&mut connection, &self.pipeline()).await.unwrap().unwrap()
    }

    async fn status(&self) -> Status {
        self.show().await.status
    }

    async fn find_run(&self, id: RunId) -> Run {
        let mut connection = self.db.pool().acquire().await.unwrap();
        runs::find(&mut connection, id).await.unwrap().unwrap()
    }

    /// Does what a worker would: moves the pipeline, its unfinished run and that run's live job.
    async fn worker(&self, status: Status, run: RunStatus, job: &str) {
        sqlx::query(
            "with p as (
                 update etl.etl_pipelines set status = $2 where id = $1
             ), r as (
                 update etl.etl_runs
                 set status = $3, started_at = coalesce(started_at, now()),
                     finished_at = case when $3 in ('SUCCESS', 'FAILED', 'CANCELLED') then now() end
                 where pipeline_id = $1 and status in ('QUEUED', 'RUNNING', 'PAUSED')
                 returning id
             )
             update apalis.jobs j
             set status = $4
             from etl.etl_run_ranges g, r
             where g.run_id = r.id and j.id = g.job_id and j.status in ('Pending', 'Queued', 'Running')",
        )
        .bind(self.id)
        .bind(status)
        .bind(run)
        .bind(job)
        .execute(self.db.pool())
        .await
        .unwrap();
    }

    /// Remembers a checkpoint, as a finished batch does.
    async fn checkpoint(&self, run: RunId, key: &str, id: &str) {
        sqlx::query(
            "insert into etl.etl_state (pipeline_id, checkpoint_key, checkpoint_id, run_id, batch)
             values ($1, $2, $3, $4, 0)",
        )
        .bind(self.id)
        .bind(key)
        .bind(id)
        .bind(run)
        .execute(self.db.pool())
        .await
        .unwrap();
    }

    async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.db.pool()).await.unwrap()
    }

    /// Runs, jobs and transitions of the whole database.
    async fn counts(&self) -> (i64, i64, i64) {
        (
            self.count("select count(*) from etl.etl_runs").await,
            self.count("select count(*) from apalis.jobs").await,
            self.count("select count(*) from etl.etl_transitions").await,
        )
    }

    /// The log as `(from, to, reason)`, oldest first.
    async fn log(&self) -> Vec<(Status, Status, String)> {
        let mut connection = self.db.pool().acquire().await.unwrap();
        let all = transitions::after(&mut connection, 0, Some(self.id), 1000).await.unwrap();
        all.into_iter().map(|one| (one.from_status, one.to_status, one.reason)).collect()
    }

    /// The payloads of jobs that wait or execute, oldest first.
    async fn live_jobs(&self) -> Vec<Queued<BatchJob>> {
        let payloads: Vec<Vec<u8>> = sqlx::query_scalar(
            "select job from apalis.jobs where status in ('Pending', 'Queued', 'Running') order by id",
        )
        .fetch_all(self.db.pool())
        .await
        .unwrap();
        payloads.iter().map(|payload| serde_json::from_slice(payload).unwrap()).collect()
    }
}

async fn within<F: Future>(future: F) -> F::Output {
    timeout(SOON, future).await.expect("it takes no longer")
}

fn assert_illegal<T: std::fmt::Debug>(result: Result<T, LifecycleError>, sentence: &str) {
    let error = result.expect_err(sentence);
    assert!(matches!(error, LifecycleError::Illegal { .. }), "{error:?}");
    assert_eq!(error.to_string(), sentence);
}
