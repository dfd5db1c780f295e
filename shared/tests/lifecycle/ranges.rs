//! Runs with several ranges: which of their jobs begins, rests and ends the run.

use vitrina_shared::{
    domain::{Cut, RunStatus, Status, Trigger},
    lifecycle::{
        self, WantedRun,
        execution::{self, Conclusion, HeldBatch},
    },
    store::runs,
};

use crate::{ANNA, World, within};

impl World {
    /// A run with two ranges that has begun, and the jobs of both.
    async fn in_two_ranges() -> (Self, HeldBatch, HeldBatch) {
        let world = Self::new().await;
        let cuts = [Cut::before("2026-01-01 00:00:00+00"), Cut::before("2026-02-01 00:00:00+00")];
        let wanted = WantedRun { cuts: &cuts, ..WantedRun::by(Trigger::Api) };
        lifecycle::request_run(world.db.pool(), &world.pipeline(), wanted, ANNA).await.unwrap();
        assert_eq!(world.count("select count(*) from etl.etl_run_ranges").await, 3);
        assert_eq!(world.live_jobs().await.len(), 1, "the first range begins the run");
        assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0, "the other ranges need no job yet");
        let first = world.hold_job().await.unwrap();
        let mut connection = world.db.pool().acquire().await.unwrap();
        let run = runs::open(&mut connection, first.run_id, 0, None).await.unwrap().unwrap();
        let start =
            runs::Start { ranges: Some(2), upper: Some("2026-01-15 00:00:00+00".to_owned()), ..Default::default() };
        assert_eq!(execution::begin(&mut connection, &first, &run, &start).await.unwrap(), Conclusion::GoesOn);
        drop(connection);
        let second = world.hold_job().await.unwrap();
        assert_eq!((first.range, second.range), (0, 1));
        (world, first, second)
    }

    async fn leave(&self, job: &HeldBatch) -> bool {
        execution::leave(&mut self.db.pool().acquire().await.unwrap(), job).await.unwrap()
    }
}

#[tokio::test]
async fn a_run_begins_with_the_ranges_below_its_bound_and_a_job_for_each() {
    let (world, ..) = World::in_two_ranges().await;
    let bounds = "select string_agg(concat_ws(' ', range_no, after[1], '-', upper), ', ' order by range_no) from etl.etl_run_ranges";
    let bounds: String = sqlx::query_scalar(bounds).fetch_one(world.db.pool()).await.unwrap();
    let cut = "2026-01-01 00:00:00+00";
    assert_eq!(bounds, format!("0 - {cut}, 1 {cut} - 2026-01-15 00:00:00+00"));
    assert_eq!(world.live_jobs().await.len(), 2);
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_range_whose_job_was_lost_is_recovered_while_another_has_its_job() {
    let (world, first, second) = World::in_two_ranges().await;
    sqlx::query("delete from apalis.jobs where id = $1").bind(&second.id).execute(world.db.pool()).await.unwrap();
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);
    let again = world.hold_job().await.unwrap();
    assert_eq!((again.run_id, again.range), (first.run_id, 1));
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0);
}

#[tokio::test]
async fn the_last_range_that_rests_confirms_the_pause_and_all_of_them_go_on() {
    let (world, first, second) = World::in_two_ranges().await;
    world.pause().await.unwrap();
    assert_eq!(world.conclude(&second, false).await, Conclusion::Paused);
    assert_eq!(world.status().await, Status::PauseRequested);
    assert_eq!(world.find_run(first.run_id).await.status, RunStatus::Running, "a batch of the other may commit");
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0, "a range that rests needs no job");
    assert_eq!(world.conclude(&second, false).await, Conclusion::Dropped, "it has rested");
    assert_eq!(world.conclude(&first, false).await, Conclusion::Paused);
    assert_eq!(world.status().await, Status::Paused);
    assert!(world.live_jobs().await.is_empty());

    world.run().await.unwrap();
    assert_eq!(world.live_jobs().await.len(), 2);
}

#[tokio::test]
async fn a_pause_that_is_withdrawn_before_the_last_range_rests_gives_the_others_their_jobs_back() {
    let (world, first, second) = World::in_two_ranges().await;
    world.pause().await.unwrap();
    assert_eq!(world.conclude(&second, false).await, Conclusion::Paused);
    world.run().await.unwrap();
    let again = world.hold_job().await.unwrap();
    assert_eq!(again.range, 1);
    assert_eq!(world.conclude(&first, false).await, Conclusion::GoesOn);
    assert_eq!(world.status().await, Status::Running);
    assert_eq!(world.live_jobs().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_ranges_that_end_at_once_one_stays_and_ends_the_run() {
    for _ in 0..8 {
        let (world, first, second) = World::in_two_ranges().await;
        assert!(!world.leave(&second).await, "its range is not walked");
        world.walk().await;
        let left = within(Box::pin(async { tokio::join!(world.leave(&first), world.leave(&second)) })).await;
        let last = match left {
            (true, false) => &second,
            (false, true) => &first,
            both => panic!("both or none have left: {both:?}"),
        };
        assert_eq!(world.live_jobs().await.len(), 1);
        assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 0, "it has a job that ends it");
        assert_eq!(world.close(last).await, Conclusion::Finished);
        assert_eq!(world.close(&first).await, Conclusion::Dropped);
        assert_eq!(world.close(&second).await, Conclusion::Dropped);
        assert_eq!(world.log().await.iter().filter(|(_, to, _)| *to == Status::Idle).count(), 1);
    }
}

#[tokio::test]
async fn a_run_that_is_walked_in_all_ranges_and_has_lost_its_jobs_gets_one_that_ends_it() {
    let (world, first, _) = World::in_two_ranges().await;
    world.walk().await;
    sqlx::query("delete from apalis.jobs").execute(world.db.pool()).await.unwrap();
    assert_eq!(lifecycle::recover(world.db.pool()).await.unwrap(), 1);
    let jobs = world.live_jobs().await;
    assert_eq!(jobs.iter().map(|job| (job.run_id, job.range)).collect::<Vec<_>>(), [(first.run_id, 0)]);
}

#[tokio::test]
async fn a_range_that_fails_withdraws_the_jobs_of_the_others() {
    let (world, first, second) = World::in_two_ranges().await;
    sqlx::query("update apalis.jobs set status = 'Pending', lock_by = null where id = $1")
        .bind(&second.id)
        .execute(world.db.pool())
        .await
        .unwrap();
    assert_eq!(world.fail(&first).await, Conclusion::Finished);
    assert!(world.live_jobs().await.is_empty());
    assert_eq!(world.conclude(&second, false).await, Conclusion::Dropped);
}
