//! Elasticsearch indexes: written by an incremental run, or built anew by a full one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use vitrina_shared::domain::{Mode, PipelineId, RunId};

use crate::{
    proxy::{Fault, Proxy},
    suite::{self, Bench, Rows},
    support::Corner,
    world::{RunningWorker, World, eventually},
};

struct Index {
    world: World,
    corner: Corner,
    proxy: Proxy,
    cuts: Arc<AtomicBool>,
}

impl Index {
    async fn new() -> Option<Self> {
        let corner = Corner::new()?;
        let world = suite::world().await;
        world.sql(&format!("insert into etl.etl_targets (target, key) values ('es:{}', '{{id}}')", corner.name)).await;
        let cuts = Arc::new(AtomicBool::new(false));
        let cut = cuts.clone();
        let script = move |_: &_| if cut.load(Ordering::SeqCst) { Fault::Cut } else { Fault::None };
        let proxy = Proxy::start(&corner.node, script).await;
        Some(Self { world, corner, proxy, cuts })
    }

    fn document(&self, id: i64) -> String {
        format!("{}/_doc/{id}?refresh=true", self.corner.name)
    }
}

impl Bench for Index {
    fn world(&self) -> &World {
        &self.world
    }

    fn target(&self) -> String {
        format!("es:{}", self.corner.name)
    }

    fn worker(&self) -> RunningWorker {
        self.world.worker(&[("ELASTICSEARCH_URL", &self.proxy.url)])
    }

    fn rows(&self) -> BoxFuture<'_, Rows> {
        Box::pin(async {
            let documents = self.corner.documents().await;
            let row =
                |(id, document): (String, Value)| (id.parse().unwrap(), document["name"].as_str().unwrap().to_owned());
            documents.into_iter().map(row).collect()
        })
    }

    fn plant(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let third = self.corner.ask(&self.document(3)).await["_source"].clone();
            let mut second = self.corner.ask(&self.document(2)).await["_source"].clone();
            second["name"] = json!("planted");
            self.corner.put(reqwest::Method::DELETE, &self.document(1), &Value::Null).await;
            self.corner.put(reqwest::Method::PUT, &self.document(2), &second).await;
            let mut extra = third;
            extra["id"] = json!(1000);
            self.corner.put(reqwest::Method::PUT, &self.document(1000), &extra).await;
        })
    }

    fn run_and_cut(&self, pipeline: PipelineId) -> BoxFuture<'_, RunId> {
        Box::pin(async move {
            self.cuts.store(true, Ordering::SeqCst);
            let before = self.proxy.bulks();
            let run = self.world.run(pipeline).await;
            eventually("a connection to cut", || async { (self.proxy.bulks() > before).then_some(()) }).await;
            self.cuts.store(false, Ordering::SeqCst);
            run
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_a_sink() {
    suite::exercise(Mode::Incremental, Index::new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_built_anew_is_a_sink() {
    suite::exercise(Mode::Full, Index::new).await;
}
