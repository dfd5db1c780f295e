//! A run is requested.

use serde_json::{Map, Value};
use sqlx::Row;
use uuid::Uuid;
use vitrina_shared::{
    domain::{Checkpoint, Mode, PipelineRef, Position, RunId, RunStatus, Status, Task, TaskKind, Trigger},
    jobs::BATCH_QUEUE,
    lifecycle::{self, WantedRun},
    store::{runs, transitions},
};

use crate::{ANNA, World, draft};

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
async fn a_run_keeps_what_asked_for_it() {
    let world = World::new().await;
    for trigger in Trigger::ALL {
        let wanted = WantedRun::by(*trigger);
        let run = lifecycle::request_run(world.db.pool(), &world.pipeline(), wanted, ANNA).await.unwrap().run;
        assert_eq!((run.trigger, world.find_run(run.id).await.trigger), (*trigger, *trigger));
        world.cancel().await.unwrap();
    }
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
    let missing = PipelineRef::Name("missing".to_owned());
    let sentence = "there is no pipeline `missing`";

    let run = lifecycle::request_run(world.db.pool(), &missing, WantedRun::by(Trigger::Api), ANNA).await;
    assert_eq!(run.expect_err(sentence).to_string(), sentence);
    let pause = lifecycle::request_pause(world.db.pool(), &missing, ANNA).await;
    assert_eq!(pause.expect_err(sentence).to_string(), sentence);
    let cancel = lifecycle::cancel(world.db.pool(), &missing, ANNA).await;
    assert_eq!(cancel.expect_err(sentence).to_string(), sentence);
    let reset = lifecycle::reset(world.db.pool(), &missing, ANNA).await;
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
