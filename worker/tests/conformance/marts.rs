//! Marts of the home database: merged page by page, or swapped all at once.

use futures_util::future::BoxFuture;
use vitrina_shared::domain::{Mode, PipelineId, RunId};

use crate::{
    suite::{self, Bench, Rows},
    world::{RunningWorker, World, eventually},
};

struct Mart {
    world: World,
    swaps: bool,
}

impl Mart {
    /// A mart with something unique besides its key is swapped.
    async fn new(swaps: bool) -> Option<Self> {
        let world = suite::world().await;
        let columns = "id bigint, name text, born date check (isfinite(born)), modified timestamptz";
        world.target("thing", columns, &["id"]).await;
        if swaps {
            world.sql("create unique index on analytics.thing (id, name)").await;
        }
        Some(Self { world, swaps })
    }
}

impl Bench for Mart {
    fn world(&self) -> &World {
        &self.world
    }

    fn target(&self) -> String {
        "analytics.thing".to_owned()
    }

    fn worker(&self) -> RunningWorker {
        self.world.worker(&[])
    }

    fn rows(&self) -> BoxFuture<'_, Rows> {
        Box::pin(async {
            let rows = "select coalesce(json_object_agg(id, name), '{}') from analytics.thing";
            serde_json::from_str(&self.world.text(rows).await.unwrap()).unwrap()
        })
    }

    fn plant(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.world.sql(
            "delete from analytics.thing where id = 1;
             update analytics.thing set name = 'planted' where id = 2;
             insert into analytics.thing select 1000, name, born, modified from analytics.thing where id = 3",
        ))
    }

    fn run_and_cut(&self, pipeline: PipelineId) -> BoxFuture<'_, RunId> {
        Box::pin(async move {
            let mut lock = self.world.db.admin().begin().await.unwrap();
            sqlx::raw_sql("lock table content.thing in access exclusive mode").execute(&mut *lock).await.unwrap();
            let run = self.world.run(pipeline).await;
            let cut = "select count(*) from (
                select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and application_name like 'vitrina-worker%' and wait_event_type = 'Lock'
            ) as cut";
            eventually("a connection to cut", || async { (self.world.number(cut).await > 0).then_some(()) }).await;
            lock.rollback().await.unwrap();
            run
        })
    }

    fn puts_aside(&self) -> bool {
        !self.swaps
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_is_merged_is_a_sink() {
    suite::exercise(Mode::Incremental, || Mart::new(false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_is_merged_in_full_is_a_sink() {
    suite::exercise(Mode::Full, || Mart::new(false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mart_that_is_swapped_is_a_sink() {
    suite::exercise(Mode::Full, || Mart::new(true)).await;
}
