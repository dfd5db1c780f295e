//! Which runs are removed when they are old.

use std::time::Duration;

use vitrina_shared::{
    domain::{RunId, RunStatus, Status},
    store::runs,
};

use crate::World;

const DAY: Duration = Duration::from_secs(86_400);

impl World {
    /// A run that ended so many days ago.
    async fn ended(&self, days: i32, rows_read: i64) -> RunId {
        let run = self.run().await.unwrap().run.id;
        self.worker(Status::Idle, RunStatus::Success, "Done").await;
        sqlx::query(
            "update etl.etl_runs
             set requested_at = now() - make_interval(days => $2, mins => 1), rows_read = $3,
                 finished_at = now() - make_interval(days => $2)
             where id = $1",
        )
        .bind(run)
        .bind(days)
        .bind(rows_read)
        .execute(self.db.pool())
        .await
        .unwrap();
        run
    }

    async fn prune(&self, most: i64) -> u64 {
        runs::prune(&mut self.db.pool().acquire().await.unwrap(), 30 * DAY, most).await.unwrap()
    }

    /// The runs that are there, oldest first.
    async fn kept(&self) -> Vec<RunId> {
        let all = sqlx::query_scalar("select id from etl.etl_runs order by requested_at");
        all.fetch_all(self.db.pool()).await.unwrap()
    }
}

#[tokio::test]
async fn old_runs_are_removed_oldest_first_and_never_more_than_asked_for() {
    let world = World::new().await;
    let mut all = Vec::new();
    for days in [90, 80, 70, 31, 29, 1] {
        all.push(world.ended(days, 0).await);
    }
    assert_eq!(world.prune(3).await, 3);
    assert_eq!(world.kept().await, all[3..]);
    assert_eq!(world.prune(3).await, 1);
    assert_eq!(world.prune(3).await, 0);
    assert_eq!(world.kept().await, all[4..]);
    assert_eq!(world.count("select count(*) from etl.etl_run_ranges").await, 2);
}

#[tokio::test]
async fn the_last_run_of_a_pipeline_stays_however_old_it_is() {
    let world = World::new().await;
    world.ended(90, 0).await;
    let last = world.ended(80, 0).await;
    assert_eq!(world.prune(10).await, 1);
    assert_eq!(world.kept().await, [last]);
}

#[tokio::test]
async fn an_unfinished_run_stays_however_old_it_is() {
    let world = World::new().await;
    let run = world.run().await.unwrap().run.id;
    sqlx::raw_sql("update etl.etl_runs set requested_at = now() - interval '90 days'")
        .execute(world.db.pool())
        .await
        .unwrap();
    assert_eq!(world.prune(10).await, 0);
    assert_eq!(world.kept().await, [run]);
}

/// Whether an index still has what a checkpoint speaks of is decided by them.
#[tokio::test]
async fn the_run_of_the_checkpoint_and_the_last_one_that_delivered_rows_stay() {
    let world = World::new().await;
    world.ended(95, 5).await;
    let delivered = world.ended(90, 5).await;
    world.ended(85, 0).await;
    let of_checkpoint = world.ended(80, 0).await;
    world.ended(75, 0).await;
    let last = world.ended(70, 0).await;
    world.checkpoint(of_checkpoint, "9", "9").await;
    assert_eq!(world.prune(10).await, 3);
    assert_eq!(world.kept().await, [delivered, of_checkpoint, last]);
}
