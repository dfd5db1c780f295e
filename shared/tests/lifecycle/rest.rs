//! Pause and resume, cancel, reset and run again.

use serde_json::Value;
use sqlx::Row;
use vitrina_shared::{
    domain::{Checkpoint, Position, RunId, RunStatus, Status, Trigger},
    lifecycle::LifecycleError,
    store::runs,
};

use crate::{World, assert_illegal};

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
