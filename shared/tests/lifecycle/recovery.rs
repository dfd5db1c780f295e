//! What recovery mends.

use tokio::task::JoinSet;
use vitrina_shared::{
    definitions,
    domain::{RunStatus, Status, Trigger},
    lifecycle,
};

use crate::{World, draft, within};

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
    definitions::create(world.db.pool(), &draft("other")).await.unwrap();
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
