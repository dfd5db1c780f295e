//! After any commands in any order, status, run, job and log agree.

use proptest::{prelude::*, test_runner::TestRunner};
use uuid::Uuid;
use vitrina_shared::{
    definitions,
    domain::{Mode, RunId, Status},
    lifecycle::{
        self, LifecycleError,
        execution::{Conclusion, HeldBatch},
    },
    store::queue,
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
    Work(Work),
    LoseJob,
}

/// What a worker does to the job that it holds.
#[derive(Debug, Clone, Copy)]
enum Work {
    Begin,
    /// A batch was written after which the chain does not go on by itself.
    Conclude,
    /// The last batch was written.
    Close,
    Fail,
    Retry,
    GiveBack,
    Interrupt,
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
    Step::Work(Work::Begin),
    Step::Work(Work::Begin),
    Step::Work(Work::Conclude),
    Step::Work(Work::Close),
    Step::Work(Work::Fail),
    Step::Work(Work::Retry),
    Step::Work(Work::GiveBack),
    Step::Work(Work::Interrupt),
    Step::LoseJob,
];

impl World {
    /// Takes a step; a refusal is fine, an error of the database is not.
    async fn take(&self, step: Step) {
        let refused = |error: LifecycleError| {
            assert!(!matches!(error, LifecycleError::Database(_) | LifecycleError::ChangedUnderLock), "{error}");
        };
        let unchanged = |error: definitions::DefinitionError| {
            assert!(!matches!(error, definitions::DefinitionError::Database(_)), "{error}");
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
            Step::Work(work) => {
                if let Some(job) = self.hold_job().await {
                    self.work(work, &job).await;
                }
            }
            Step::LoseJob => {
                sqlx::query("delete from apalis.jobs").execute(self.db.pool()).await.unwrap();
                lifecycle::recover(self.db.pool()).await.map_err(refused).unwrap();
            }
        }
    }

    /// Does what a worker does to the job that it holds, and drops it where its run has ended.
    async fn work(&self, work: Work, job: &HeldBatch) {
        let done = match work {
            Work::Begin => self.begin(job).await,
            Work::Conclude => self.conclude(job, false).await,
            Work::Close => self.close(job).await,
            Work::Fail => self.fail(job).await,
            Work::Retry => self.retry(job).await,
            Work::GiveBack => self.give_back(job).await,
            Work::Interrupt => self.interrupted(job).await,
        };
        if done == Conclusion::Dropped {
            queue::finish(&mut self.db.pool().acquire().await.unwrap(), &job.id, &job.worker).await.unwrap();
        }
    }

    pub async fn some_run(&self) -> RunId {
        let newest = sqlx::query_scalar("select id from etl.etl_runs order by id desc limit 1");
        newest.fetch_optional(self.db.pool()).await.unwrap().unwrap_or(RunId(Uuid::nil()))
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
        // Of all jobs, whatever run they are of. Those of ended runs that a worker holds are not counted: it finds out by itself.
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
        self.id = definitions::create(self.db.pool(), &draft("genres")).await.unwrap().id;
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
