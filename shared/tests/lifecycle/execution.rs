//! What workers do to a status: a run begins, rests, ends and fails.

use std::time::Duration;

use vitrina_shared::{
    domain::{ErrorClass, Hooks, RunStatus, Status},
    jobs::Held,
    lifecycle::{
        LifecycleError,
        execution::{self, Conclusion, HeldBatch},
    },
    store::{queue, runs, transitions},
};

use crate::World;

impl World {
    /// Takes the newest live job, as a worker does.
    pub async fn hold_job(&self) -> Option<HeldBatch> {
        let worker = "insert into apalis.workers (id, worker_type, storage_name) values ('worker', 'batches', 'test')
                      on conflict do nothing";
        sqlx::query(worker).execute(self.db.pool()).await.unwrap();
        let job: Option<(String, Vec<u8>)> = sqlx::query_as(
            "update apalis.jobs set status = 'Running', lock_by = 'worker', lock_at = now()
             where id = (select id from apalis.jobs where status in ('Pending', 'Queued', 'Running')
                         order by id desc limit 1)
             returning id, job",
        )
        .fetch_optional(self.db.pool())
        .await
        .unwrap();
        let (id, payload) = job?;
        Some(Held { id, worker: "worker".to_owned(), queued: serde_json::from_slice(&payload).unwrap() })
    }

    /// Begins the run of a job, as a worker does before the first batch in its hands.
    pub async fn begin(&self, job: &HeldBatch) -> Conclusion {
        let mut connection = self.db.pool().acquire().await.unwrap();
        let Some(run) = runs::open(&mut connection, job.run_id, job.range, None).await.unwrap() else {
            return Conclusion::Dropped;
        };
        execution::begin(&mut connection, job, &run, &runs::Start::default()).await.unwrap()
    }

    /// Does what follows the last batch of a run.
    pub async fn close(&self, job: &HeldBatch) -> Conclusion {
        self.walk().await;
        let mut connection = self.db.pool().acquire().await.unwrap();
        if execution::finish(&mut connection, job, "genres").await.unwrap().is_some() {
            return Conclusion::Finished;
        }
        self.conclude(job, true).await
    }

    pub async fn conclude(&self, job: &HeldBatch, walked: bool) -> Conclusion {
        let mut tx = self.db.pool().begin().await.unwrap();
        let step = execution::conclude(&mut tx, job, walked, &Hooks::default()).await.unwrap();
        if step != Conclusion::Dropped {
            tx.commit().await.unwrap();
        }
        step
    }

    pub async fn fail(&self, job: &HeldBatch) -> Conclusion {
        self.fail_with(job, "it broke\nhere").await
    }

    async fn fail_with(&self, job: &HeldBatch, error: &str) -> Conclusion {
        let mut tx = self.db.pool().begin().await.unwrap();
        let step = execution::fail(&mut tx, job, ErrorClass::Fatal, error).await.unwrap();
        if step != Conclusion::Dropped {
            tx.commit().await.unwrap();
        }
        step
    }

    pub async fn retry(&self, job: &HeldBatch) -> Conclusion {
        let mut tx = self.db.pool().begin().await.unwrap();
        let step = execution::retry(&mut tx, job, Duration::ZERO, ErrorClass::Transient, "again").await.unwrap();
        tx.commit().await.unwrap();
        step
    }

    pub async fn give_back(&self, job: &HeldBatch) -> Conclusion {
        let mut tx = self.db.pool().begin().await.unwrap();
        let step = execution::give_back(&mut tx, job, Duration::ZERO).await.unwrap();
        tx.commit().await.unwrap();
        step
    }

    pub async fn interrupted(&self, job: &HeldBatch) -> Conclusion {
        let mut tx = self.db.pool().begin().await.unwrap();
        let step = execution::interrupted(&mut tx, job).await.unwrap();
        tx.commit().await.unwrap();
        step
    }

    /// Every range is walked to its end.
    pub async fn walk(&self) {
        sqlx::query("update etl.etl_run_ranges set finished_at = now()").execute(self.db.pool()).await.unwrap();
    }

    async fn finish(&self, job: &HeldBatch) -> bool {
        let mut connection = self.db.pool().acquire().await.unwrap();
        execution::finish(&mut connection, job, "genres").await.unwrap().is_some()
    }
}

#[tokio::test]
async fn a_run_begins_and_ends() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    assert_eq!(world.begin(&job).await, Conclusion::GoesOn);
    assert_eq!(world.status().await, Status::Running);
    assert_eq!(world.begin(&job).await, Conclusion::GoesOn);
    assert_eq!(world.log().await.len(), 2, "it is begun once");

    assert_eq!(world.close(&job).await, Conclusion::Finished);
    assert_eq!(world.status().await, Status::Idle);
    let run = world.find_run(job.run_id).await;
    assert_eq!(run.status, RunStatus::Success);
    assert!(run.started_at.is_some() && run.finished_at.is_some());
    assert!(world.live_jobs().await.is_empty());
    let reasons: Vec<_> = world.log().await.into_iter().map(|(_, to, reason)| (to, reason)).collect();
    assert_eq!(reasons[1..], [(Status::Running, "begun by a worker".into()), (Status::Idle, "finished".into())]);
    assert_eq!(world.begin(&job).await, Conclusion::Dropped);
    assert_eq!(world.close(&job).await, Conclusion::Dropped);
}

#[tokio::test]
async fn a_run_that_is_to_rest_before_it_has_begun_rests() {
    let world = World::at(Status::PauseRequested).await;
    let job = world.hold_job().await.unwrap();
    assert_eq!(world.begin(&job).await, Conclusion::Paused);
    assert_eq!(world.status().await, Status::Paused);
    assert_eq!(world.find_run(job.run_id).await.status, RunStatus::Paused);
    assert!(world.live_jobs().await.is_empty());
}

#[tokio::test]
async fn a_wish_to_rest_between_batches_is_followed_and_after_the_last_one_it_is_late() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    world.pause().await.unwrap();
    assert_eq!(world.conclude(&job, false).await, Conclusion::Paused);
    assert_eq!(world.status().await, Status::Paused);

    world.run().await.unwrap();
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    world.pause().await.unwrap();
    world.walk().await;
    assert!(!world.finish(&job).await, "the status is another one");
    assert_eq!(world.status().await, Status::PauseRequested);
    assert_eq!(world.live_jobs().await.len(), 1, "its job is not finished without it");
    assert_eq!(world.close(&job).await, Conclusion::Finished);
    assert_eq!(world.log().await.pop().unwrap(), (Status::PauseRequested, Status::Idle, "finished".to_owned()));
}

#[tokio::test]
async fn a_pause_that_was_withdrawn_during_a_batch_is_logged_and_the_run_goes_on_by_another_job() {
    for walked in [false, true] {
        let world = World::at(Status::RunRequested).await;
        let job = world.hold_job().await.unwrap();
        world.begin(&job).await;
        world.pause().await.unwrap();
        world.run().await.unwrap();
        assert_eq!(world.find_run(job.run_id).await.status, RunStatus::Running, "its batch may commit");

        let step = if walked { world.close(&job).await } else { world.conclude(&job, false).await };

        let log = world.log().await;
        assert_eq!(log[4], (Status::RunRequested, Status::Running, "goes on".to_owned()));
        if walked {
            assert_eq!((step, world.status().await), (Conclusion::Finished, Status::Idle));
        } else {
            assert_eq!((step, world.status().await), (Conclusion::GoesOn, Status::Running));
            assert_ne!(world.hold_job().await.unwrap().id, job.id);
        }
    }
}

#[tokio::test]
async fn a_run_fails_with_its_error_before_and_after_it_has_begun() {
    for begun in [false, true] {
        let world = World::at(Status::RunRequested).await;
        let job = world.hold_job().await.unwrap();
        if begun {
            world.begin(&job).await;
        }

        assert_eq!(world.fail(&job).await, Conclusion::Finished);

        let run = world.find_run(job.run_id).await;
        assert_eq!((run.status, run.attempts), (RunStatus::Failed, 1));
        assert_eq!((run.error.as_deref(), run.error_class), (Some("it broke\nhere"), Some(ErrorClass::Fatal)));
        assert!(run.finished_at.is_some() && world.live_jobs().await.is_empty());
        let log = world.log().await;
        let ways = [
            (Status::RunRequested, Status::Running, "begun by a worker".to_owned()),
            (Status::Running, Status::Failed, "it broke".to_owned()),
        ];
        assert_eq!(log[1..], ways);
        assert_eq!(world.fail(&job).await, Conclusion::Dropped);
    }
}

#[tokio::test]
async fn a_job_that_was_given_to_another_worker_changes_nothing() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    let late = Held { worker: "frozen".to_owned(), ..job };
    assert_eq!(world.close(&late).await, Conclusion::Dropped);
    assert_eq!(world.fail(&late).await, Conclusion::Dropped);
    world.pause().await.unwrap();
    assert_eq!(world.conclude(&late, false).await, Conclusion::Dropped);
    assert_eq!(world.status().await, Status::PauseRequested);
    assert_eq!(world.log().await.len(), 3);
}

#[tokio::test]
async fn a_run_that_is_not_walked_or_has_a_late_writer_is_not_finished_by_itself() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    assert!(!world.finish(&job).await, "not walked");

    let mut writer = world.db.admin().begin().await.unwrap();
    sqlx::query("select 1").execute(&mut *writer).await.unwrap();
    sqlx::query("update etl.etl_run_ranges set finished_at = now(), horizon = now() + interval '1 hour'")
        .execute(world.db.pool())
        .await
        .unwrap();
    assert!(!world.finish(&job).await, "a late writer");
    writer.rollback().await.unwrap();
    assert!(world.finish(&job).await);
}

#[tokio::test]
async fn a_transition_has_the_name_that_the_pipeline_has_by_then() {
    let world = World::at(Status::RunRequested).await;
    sqlx::query("update etl.etl_pipelines set name = 'renamed'").execute(world.db.pool()).await.unwrap();
    world.begin(&world.hold_job().await.unwrap()).await;
    let mut connection = world.db.pool().acquire().await.unwrap();
    let log = transitions::after(&mut connection, 0, None, 10).await.unwrap();
    let names: Vec<_> = log.iter().map(|entry| entry.pipeline.as_str()).collect();
    assert_eq!(names, ["genres", "renamed"]);
}

#[tokio::test]
async fn a_batch_that_was_interrupted_rests_or_is_dropped_or_is_tried_again() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    assert_eq!(world.interrupted(&job).await, Conclusion::GoesOn);
    assert_eq!(world.live_jobs().await.len(), 1);
    world.pause().await.unwrap();
    assert_eq!(world.interrupted(&job).await, Conclusion::Paused);
    assert_eq!(world.interrupted(&job).await, Conclusion::Dropped);
    assert_eq!(world.status().await, Status::Paused);
    let mut connection = world.db.pool().acquire().await.unwrap();
    assert!(!queue::finish(&mut connection, &job.id, &job.worker).await.unwrap(), "it is finished");
}

#[tokio::test]
async fn a_batch_that_failed_while_a_pause_is_requested_rests_instead_of_being_tried_again() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    assert_eq!(world.retry(&job).await, Conclusion::GoesOn);
    let job = world.hold_job().await.unwrap();
    assert_eq!(job.attempt, 1);
    world.pause().await.unwrap();
    assert_eq!(world.retry(&job).await, Conclusion::Paused);
    assert_eq!(world.status().await, Status::Paused);
    assert!(world.live_jobs().await.is_empty());
    let run = world.find_run(job.run_id).await;
    assert_eq!((run.status, run.attempts, run.error.as_deref()), (RunStatus::Paused, 2, Some("again")));
    let late = Held { worker: "frozen".to_owned(), ..job };
    assert_eq!(world.retry(&late).await, Conclusion::Dropped);
    assert_eq!(world.find_run(late.run_id).await.attempts, 2, "it was not this worker's attempt");
}

#[tokio::test]
async fn a_job_whose_run_has_ended_does_not_go_back_to_the_queue() {
    for retries in [false, true] {
        let world = World::at(Status::RunRequested).await;
        let job = world.hold_job().await.unwrap();
        world.begin(&job).await;
        world.cancel().await.unwrap();
        let step = if retries { world.retry(&job).await } else { world.give_back(&job).await };
        assert_eq!(step, Conclusion::Dropped);
        assert!(world.live_jobs().await.is_empty());
        assert_eq!(world.find_run(job.run_id).await.attempts, 0);
    }
}

/// By its code viewers are not shown a message of the server, which may quote a row.
#[tokio::test]
async fn the_log_of_transitions_keeps_the_code_of_a_long_message() {
    let long = "anna ".repeat(100);
    for (error, reason) in [
        (format!("{long}(SQLSTATE P0001)"), format!("{} (SQLSTATE P0001)", &long[..200])),
        ("one\ntwo (SQLSTATE P0001)".to_owned(), "one (SQLSTATE P0001)".to_owned()),
        ("short (SQLSTATE P0001)".to_owned(), "short (SQLSTATE P0001)".to_owned()),
        (format!("{} (SQLSTATE 23505). Rows {long}", &long[..190]), format!("{} (SQLSTATE 23505)", &long[..190])),
        (long.clone(), long[..200].to_owned()),
    ] {
        let world = World::at(Status::RunRequested).await;
        let job = world.hold_job().await.unwrap();
        world.fail_with(&job, &error).await;
        assert_eq!(world.log().await.pop().unwrap().2, reason);
    }
}

#[tokio::test]
async fn a_run_that_is_written_around_the_lifecycle_is_an_error_of_its_own() {
    let world = World::at(Status::Running).await;
    sqlx::raw_sql(
        "create function public.keep() returns trigger language plpgsql as 'begin return null; end';
         create trigger keep before update on etl.etl_runs for each row execute function public.keep()",
    )
    .execute(world.db.admin())
    .await
    .unwrap();
    let refused = world.cancel().await.unwrap_err();
    assert!(matches!(refused, LifecycleError::ChangedUnderLock), "{refused:?}");
    assert_eq!(world.status().await, Status::Running);
}
