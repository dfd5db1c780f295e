//! Which runs and entries of the log are removed when they are old.

use std::time::Duration;

use vitrina_shared::{
    definitions,
    domain::{RunId, RunStatus, Status},
    store::{runs, transitions},
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

    /// Makes the log and the runs so many days older.
    async fn age(&self, days: i32) {
        for table in ["etl.etl_transitions set at = at", "etl.etl_runs set requested_at = requested_at"] {
            let statement = sqlx::AssertSqlSafe(format!("update {table} - make_interval(days => $1)"));
            sqlx::query(statement).bind(days).execute(self.db.admin()).await.unwrap();
        }
    }

    async fn prune_log(&self, most: i64) -> u64 {
        transitions::prune(&mut self.db.pool().acquire().await.unwrap(), 30 * DAY, most).await.unwrap()
    }

    async fn log_ids(&self) -> Vec<i64> {
        let all = sqlx::query_scalar("select id from etl.etl_transitions order by id");
        all.fetch_all(self.db.pool()).await.unwrap()
    }

    async fn removed_up_to(&self) -> i64 {
        transitions::removed_up_to(&mut self.db.pool().acquire().await.unwrap()).await.unwrap()
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

#[tokio::test]
async fn old_entries_of_the_log_are_removed_oldest_first_and_what_was_removed_is_noted() {
    let world = World::new().await;
    for _ in 0..3 {
        world.run().await.unwrap();
        world.cancel().await.unwrap();
    }
    world.age(31).await;
    world.run().await.unwrap();
    world.cancel().await.unwrap();
    let ids = world.log_ids().await;
    assert_eq!((world.removed_up_to().await, ids.len()), (0, 8));
    assert_eq!(world.prune_log(4).await, 4);
    assert_eq!((world.log_ids().await.as_slice(), world.removed_up_to().await), (&ids[4..], ids[3]));
    assert_eq!(world.prune_log(4).await, 2);
    assert_eq!(world.prune_log(4).await, 0);
    assert_eq!((world.log_ids().await.as_slice(), world.removed_up_to().await), (&ids[6..], ids[5]));
}

#[tokio::test]
async fn the_last_entry_of_a_pipeline_and_all_of_an_unfinished_run_stay_however_old_they_are() {
    let world = World::new().await;
    world.run().await.unwrap();
    world.cancel().await.unwrap();
    world.age(31).await;
    let ids = world.log_ids().await;
    assert_eq!(world.prune_log(10).await, 1);
    assert_eq!(world.log_ids().await, ids[1..]);

    world.run().await.unwrap();
    world.pause().await.unwrap();
    world.age(31).await;
    let ids = world.log_ids().await;
    assert_eq!(world.prune_log(10).await, 1, "of the run that ended");
    assert_eq!(world.log_ids().await, ids[1..]);

    world.cancel().await.unwrap();
    world.age(31).await;
    definitions::delete(world.db.pool(), &world.pipeline(), None).await.unwrap();
    world.prune_log(10).await;
    assert_eq!(world.log_ids().await, Vec::<i64>::new(), "a deleted pipeline needs none");
}
