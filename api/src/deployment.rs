//! Metrics of the whole deployment, for Prometheus.
//!
//! They are counted in the database and read from there, so they are exact: neither the death of a worker nor a restart
//! changes them. Every API process shows the same.

mod render;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use tokio::{sync::Mutex, time::timeout};
use vitrina_shared::{
    jobs::BATCH_QUEUE,
    metrics::{self, DATABASE_UP, Exposition},
    store::{
        self, horizon,
        pipelines::{self, Glance},
        pool_keys::{self, PoolDepth},
        queue::{self, Depth},
        totals::{self, Total},
        workers,
    },
};

/// How long an answer is cached, so that frequent requests without a token do not load the database.
const HOLDS: Duration = Duration::from_secs(1);
/// Time limit of the database. Prometheus gives up after ten seconds, and would then lose the process's own metrics too.
const WITHIN: Duration = Duration::from_secs(3);

/// The cached answer.
#[derive(Default)]
pub struct Deployment {
    last: Mutex<Option<(Instant, String)>>,
}

struct DeploymentFacts {
    now: DateTime<Utc>,
    duration_bounds: Vec<f64>,
    totals: Vec<Total>,
    pipelines: Vec<Glance>,
    depth: Depth,
    workers: i64,
    horizon_lag: f64,
    keys: Vec<PoolDepth>,
}

impl Deployment {
    /// The deployment's metrics as text. One request reads them, concurrent ones wait for it.
    pub async fn render(&self, db: &PgPool) -> String {
        let mut last = self.last.lock().await;
        if let Some((at, text)) = last.as_ref().filter(|(at, _)| at.elapsed() < HOLDS) {
            tracing::trace!(age_ms = at.elapsed().as_millis() as u64, "the deployment's metrics are shown again");
            return text.clone();
        }
        let mut text = Exposition::default();
        let facts = timeout(WITHIN, DeploymentFacts::read(db)).await;
        text.family(DATABASE_UP);
        text.sample(DATABASE_UP, &[], if matches!(facts, Ok(Ok(_))) { 1.0 } else { 0.0 });
        match facts {
            Ok(Ok(facts)) => facts.render(&mut text),
            Ok(Err(error)) => tracing::warn!(error = %error, "the deployment's metrics could not be read"),
            Err(_) => tracing::warn!("the database took too long for the deployment's metrics"),
        }
        let text = text.into_text();
        *last = Some((Instant::now(), text.clone()));
        text
    }
}

impl DeploymentFacts {
    async fn read(db: &PgPool) -> sqlx::Result<Self> {
        let mut connection = db.acquire().await?;
        let (now, duration_bounds) = totals::clock_and_bounds(&mut connection).await?;
        let facts = Self {
            now,
            duration_bounds,
            totals: totals::list(&mut connection).await?,
            pipelines: pipelines::glance(&mut connection).await?,
            depth: queue::depth(&mut connection, BATCH_QUEUE).await?,
            workers: workers::count(&mut connection, BATCH_QUEUE).await?,
            horizon_lag: horizon::lag(&mut connection).await?,
            keys: pool_keys::depths(&mut connection).await?,
        };
        // A counter that a crash of the server takes back would be a reset to Prometheus, which adds it once more.
        store::flush(&mut connection).await?;
        metrics::set_pipelines(facts.pipelines.iter().map(|pipeline| pipeline.name.clone()).collect());
        Ok(facts)
    }
}
