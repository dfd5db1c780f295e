//! Two changes of one pipeline at once, in either order: one waits for the other, and then decides by what it finds.

use std::{pin::Pin, time::Duration};

use vitrina_shared::{
    definitions::{self, DefinitionError},
    domain::{PipelineRef, RunStatus, Status},
    lifecycle::{self, LifecycleError, execution::Conclusion},
    store::runs,
};

use crate::{ANNA, World, assert_illegal, draft, within};

impl World {
    /// Lets `second` come while `first` has locked the pipeline's row and written everything but the log.
    fn in_turn<'a, A: 'a, B: 'a>(
        &'a self,
        first: impl Future<Output = A> + 'a,
        second: impl Future<Output = B> + 'a,
    ) -> Pin<Box<dyn Future<Output = (A, B)> + 'a>> {
        Box::pin(async {
            sqlx::raw_sql(
                "create function public.hold() returns trigger language plpgsql as
                     'begin perform pg_advisory_xact_lock_shared(1); return new; end';
                 create trigger hold before insert on etl.etl_transitions for each row execute function public.hold()",
            )
            .execute(self.db.admin())
            .await
            .unwrap();
            let mut blocker = self.db.admin().begin().await.unwrap();
            sqlx::query("select pg_advisory_xact_lock(1)").execute(&mut *blocker).await.unwrap();
            let (first, second, ()) = within(async {
                tokio::join!(
                    first,
                    async {
                        self.waits(1).await;
                        second.await
                    },
                    async {
                        self.waits(2).await;
                        blocker.rollback().await.unwrap();
                    }
                )
            })
            .await;
            (first, second)
        })
    }

    /// Waits until as many sessions wait for locks.
    pub async fn waits(&self, sessions: i64) {
        let waiting =
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        while self.count(waiting).await < sessions {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn delete(&self) -> Result<(), DefinitionError> {
        definitions::delete(self.db.pool(), &self.pipeline(), None).await
    }

    /// Lets a request come while a statement has changed the pipeline and not committed.
    async fn run_during(&self, sql: &'static str) -> Result<RunStatus, LifecycleError> {
        let mut change = self.db.pool().begin().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut *change).await.unwrap();
        let (requested, ()) = within(async {
            tokio::join!(self.run(), async {
                self.waits(1).await;
                change.commit().await.unwrap();
            })
        })
        .await;
        Ok(requested?.run.status)
    }
}

#[tokio::test]
async fn the_second_of_two_requests_finds_the_run_of_the_first() {
    let world = World::new().await;
    let (first, second) = world.in_turn(world.run(), world.run()).await;
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.run.id, second.run.id);
    assert_eq!((first.already_active, second.already_active), (false, true));
    assert_eq!(world.counts().await, (1, 1, 1));
}

#[tokio::test]
async fn two_requests_that_resume_a_run_give_it_one_job() {
    let world = World::at(Status::Paused).await;
    let (first, second) = world.in_turn(world.run(), world.run()).await;
    assert_eq!(first.unwrap().run.id, second.unwrap().run.id);
    assert_eq!(world.live_jobs().await.len(), 1);
    assert_eq!(world.log().await.len(), 2);
}

#[tokio::test]
async fn a_request_with_a_key_finds_the_run_of_the_same_request() {
    let world = World::new().await;
    let (first, second) = world.in_turn(world.run_with_key("monday"), world.run_with_key("monday")).await;
    assert_eq!(first.run.id, second.run.id);
    assert_eq!(world.counts().await, (1, 1, 1));
}

#[tokio::test]
async fn a_pipeline_is_not_deleted_while_a_run_is_requested() {
    let world = World::new().await;
    let (requested, deleted) = world.in_turn(world.run(), world.delete()).await;
    assert_eq!(requested.unwrap().run.status, RunStatus::Queued);
    assert!(matches!(deleted, Err(DefinitionError::Busy { .. })), "{deleted:?}");
}

#[tokio::test]
async fn a_request_that_waited_for_a_deletion_finds_no_pipeline() {
    let world = World::new().await;
    let requested = world.run_during("delete from etl.etl_pipelines").await;
    assert!(matches!(requested, Err(LifecycleError::NoPipeline(_))), "{requested:?}");
    assert_eq!(world.counts().await, (0, 0, 0));
}

#[tokio::test]
async fn a_request_that_waited_for_a_change_executes_what_was_changed() {
    let world = World::new().await;
    let status = world.run_during("update etl.etl_pipelines set batch_size = 7, version = version + 1").await;
    assert_eq!(status.unwrap(), RunStatus::Queued);
    let mut connection = world.db.pool().acquire().await.unwrap();
    let inputs = runs::inputs(&mut connection, world.some_run().await).await.unwrap().unwrap();
    assert_eq!(inputs.batch_size, 7);
}

#[tokio::test]
async fn a_request_that_waited_for_a_disabling_is_refused() {
    let world = World::new().await;
    let requested = world.run_during("update etl.etl_pipelines set enabled = false").await;
    assert!(matches!(requested, Err(LifecycleError::Disabled(_))), "{requested:?}");
    assert_eq!(world.counts().await, (0, 0, 0));
}

#[tokio::test]
async fn a_change_that_waited_for_a_request_pauses_its_run() {
    let world = World::new().await;
    let disabled = world.change(|draft| draft.enabled = false);
    let (requested, changed) = world.in_turn(world.run(), disabled).await;
    assert_eq!(requested.unwrap().status, Status::RunRequested);
    assert_eq!(changed.unwrap().status, Status::PauseRequested);
}

#[tokio::test]
async fn a_pause_that_comes_while_a_run_ends_is_too_late() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    let (closed, paused) = world.in_turn(world.close(&job), world.pause()).await;
    assert_eq!(closed, Conclusion::Finished);
    assert_illegal(paused, "cannot pause a pipeline that is IDLE: it has no run in progress");
}

#[tokio::test]
async fn a_run_whose_last_batch_was_written_before_a_pause_ends() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    world.begin(&job).await;
    let (paused, closed) = world.in_turn(world.pause(), world.close(&job)).await;
    assert_eq!((paused.unwrap(), closed), (Status::PauseRequested, Conclusion::Finished));
    assert_eq!(world.status().await, Status::Idle);
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_it_begins_has_ended() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    let (begun, cancelled) = world.in_turn(world.begin(&job), world.cancel()).await;
    assert_eq!((begun, cancelled.unwrap()), (Conclusion::GoesOn, Status::Idle));
    assert_eq!(world.find_run(job.run_id).await.status, RunStatus::Cancelled);
}

#[tokio::test]
async fn a_run_that_was_cancelled_first_does_not_begin() {
    let world = World::at(Status::RunRequested).await;
    let job = world.hold_job().await.unwrap();
    let (cancelled, begun) = world.in_turn(world.cancel(), world.begin(&job)).await;
    assert_eq!((cancelled.unwrap(), begun), (Status::Idle, Conclusion::Dropped));
    assert_eq!(world.find_run(job.run_id).await.started_at, None);
}

/// The name is looked up before the row is locked, and may be another pipeline's by then.
#[tokio::test]
async fn a_pipeline_whose_name_is_given_away_while_its_row_is_waited_for_is_still_the_one_that_is_changed() {
    let world = World::at(Status::RunRequested).await;
    let other = definitions::create(world.db.pool(), &draft("other")).await.unwrap();
    let mut renaming = world.db.pool().begin().await.unwrap();
    for (id, name) in [(world.id, "old"), (other.id, "genres")] {
        let rename = sqlx::query("update etl.etl_pipelines set name = $2 where id = $1").bind(id).bind(name);
        rename.execute(&mut *renaming).await.unwrap();
    }
    let genres = PipelineRef::Name("genres".to_owned());
    let (cancelled, ()) = within(async {
        tokio::join!(lifecycle::cancel(world.db.pool(), &genres, ANNA), async {
            world.waits(1).await;
            renaming.commit().await.unwrap();
        })
    })
    .await;
    assert_eq!(cancelled.unwrap().status, Status::Idle);
    assert_eq!(world.status().await, Status::Idle, "the pipeline that had the name when it was asked for");
}
