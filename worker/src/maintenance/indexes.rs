//! Removes indexes that nobody needs any more.
//!
//! A loop of its own: a heartbeat must never wait for Elasticsearch.

use std::{sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{
    elasticsearch::{GRACE, sweep},
    environment::Environment,
};

/// How often they are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// Runs until the worker's life ends; not at all where there is no Elasticsearch.
pub async fn run(control: PgPool, env: Arc<Environment>, life: CancellationToken) {
    let Ok(client) = &env.elasticsearch else { return };
    let mut ticks = interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = life.cancelled() => return,
        }
        if let Err(error) = sweep(&control, client, GRACE).await {
            tracing::debug!(error = %error, "indexes could not be looked for");
        }
    }
}
