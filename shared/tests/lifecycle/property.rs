//! Whatever is asked, in whatever order, status, run, job and log agree.

use proptest::{prelude::*, test_runner::TestRunner};
use uuid::Uuid;
use vitrina_shared::{
    configuration,
    domain::{Mode, RunId, RunStatus, Status},
    lifecycle::{
        self, LifecycleError,
        execution::{self, HeldJob},
    },
    store::{pipelines, runs},
};

use crate::{World, draft, within};

#[derive(Debug, Clone, Copy)]
enum Step {
    Run,
    Pause,
    Cancel,
    Reset,
    Again,
    BatchSize,
    Mode,
    Enabled(bool),
    Claim,
    ClaimAtOnce,
    Close,
    CloseAtOnce,
    Fail,
    LoseJob,
}

const STEPS: &[Step] = &[
    Step::Run,
    Step::Run,
    Step::Pause,
    Step::Cancel,
    Step::Reset,
    Step::Again,
    Step::BatchSize,
    Step::Mode,
    Step::Enabled(true),
    Step::Enabled(false),
    Step::Claim,
    Step::ClaimAtOnce,
    Step::Close,
    Step::CloseAtOnce,
    Step::Fail,
    Step::LoseJob,
];

impl World {
    /// Takes a step; a refusal is fine, an error of the database is not.
    async fn take(&self, step: Step) {
        let refused = |error: LifecycleError| assert!(!matches!(error, LifecycleError::Database(_)), "{error}");
        let unchanged = |error: configuration::ConfigurationError| {
            assert!(!matches!(error, configuration::ConfigurationError::Database(_)), "{error}");
        };
        match step {
            Step::Run => drop(self.run().await.map_err(refused)),
            Step::Pause => drop(self.pause().await.map_err(refused)),
            Step::Cancel => drop(self.cancel().await.map_err(refused)),
            Step::Reset => drop(self.reset().await.map_err(refused)),
            Step::Again => drop(self.again(self.some_run().await).await.map_err(refused)),
            Step::BatchSize => drop(self.change(|draft| draft.batch_size += 1).await.map_err(unchanged)),
            Step::Mode => drop(self.change(|draft| draft.mode = Mode::Full).await.map_err(unchanged)),
            Step::Enabled(enabled) => drop(self.change(|draft| draft.enabled = enabled).await.map_err(unchanged)),
            Step::Claim => self.worker_step(&[(Status::RunRequested, Status::Running, RunStatus::Running)]).await,
            Step::ClaimAtOnce => drop(self.begin_at_once().await),
            Step::CloseAtOnce => drop(self.finish_at_once().await),
            Step::Close => {
                self.worker_step(&[
                    (Status::PauseRequested, Status::Paused, RunStatus::Paused),
                    (Status::Running, Status::Idle, RunStatus::Success),
                ])
                .await;
            }
            Step::Fail => self.worker_step(&[(Status::Running, Status::Failed, RunStatus::Failed)]).await,
            Step::LoseJob => {
                sqlx::query("delete from apalis.jobs").execute(self.db.pool()).await.unwrap();
                lifecycle::recover(self.db.pool()).await.map_err(refused).unwrap();
            }
        }
    }

    /// Begins the run of the job that waits, or tries to.
    pub async fn begin_at_once(&self) -> bool {
        let Some(job) = self.hold_job().await else { return false };
        let mut connection = self.db.pool().acquire().await.unwrap();
        let Some(run) = runs::open(&mut connection, job.batch.run_id, job.batch.range, None).await.unwrap() else {
            return false;
        };
        execution::begin_at_once(&mut connection, &job, &run, &runs::Start::default()).await.unwrap()
    }

    /// Ends the run of the live job, or tries to, as after its last page.
    pub async fn finish_at_once(&self) -> bool {
        let Some(job) = self.hold_job().await else { return false };
        let mut connection = self.db.pool().acquire().await.unwrap();
        sqlx::query("update etl.etl_run_ranges set finished_at = now() where run_id = $1")
            .bind(job.batch.run_id)
            .execute(&mut *connection)
            .await
            .unwrap();
        execution::finish_at_once(&mut connection, &job, "genres").await.unwrap().is_some()
    }

    /// Takes the live job, as a worker does.
    pub async fn hold_job(&self) -> Option<HeldJob> {
        let worker = "insert into apalis.workers (id, worker_type, storage_name) values ('worker', 'batches', 'test')
                      on conflict do nothing";
        sqlx::query(worker).execute(self.db.pool()).await.unwrap();
        let job: Option<(String, Vec<u8>)> = sqlx::query_as(
            "update apalis.jobs set status = 'Running', lock_by = 'worker', lock_at = now()
             where status in ('Pending', 'Queued', 'Running') returning id, job",
        )
        .fetch_optional(self.db.pool())
        .await
        .unwrap();
        let (id, payload) = job?;
        Some(HeldJob { id, batch: serde_json::from_slice(&payload).unwrap(), worker: "worker".to_owned() })
    }

    pub async fn some_run(&self) -> RunId {
        let newest = sqlx::query_scalar("select id from etl.etl_runs order by id desc limit 1");
        newest.fetch_optional(self.db.pool()).await.unwrap().unwrap_or(RunId(Uuid::nil()))
    }

    /// Does what a worker would, if the pipeline stands at the beginning of one of these ways: in one transaction,
    /// with the log.
    async fn worker_step(&self, ways: &[(Status, Status, RunStatus)]) {
        let mut tx = self.db.pool().begin().await.unwrap();
        let Some(pipeline) = pipelines::lock(&mut tx, &self.pipeline()).await.unwrap() else { return };
        let Some((from, to, run)) = ways.iter().find(|(from, _, _)| *from == pipeline.status) else { return };
        let job = if *to == Status::Running { "Running" } else { "Done" };
        sqlx::query(
            "with p as (
                 update etl.etl_pipelines set status = $3 where id = $1
             ), r as (
                 update etl.etl_runs
                 set status = $4, finished_at = case when $4 in ('SUCCESS', 'FAILED') then now() end
                 where pipeline_id = $1 and status in ('QUEUED', 'RUNNING', 'PAUSED')
                 returning id
             ), j as (
                 update apalis.jobs j set status = $5
                 from etl.etl_run_ranges g, r
                 where g.run_id = r.id and j.id = g.job_id and j.status in ('Pending', 'Queued', 'Running')
             )
             insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
             values ($1, 'genres', $2, $3, 'worker', 'simulated')",
        )
        .bind(self.id)
        .bind(from)
        .bind(to)
        .bind(run)
        .bind(job)
        .execute(&mut *tx)
        .await
        .unwrap();
        tx.commit().await.unwrap();
    }

    /// What must hold after every step.
    async fn check(&self) -> Result<(), TestCaseError> {
        let status = self.status().await;
        let unfinished =
            self.count("select count(*) from etl.etl_runs where status in ('QUEUED', 'RUNNING', 'PAUSED')").await;
        prop_assert_eq!(unfinished, i64::from(status.has_unfinished_run()), "unfinished runs while {}", status);
        let live = self
            .count(
                "select count(*) from apalis.jobs j
                 join etl.etl_run_ranges g on g.job_id = j.id
                 join etl.etl_runs r on r.id = g.run_id
                 where j.status in ('Pending', 'Queued', 'Running') and r.status in ('QUEUED', 'RUNNING', 'PAUSED')",
            )
            .await;
        let waiting = self.count("select count(*) from apalis.jobs where status = 'Pending'").await;
        let wanted = matches!(status, Status::RunRequested | Status::Running | Status::PauseRequested);
        prop_assert_eq!(live, i64::from(wanted), "live jobs while {}", status);
        prop_assert!(waiting <= live, "{} jobs wait while {}", waiting, status);
        let log = self.log().await;
        for pair in log.windows(2) {
            prop_assert_eq!(pair[0].1, pair[1].0, "the log is a chain: {:?}", log);
        }
        let end = log.last().map_or(Status::Idle, |last| last.1);
        prop_assert_eq!(end, status, "the log ends where the pipeline stands");
        Ok(())
    }

    /// Makes the world new again: another pipeline in an empty database.
    async fn begin_anew(&mut self) {
        sqlx::raw_sql("delete from etl.etl_pipelines; delete from apalis.jobs").execute(self.db.pool()).await.unwrap();
        self.id = configuration::create(self.db.pool(), &draft("genres")).await.unwrap().id;
    }
}

#[test]
fn whatever_is_asked_status_run_job_and_log_agree() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = std::cell::RefCell::new(runtime.block_on(World::new()));
    let steps = proptest::collection::vec(proptest::sample::select(STEPS), 1..40);
    let config = ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() };

    let outcome = TestRunner::new(config).run(&steps, |steps| {
        let mut world = world.borrow_mut();
        runtime.block_on(async {
            world.begin_anew().await;
            for step in steps {
                world.take(step).await;
                world.check().await?;
            }
            Ok(())
        })
    });

    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let _guard = runtime.enter();
    drop(world);
}

#[test]
fn whatever_is_asked_at_once_status_run_job_and_log_agree() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = std::cell::RefCell::new(runtime.block_on(World::new()));
    let steps = proptest::collection::vec(proptest::sample::select(STEPS), 8..40);
    let config = ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() };

    let outcome = TestRunner::new(config).run(&steps, |steps| {
        let mut world = world.borrow_mut();
        runtime.block_on(async {
            world.begin_anew().await;
            let at_once = steps.into_iter().map(|step| world.take(step));
            within(futures_util::future::join_all(at_once)).await;
            world.check().await
        })
    });

    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let _guard = runtime.enter();
    drop(world);
}
