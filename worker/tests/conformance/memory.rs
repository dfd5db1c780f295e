//! A sink of the tests' own: everything that it needs to be written by a real worker is in the directory beside this file.

mod sink;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use vitrina_shared::domain::{Mode, PipelineId, RunId};

use self::sink::Memory;
use crate::{
    suite::{self, Bench, Rows},
    world::{RunningWorker, World, eventually},
};

struct Things {
    world: World,
    memory: Memory,
}

impl Things {
    async fn new() -> Option<Self> {
        let world = suite::world().await;
        world.sql("insert into etl.etl_targets (target, key) values ('memory:things', '{id}')").await;
        Some(Self { world, memory: Memory::default() })
    }
}

impl Bench for Things {
    fn world(&self) -> &World {
        &self.world
    }

    fn target(&self) -> String {
        "memory:things".to_owned()
    }

    fn worker(&self) -> RunningWorker {
        self.world.worker_with(&[], |worker| worker.with_sink(Arc::new(self.memory.clone())))
    }

    fn rows(&self) -> BoxFuture<'_, Rows> {
        Box::pin(async {
            let row = |(id, doc): (String, String)| {
                let doc: serde_json::Value = serde_json::from_str(&doc).unwrap();
                (id.parse().unwrap(), doc["name"].as_str().unwrap().to_owned())
            };
            self.memory.documents().into_iter().map(row).collect()
        })
    }

    fn plant(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.memory.plant("1", |_| None);
            self.memory.plant("2", |doc| Some(doc.replace("thing 2", "planted")));
            let third = self.memory.documents()["3"].clone();
            self.memory.plant("1000", |_| Some(third.replace("\"id\":3", "\"id\":1000")));
        })
    }

    fn run_and_cut(&self, pipeline: PipelineId) -> BoxFuture<'_, RunId> {
        Box::pin(async move {
            self.memory.cut(true);
            let run = self.world.run(pipeline).await;
            let failed = || async { (self.world.find(run).await.attempts > 0).then_some(()) };
            eventually("a failed attempt", failed).await;
            self.memory.cut(false);
            run
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_of_the_tests_own_is_a_sink() {
    suite::exercise(Mode::Incremental, Things::new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_of_the_tests_own_that_is_built_anew_is_a_sink() {
    suite::exercise(Mode::Full, Things::new).await;
}
