//! The lifecycle on a real database: what each command leaves behind, also when many come at once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::{collections::HashSet, future::Future, time::Duration};

use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value};
use sqlx::{Row, postgres::PgListener};
use tokio::{task::JoinSet, time::timeout};
use uuid::Uuid;
use vitrina_shared::{
    configuration::{self, OnCheckpoint},
    domain::{
        Checkpoint, Mode, Pipeline, PipelineDraft, PipelineId, PipelineOptions, PipelineRef, Position, Run, RunId,
        RunStatus, Status, Task, TaskKind, Trigger,
    },
    jobs::{BATCH_QUEUE, BatchJob},
    lifecycle::{
        self, Cause, LifecycleError, RequestedRun,
        execution::{self, HeldJob},
    },
    notify::EVENTS_CHANNEL,
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
        let id = configuration::create(db.pool(), &draft).await.unwrap().id;
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
        lifecycle::request_run(self.db.pool(), &self.pipeline(), None, ANNA).await
    }

    async fn run_with_key(&self, key: &str) -> RequestedRun {
        lifecycle::request_run(self.db.pool(), &self.pipeline(), Some(key), ANNA).await.unwrap()
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

    async fn change(
        &self,
        edit: impl FnOnce(&mut PipelineDraft),
    ) -> Result<Pipeline, configuration::ConfigurationError> {
        let Pipeline { mut draft, version, .. } = self.show().await;
        edit(&mut draft);
        configuration::change(self.db.pool(), self.id, version, &draft, OnCheckpoint::Keep, ANNA).await
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
    async fn live_jobs(&self) -> Vec<BatchJob> {
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

// --- run

#[tokio::test]
async fn a_run_request_leaves_a_queued_run_its_first_job_and_one_transition() {
    let world = World::new().await;

    let requested = world.run().await.unwrap();

    assert_eq!((requested.status, requested.already_active), (Status::RunRequested, false));
    assert_eq!((requested.run.status, requested.run.trigger), (RunStatus::Queued, Trigger::Api));
    assert_eq!((requested.run.mode, requested.run.checkpoint_from.as_ref()), (Mode::Incremental, None));
    assert_eq!(world.status().await, Status::RunRequested);
    assert_eq!(world.counts().await, (1, 1, 1));
    let jobs = world.live_jobs().await;
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((job.pipeline_id, job.run_id), (world.id, requested.run.id));
    assert_eq!((job.range, job.batch, job.attempt, job.after.as_ref()), (0, 0, 0, None));
    assert_eq!(job.correlation_id, "request-1");
    let row = sqlx::query("select job_type, status, run_at <= now() as due, lock_by is null as free from apalis.jobs")
        .fetch_one(world.db.pool())
        .await
        .unwrap();
    assert_eq!((row.get::<&str, _>("job_type"), row.get::<&str, _>("status")), (BATCH_QUEUE, "Pending"));
    assert!(row.get::<bool, _>("due") && row.get::<bool, _>("free"));
}

#[tokio::test]
async fn a_transition_says_who_why_and_by_which_request() {
    let world = World::new().await;
    let run = world.run().await.unwrap().run.id;

    let mut connection = world.db.pool().acquire().await.unwrap();
    let log = transitions::after(&mut connection, 0, None, 10).await.unwrap();

    let [entry] = &log[..] else { panic!("{log:?}") };
    assert_eq!((entry.pipeline_id, entry.pipeline.as_str(), entry.run_id), (world.id, "genres", Some(run)));
    assert_eq!((entry.from_status, entry.to_status), (Status::Idle, Status::RunRequested));
    assert_eq!((entry.actor.as_str(), entry.reason.as_str()), ("anna", "run requested"));
    assert_eq!(entry.correlation_id.as_deref(), Some("request-1"));
    let asked_for: (String, String) = sqlx::query_as("select requested_by, correlation_id from etl.etl_runs")
        .fetch_one(world.db.pool())
        .await
        .unwrap();
    assert_eq!(asked_for, ("anna".to_owned(), "request-1".to_owned()));
}

#[tokio::test]
async fn a_second_run_request_returns_the_active_run_and_queues_nothing() {
    for status in [Status::RunRequested, Status::Running] {
        let world = World::at(status).await;
        let before = world.counts().await;

        let again = world.run().await.unwrap();

        assert_eq!((again.status, again.already_active), (status, true));
        assert_eq!(world.counts().await, before, "{status}");
    }
}

#[tokio::test]
async fn a_run_keeps_the_configuration_that_it_was_requested_with() {
    let world = World::new().await;
    let run = world.run().await.unwrap().run.id;
    world.change(|draft| draft.batch_size = 7).await.unwrap();

    let mut connection = world.db.pool().acquire().await.unwrap();
    let inputs = runs::inputs(&mut connection, run).await.unwrap().unwrap();

    assert_eq!(inputs, draft("genres"));
}

#[tokio::test]
async fn a_plan_is_kept_with_the_pipeline_and_with_its_run() {
    let mut planned = draft("planned");
    planned.source_query = None;
    planned.tasks = vec![Task {
        order_index: 1,
        task_type: TaskKind::Sql,
        body: "select id as genre_id, name, modified from content.genre".to_owned(),
        target_table: Some("analytics.genre_dim".to_owned()),
        options: Map::from_iter([("note".to_owned(), Value::from(1))]),
    }];
    let world = World::with(planned.clone()).await;
    let run = world.run().await.unwrap().run.id;

    let mut connection = world.db.pool().acquire().await.unwrap();

    assert_eq!(world.show().await.draft, planned);
    assert_eq!(runs::inputs(&mut connection, run).await.unwrap().unwrap(), planned);
}

#[tokio::test]
async fn a_disabled_pipeline_does_not_run() {
    let world = World::new().await;
    world.change(|draft| draft.enabled = false).await.unwrap();

    let refusal = world.run().await.expect_err("it is disabled");

    assert_eq!(refusal.to_string(), "pipeline `genres` is disabled: enable it before running it");
    assert_eq!(world.counts().await, (0, 0, 0));
}

#[tokio::test]
async fn what_does_not_exist_is_named() {
    let world = World::new().await;
    let nobody = PipelineRef::Name("nobody".to_owned());
    let sentence = "there is no pipeline `nobody`";

    let run = lifecycle::request_run(world.db.pool(), &nobody, None, ANNA).await;
    assert_eq!(run.expect_err(sentence).to_string(), sentence);
    let pause = lifecycle::request_pause(world.db.pool(), &nobody, ANNA).await;
    assert_eq!(pause.expect_err(sentence).to_string(), sentence);
    let cancel = lifecycle::cancel(world.db.pool(), &nobody, ANNA).await;
    assert_eq!(cancel.expect_err(sentence).to_string(), sentence);
    let reset = lifecycle::reset(world.db.pool(), &nobody, ANNA).await;
    assert_eq!(reset.expect_err(sentence).to_string(), sentence);
    let run = RunId(Uuid::nil());
    assert_eq!(world.again(run).await.expect_err("no run").to_string(), format!("there is no run `{run}`"));
}

#[tokio::test]
async fn an_idempotency_key_finds_its_run_even_after_that_ended() {
    let world = World::new().await;
    let first = world.run_with_key("monday").await;
    assert_eq!(world.run_with_key("monday").await.run.id, first.run.id);
    world.worker(Status::Idle, RunStatus::Success, "Done").await;

    let repeated = world.run_with_key("monday").await;
    assert_eq!((repeated.run.id, repeated.run.status), (first.run.id, RunStatus::Success));
    assert_eq!((repeated.status, repeated.already_active), (Status::Idle, false));
    assert_eq!(world.counts().await, (1, 1, 1));

    let other = world.run_with_key("tuesday").await;
    assert_ne!(other.run.id, first.run.id);
    assert_eq!(world.counts().await, (2, 2, 2));
}

#[tokio::test]
async fn a_failed_pipeline_runs_anew_from_its_checkpoint() {
    let world = World::at(Status::Running).await;
    let failed = world.live_jobs().await[0].run_id;
    world.checkpoint(failed, "2024-01-01 00:00:00.000001+00", "7").await;
    world.worker(Status::Failed, RunStatus::Failed, "Done").await;

    let anew = world.run().await.unwrap();

    let checkpoint = Checkpoint { key: "2024-01-01 00:00:00.000001+00".to_owned(), id: Some("7".to_owned()) };
    assert_ne!(anew.run.id, failed);
    assert_eq!((anew.status, anew.already_active), (Status::RunRequested, false));
    assert_eq!(anew.run.checkpoint_from.as_ref(), Some(&checkpoint));
    assert_eq!(world.live_jobs().await[0].after, Some(Position::after(&checkpoint)));
    assert_eq!(world.find_run(failed).await.status, RunStatus::Failed);
}

#[tokio::test]
async fn a_full_run_begins_at_the_beginning_whatever_the_checkpoint() {
    let mut full = draft("all");
    full.mode = Mode::Full;
    let world = World::with(full).await;
    world.checkpoint(RunId::generate(), "9", "9").await;

    let requested = world.run().await.unwrap();

    assert_eq!(requested.run.checkpoint_from, None);
    assert_eq!(world.live_jobs().await[0].after, None);
}

// --- pause and resume

#[tokio::test]
async fn a_pause_is_requested_once_however_often_it_is_asked_for() {
    for status in [Status::RunRequested, Status::Running] {
        let world = World::at(status).await;

        assert_eq!(world.pause().await.unwrap(), Status::PauseRequested);
        assert_eq!(world.pause().await.unwrap(), Status::PauseRequested);

        let log = world.log().await;
        assert_eq!(log.last().unwrap(), &(status, Status::PauseRequested, "pause requested".to_owned()));
        assert_eq!(log.len(), 2);
    }
    let resting = World::at(Status::Paused).await;
    assert_eq!(resting.pause().await.unwrap(), Status::Paused);
}

#[tokio::test]
async fn a_pipeline_without_a_run_cannot_pause() {
    let idle = World::at(Status::Idle).await;
    assert_illegal(idle.pause().await, "cannot pause a pipeline that is IDLE: it has no run in progress");
    let failed = World::at(Status::Failed).await;
    assert_illegal(failed.pause().await, "cannot pause a pipeline that is FAILED: it has no run in progress");
}

#[tokio::test]
async fn a_run_request_withdraws_a_pending_pause() {
    let world = World::at(Status::PauseRequested).await;
    let run = world.live_jobs().await[0].run_id;

    let requested = world.run().await.unwrap();

    assert_eq!((requested.run.id, requested.already_active), (run, true));
    assert_eq!(requested.status, Status::RunRequested);
    assert_eq!(world.live_jobs().await.len(), 1);
    let last = world.log().await.pop().unwrap();
    assert_eq!(last, (Status::PauseRequested, Status::RunRequested, "pause withdrawn".to_owned()));
}

#[tokio::test]
async fn a_resumed_run_is_the_same_run_and_goes_on_where_it_rested() {
    let world = World::at(Status::Running).await;
    let run = world.live_jobs().await[0].run_id;
    sqlx::query("update etl.etl_run_ranges set next_batch = 3, after = '{k,i}' where run_id = $1")
        .bind(run)
        .execute(world.db.pool())
        .await
        .unwrap();
    world.worker(Status::Paused, RunStatus::Paused, "Done").await;

    let resumed = world.run().await.unwrap();

    assert_eq!((resumed.run.id, resumed.run.status), (run, RunStatus::Queued));
    assert_eq!((resumed.status, resumed.already_active), (Status::RunRequested, false));
    assert!(resumed.run.started_at.is_some(), "it has begun before");
    let jobs = world.live_jobs().await;
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    assert_eq!((job.run_id, job.batch), (run, 3));
    assert_eq!(job.after, Some(Position(vec![Some("k".to_owned()), Some("i".to_owned())])));
    let last = world.log().await.pop().unwrap();
    assert_eq!(last, (Status::Paused, Status::RunRequested, "resumed".to_owned()));
}

#[tokio::test]
async fn disabling_a_running_pipeline_pauses_it() {
    for status in [Status::RunRequested, Status::Running] {
        let world = World::at(status).await;

        let changed = world.change(|draft| draft.enabled = false).await.unwrap();

        assert_eq!(changed.status, Status::PauseRequested);
        let last = world.log().await.pop().unwrap();
        assert_eq!(last, (status, Status::PauseRequested, "disabled".to_owned()));
        assert!(matches!(world.run().await, Err(LifecycleError::Disabled(_))));
    }
}

// --- cancel, reset, again

#[tokio::test]
async fn an_unfinished_run_can_be_cancelled_from_every_status() {
    for status in [Status::RunRequested, Status::Running, Status::PauseRequested, Status::Paused] {
        let world = World::at(status).await;
        let active: RunId = sqlx::query_scalar("select id from etl.etl_runs").fetch_one(world.db.pool()).await.unwrap();

        assert_eq!(world.cancel().await.unwrap(), Status::Idle);

        let run = world.find_run(active).await;
        assert_eq!(run.status, RunStatus::Cancelled, "{status}");
        assert!(run.finished_at.is_some());
        assert_eq!(world.status().await, Status::Idle);
        assert_eq!(world.log().await.pop().unwrap(), (status, Status::Idle, "cancelled".to_owned()));
        let waiting = world.count("select count(*) from apalis.jobs where status = 'Pending'").await;
        assert_eq!(waiting, 0, "no job of it waits: {status}");
        let next = world.run().await.unwrap();
        assert_ne!(next.run.id, active, "a cancelled run is not resumed");
    }
}

#[tokio::test]
async fn a_cancelled_job_that_no_worker_has_begun_is_withdrawn_with_the_reason() {
    let world = World::at(Status::RunRequested).await;

    world.cancel().await.unwrap();

    let row = sqlx::query("select status, done_at is not null as done, last_result from apalis.jobs")
        .fetch_one(world.db.pool())
        .await
        .unwrap();
    assert_eq!((row.get::<&str, _>("status"), row.get::<bool, _>("done")), ("Killed", true));
    assert_eq!(row.get::<Value, _>("last_result"), "the run was cancelled");
}

#[tokio::test]
async fn a_pipeline_without_a_run_cannot_be_cancelled() {
    for status in [Status::Idle, Status::Failed] {
        let world = World::at(status).await;
        let sentence = format!("cannot cancel a pipeline that is {status}: it has no run in progress");
        assert_illegal(world.cancel().await, &sentence);
    }
}

#[tokio::test]
async fn a_reset_forgets_the_checkpoint_and_the_failure() {
    for status in [Status::Idle, Status::Failed] {
        let world = World::at(status).await;
        world.checkpoint(RunId::generate(), "9", "9").await;

        assert_eq!(world.reset().await.unwrap(), Status::Idle);

        assert_eq!(world.count("select count(*) from etl.etl_state").await, 0);
        assert_eq!(world.log().await.pop().unwrap(), (status, Status::Idle, "checkpoint forgotten".to_owned()));
        assert_eq!(world.run().await.unwrap().run.checkpoint_from, None);
    }
}

#[tokio::test]
async fn a_change_of_the_key_columns_forgets_the_checkpoint_and_says_so() {
    let world = World::new().await;
    world.checkpoint(RunId::generate(), "9", "9").await;
    world.change(|draft| draft.description = "the same rows".to_owned()).await.unwrap();
    assert_eq!(world.count("select count(*) from etl.etl_state").await, 1);

    world.change(|draft| draft.incremental_id_key = Some("another".to_owned())).await.unwrap();

    assert_eq!(world.count("select count(*) from etl.etl_state").await, 0);
    let (from, to, reason) = world.log().await.pop().unwrap();
    assert_eq!((from, to), (Status::Idle, Status::Idle));
    assert!(reason.starts_with("checkpoint forgotten: the key columns or the target changed"), "{reason}");
    let entries = world.log().await.len();
    world.change(|draft| draft.incremental_id_key = Some("a third".to_owned())).await.unwrap();
    assert_eq!(world.log().await.len(), entries, "nothing was there to forget");
}

#[tokio::test]
async fn a_reset_is_refused_while_a_run_is_unfinished() {
    for status in [Status::RunRequested, Status::Running, Status::PauseRequested, Status::Paused] {
        let world = World::at(status).await;
        world.checkpoint(RunId::generate(), "9", "9").await;
        let sentence = format!("cannot reset a pipeline that is {status}: cancel its run first");
        assert_illegal(world.reset().await, &sentence);
        assert_eq!(world.count("select count(*) from etl.etl_state").await, 1);
    }
}

#[tokio::test]
async fn a_run_again_has_the_inputs_of_the_earlier_one() {
    let world = World::new().await;
    world.checkpoint(RunId::generate(), "1", "a").await;
    let earlier = world.run().await.unwrap().run;
    world.worker(Status::Idle, RunStatus::Success, "Done").await;
    sqlx::query("update etl.etl_state set checkpoint_key = '2'").execute(world.db.pool()).await.unwrap();
    world.change(|draft| draft.batch_size = 7).await.unwrap();

    let again = world.again(earlier.id).await.unwrap();

    assert_ne!(again.run.id, earlier.id);
    assert_eq!((again.run.trigger, again.status), (Trigger::Again, Status::RunRequested));
    assert_eq!(again.run.checkpoint_from, Some(Checkpoint { key: "1".to_owned(), id: Some("a".to_owned()) }));
    let mut connection = world.db.pool().acquire().await.unwrap();
    assert_eq!(runs::inputs(&mut connection, again.run.id).await.unwrap().unwrap().batch_size, 100);
    let last = world.log().await.pop().unwrap();
    assert_eq!(last, (Status::Idle, Status::RunRequested, format!("run {} again", earlier.id)));
}

#[tokio::test]
async fn a_run_again_is_refused_while_a_run_is_unfinished_or_the_pipeline_is_disabled() {
    let world = World::at(Status::Paused).await;
    let run: RunId = sqlx::query_scalar("select id from etl.etl_runs").fetch_one(world.db.pool()).await.unwrap();
    assert_illegal(world.again(run).await, "cannot run a pipeline that is PAUSED: its run is not finished");

    world.cancel().await.unwrap();
    world.change(|draft| draft.enabled = false).await.unwrap();
    assert!(matches!(world.again(run).await, Err(LifecycleError::Disabled(_))));
}

// --- announcements and rollback

#[tokio::test]
async fn a_request_wakes_the_workers_and_whoever_follows_the_events() {
    let world = World::new().await;
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen_all([EVENTS_CHANNEL, "apalis::job::insert"]).await.unwrap();

    world.run().await.unwrap();

    let (first, second) = within(async { (listener.recv().await.unwrap(), listener.recv().await.unwrap()) }).await;
    let (job, event) = if first.channel() == EVENTS_CHANNEL { (second, first) } else { (first, second) };
    let event: Value = serde_json::from_str(event.payload()).unwrap();
    assert_eq!(event["pipeline_id"], world.id.to_string());
    assert_eq!(event["id"], world.count("select max(id) from etl.etl_transitions").await);
    let job: Value = serde_json::from_str(job.payload()).unwrap();
    assert_eq!(job["job_type"], BATCH_QUEUE);
}

#[tokio::test]
async fn every_transition_is_announced_once_and_a_repetition_not_at_all() {
    let world = World::new().await;
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen(EVENTS_CHANNEL).await.unwrap();

    for _ in 0..2 {
        world.run().await.unwrap();
    }
    for _ in 0..2 {
        world.pause().await.unwrap();
    }
    world.run().await.unwrap();
    world.cancel().await.unwrap();
    world.cancel().await.expect_err("it is cancelled");
    world.reset().await.unwrap();
    sqlx::query("select pg_notify($1, 'end')").bind(EVENTS_CHANNEL).execute(world.db.pool()).await.unwrap();

    let mut announced = Vec::new();
    loop {
        let notification = within(listener.recv()).await.unwrap();
        if notification.payload() == "end" {
            break;
        }
        let event: Value = serde_json::from_str(notification.payload()).unwrap();
        announced.push(event["id"].as_i64().unwrap());
    }
    let logged: Vec<i64> =
        sqlx::query_scalar("select id from etl.etl_transitions order by id").fetch_all(world.db.pool()).await.unwrap();
    assert_eq!(announced, logged);
    assert_eq!(logged.len(), 5);
}

#[tokio::test]
async fn a_request_that_fails_at_its_last_statement_leaves_nothing() {
    let world = World::new().await;
    sqlx::raw_sql("alter table etl.etl_transitions add constraint full_disk check (actor <> 'anna')")
        .execute(world.db.admin())
        .await
        .unwrap();
    let mut listener = PgListener::connect_with(world.db.pool()).await.unwrap();
    listener.listen_all([EVENTS_CHANNEL, "apalis::job::insert"]).await.unwrap();

    world.run().await.expect_err("the log is full");

    assert_eq!(world.status().await, Status::Idle);
    assert_eq!(world.counts().await, (0, 0, 0));
    sqlx::query("select pg_notify($1, 'end')").bind(EVENTS_CHANNEL).execute(world.db.pool()).await.unwrap();
    assert_eq!(within(listener.recv()).await.unwrap().payload(), "end");
}

#[tokio::test]
async fn a_request_that_its_client_gave_up_is_done_as_a_whole_or_not_at_all() {
    let world = World::new().await;
    let mut blocker = world.db.admin().begin().await.unwrap();
    sqlx::query("lock table etl.etl_transitions in share mode").execute(&mut *blocker).await.unwrap();

    timeout(Duration::from_millis(300), world.run()).await.expect_err("the log is locked");
    blocker.rollback().await.unwrap();

    // Which of the two the server takes first is its own affair.
    assert_eq!(within(world.run()).await.unwrap().status, Status::RunRequested);
    assert_eq!(world.counts().await, (1, 1, 1));
    assert_eq!(world.live_jobs().await.len(), 1);
}

// --- at once

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_run_requests_at_once_end_in_one_run_one_job_and_one_transition() {
    let world = World::new().await;
    let mut requests = JoinSet::new();
    for _ in 0..50 {
        let (db, pipeline) = (world.db.pool().clone(), world.pipeline());
        requests.spawn(async move { lifecycle::request_run(&db, &pipeline, None, ANNA).await.unwrap() });
    }

    let answers = within(requests.join_all()).await;

    let runs: HashSet<RunId> = answers.iter().map(|answer| answer.run.id).collect();
    assert_eq!(runs.len(), 1);
    assert_eq!(answers.iter().filter(|answer| !answer.already_active).count(), 1);
    assert_eq!(world.counts().await, (1, 1, 1));
}

/// What a request looked at before it wrote may be gone when it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waited_for_a_reset_begins_at_the_beginning() {
    let world = World::new().await;
    world.checkpoint(RunId::generate(), "9", "9").await;
    let mut reset = world.db.pool().begin().await.unwrap();
    sqlx::raw_sql("update etl.etl_pipelines set status = 'IDLE'; delete from etl.etl_state")
        .execute(&mut *reset)
        .await
        .unwrap();

    let (db, pipeline) = (world.db.pool().clone(), world.pipeline());
    let request = tokio::spawn(async move { lifecycle::request_run(&db, &pipeline, None, ANNA).await });
    let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    within(async {
        while world.count(waits).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    reset.commit().await.unwrap();

    assert_eq!(within(request).await.unwrap().unwrap().run.checkpoint_from, None);
    assert_eq!(world.live_jobs().await.pop().unwrap().after, None);
    assert_eq!(world.counts().await, (1, 1, 1));
}

/// A reader that remembers the last id it saw must never find a smaller one later. Half of the writers hold their
/// transaction open after the insert, which is where a plain sequence would let the reader skip them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_is_seen_in_commit_order_by_a_reader_that_resumes_by_id() {
    const WRITERS: usize = 8;
    let world = World::new().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let db = world.db.pool().clone();
        // A target each: one is written by one run at a time.
        let target = format!("es:p{writer}");
        let allow = sqlx::query("insert into etl.etl_targets (target, key) values ($1, '{id}')");
        allow.bind(&target).execute(world.db.admin()).await.unwrap();
        let draft = PipelineDraft { target_table: target, ..draft(&format!("p{writer}")) };
        let id = configuration::create(&db, &draft).await.unwrap().id;
        writers.spawn(async move {
            for _ in 0..10 {
                lifecycle::request_run(&db, &id.into(), None, ANNA).await.unwrap();
                lifecycle::request_pause(&db, &id.into(), ANNA).await.unwrap();
                lifecycle::cancel(&db, &id.into(), ANNA).await.unwrap();
                slow_insert(&db, id).await;
            }
        });
    }

    let mut seen = Vec::new();
    let mut connection = world.db.admin().acquire().await.unwrap();
    let reading = async {
        while seen.len() < WRITERS * 40 {
            let page = transitions::after(&mut connection, seen.last().copied().unwrap_or(0), None, 7).await.unwrap();
            seen.extend(page.into_iter().map(|transition| transition.id));
        }
    };
    timeout(SOON, reading).await.expect("the reader missed an entry");
    writers.join_all().await;

    let all: Vec<i64> =
        sqlx::query_scalar("select id from etl.etl_transitions order by id").fetch_all(world.db.pool()).await.unwrap();
    assert_eq!(seen, all);
}

async fn slow_insert(db: &sqlx::PgPool, id: PipelineId) {
    let mut tx = db.begin().await.unwrap();
    sqlx::query(
        "insert into etl.etl_transitions (pipeline_id, pipeline, from_status, to_status, actor, reason)
         values ($1, 'slow', 'IDLE', 'IDLE', 'test', 'slow')",
    )
    .bind(id)
    .execute(&mut *tx)
    .await
    .unwrap();
    sqlx::query("select pg_sleep(0.003)").execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

// --- recovery

#[tokio::test]
async fn recovery_finds_nothing_to_do_where_everything_agrees() {
    for status in Status::ALL {
        let world = World::at(*status).await;
        let before = world.counts().await;
        assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0, "{status}");
        assert_eq!(world.counts().await, before);
    }
}

#[tokio::test]
async fn an_active_pipeline_whose_job_was_lost_gets_one_for_the_batch_that_comes_next() {
    for loss in ["delete from apalis.jobs", "update apalis.jobs set status = 'Killed'"] {
        for status in [Status::RunRequested, Status::Running, Status::PauseRequested] {
            let world = World::at(status).await;
            let run = world.live_jobs().await[0].run_id;
            sqlx::query("update etl.etl_run_ranges set next_batch = 5").execute(world.db.pool()).await.unwrap();
            sqlx::query(loss).execute(world.db.pool()).await.unwrap();

            assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);

            let jobs = world.live_jobs().await;
            let [job] = &jobs[..] else { panic!("{status}: {jobs:?}") };
            assert_eq!((job.run_id, job.batch), (run, 5));
            assert_eq!(job.correlation_id, "request-1", "it is still part of the first request");
            assert_eq!(world.status().await, status);
            assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn a_status_set_by_hand_gets_a_run_and_a_job() {
    let world = World::new().await;
    sqlx::query("update etl.etl_pipelines set status = 'RUN_REQUESTED'").execute(world.db.pool()).await.unwrap();

    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);

    let jobs = world.live_jobs().await;
    let [job] = &jobs[..] else { panic!("{jobs:?}") };
    let run = world.find_run(job.run_id).await;
    assert_eq!((run.status, run.trigger), (RunStatus::Queued, Trigger::Recovery));
}

#[tokio::test]
async fn a_disabled_pipeline_whose_status_was_set_by_hand_does_not_run() {
    let world = World::new().await;
    world.change(|draft| draft.enabled = false).await.unwrap();
    sqlx::query("update etl.etl_pipelines set status = 'RUN_REQUESTED'").execute(world.db.pool()).await.unwrap();

    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);

    assert_eq!(world.status().await, Status::Idle);
    assert_eq!(world.counts().await, (0, 0, 1));
    assert_eq!(world.log().await, [(Status::RunRequested, Status::Idle, "disabled".to_owned())]);
}

#[tokio::test]
async fn a_pipeline_that_cannot_be_recovered_does_not_keep_the_others_from_it() {
    let world = World::new().await;
    configuration::create(world.db.pool(), &draft("other")).await.unwrap();
    sqlx::query(
        "update etl.etl_pipelines
         set status = 'RUN_REQUESTED', options = case name when 'genres' then '{\"by\": \"hand\"}' else options end",
    )
    .execute(world.db.pool())
    .await
    .unwrap();

    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);

    assert_eq!(world.live_jobs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_recoveries_at_once_queue_one_job() {
    let world = World::new().await;
    sqlx::query("update etl.etl_pipelines set status = 'RUN_REQUESTED'").execute(world.db.pool()).await.unwrap();
    let mut recoveries = JoinSet::new();
    for _ in 0..4 {
        let db = world.db.pool().clone();
        recoveries.spawn(async move { lifecycle::recover(&db).await.unwrap() });
    }

    let recovered: usize = within(recoveries.join_all()).await.into_iter().sum();

    assert_eq!(recovered, 1);
    assert_eq!((world.counts().await.0, world.counts().await.1), (1, 1));
}

// --- a run's beginning and end in one statement each

#[tokio::test]
async fn a_run_begins_and_ends_at_once_where_nobody_is_in_the_way() {
    let world = World::at(Status::RunRequested).await;
    assert!(world.begin_at_once().await);
    assert_eq!(world.status().await, Status::Running);
    assert!(!world.begin_at_once().await, "it is begun already");

    assert!(world.finish_at_once().await);
    assert_eq!(world.status().await, Status::Idle);
    let run = world.find_run(world.some_run().await).await;
    assert_eq!(run.status, RunStatus::Success);
    assert!(run.started_at.is_some() && run.finished_at.is_some());
    assert!(world.live_jobs().await.is_empty());
    let reasons: Vec<_> = world.log().await.into_iter().map(|(_, to, reason)| (to, reason)).collect();
    assert_eq!(reasons[1..], [(Status::Running, "begun by a worker".into()), (Status::Idle, "finished".into())]);
}

#[tokio::test]
async fn a_wish_to_rest_that_comes_first_changes_nothing_at_once() {
    let world = World::at(Status::RunRequested).await;
    world.pause().await.unwrap();
    assert!(!world.begin_at_once().await);
    assert_eq!(world.find_run(world.some_run().await).await.status, RunStatus::Queued);

    world.run().await.unwrap();
    assert!(world.begin_at_once().await);
    world.pause().await.unwrap();
    assert!(!world.finish_at_once().await);
    assert_eq!(world.status().await, Status::PauseRequested);
    assert_eq!(world.find_run(world.some_run().await).await.status, RunStatus::Running);
    assert_eq!(world.live_jobs().await.len(), 1, "its job is not finished without it");
}

#[tokio::test]
async fn a_job_that_was_given_to_another_worker_ends_nothing() {
    let world = World::at(Status::RunRequested).await;
    assert!(world.begin_at_once().await);
    let job = world.hold_job().await.unwrap();
    let late = HeldJob { worker: "frozen".to_owned(), ..job };
    let mut connection = world.db.pool().acquire().await.unwrap();
    sqlx::query("update etl.etl_run_ranges set finished_at = now()").execute(&mut *connection).await.unwrap();
    assert!(execution::finish_at_once(&mut connection, &late, "genres").await.unwrap().is_none());
    assert_eq!(world.status().await, Status::Running);
}

#[tokio::test]
async fn a_run_that_is_not_walked_or_has_a_late_writer_does_not_end_at_once() {
    let world = World::at(Status::RunRequested).await;
    assert!(world.begin_at_once().await);
    let job = world.hold_job().await.unwrap();
    let mut connection = world.db.pool().acquire().await.unwrap();
    assert!(execution::finish_at_once(&mut connection, &job, "genres").await.unwrap().is_none(), "not walked");

    let mut writer = world.db.admin().begin().await.unwrap();
    sqlx::query("select 1").execute(&mut *writer).await.unwrap();
    sqlx::query("update etl.etl_run_ranges set finished_at = now(), horizon = now() + interval '1 hour'")
        .execute(&mut *connection)
        .await
        .unwrap();
    assert!(execution::finish_at_once(&mut connection, &job, "genres").await.unwrap().is_none(), "a late writer");
    writer.rollback().await.unwrap();
    assert!(execution::finish_at_once(&mut connection, &job, "genres").await.unwrap().is_some());
}

// --- whatever is asked, in whatever order

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
    async fn begin_at_once(&self) -> bool {
        let Some(job) = self.hold_job().await else { return false };
        let mut connection = self.db.pool().acquire().await.unwrap();
        let Some(run) = runs::open(&mut connection, job.batch.run_id).await.unwrap() else { return false };
        execution::begin_at_once(&mut connection, &job, &run, &runs::Start::default()).await.unwrap()
    }

    /// Ends the run of the live job, or tries to, as after its last page.
    async fn finish_at_once(&self) -> bool {
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
    async fn hold_job(&self) -> Option<HeldJob> {
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

    async fn some_run(&self) -> RunId {
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
