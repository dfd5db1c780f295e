//! A run begins and ends in one statement each.

use vitrina_shared::{
    domain::{RunStatus, Status},
    lifecycle::execution::{self, HeldJob},
};

use crate::World;

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
