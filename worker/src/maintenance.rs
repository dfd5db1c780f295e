//! Keeps the tables in order: heartbeats, rescue, recovery, statements that nobody wants, timers, retention, and indexes that are not needed any more.
//!
//! Each is a `run_once` that returns what it did. All replicas may do all of it: the statements skip what another has.

mod indexes;
mod recovery;
mod retention;
pub mod statements;

use std::{sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use vitrina_shared::{
    jobs::BATCH_QUEUE,
    metrics,
    store::{pipelines, queue},
};

use crate::environment::Environment;

/// How many heartbeats a worker may miss before its jobs are given to others.
const MISSED_HEARTBEATS: u32 = 3;
/// How often finished jobs are removed.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// Runs until the worker's life ends, draining included: a worker that is finishing its last batch is alive.
pub async fn run(
    control: PgPool,
    env: Arc<Environment>,
    heartbeat: Duration,
    pause: Duration,
    life: CancellationToken,
) {
    tokio::spawn(indexes::run(control.clone(), env.clone(), life.clone()));
    let mut ticks = interval(heartbeat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pruned = Instant::now();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = life.cancelled() => return,
        }
        if let Err(error) = tick(&control, &env, heartbeat, pause).await {
            tracing::warn!(worker = env.name, error = %error, "maintenance failed");
        }
        if pruned.elapsed() > PRUNE_EVERY {
            pruned = Instant::now();
            retention::run_once(&control).await;
        }
    }
}

async fn tick(
    control: &PgPool,
    env: &Environment,
    heartbeat: Duration,
    pause: Duration,
) -> Result<(), recovery::RecoveryError> {
    let mut connection = control.acquire().await?;
    queue::heartbeat(&mut connection, &env.name).await?;
    let forgotten = queue::release_forgotten(&mut connection, &env.name, &env.working(), heartbeat * 2).await?;
    let due = queue::next_due(&mut connection, BATCH_QUEUE).await?;
    metrics::set_pipelines(pipelines::names(&mut connection).await?.into_iter().collect());
    drop(connection);
    statements::run_once(control, &env.in_hand, pause).await?;
    let recovered = recovery::run_once(control, heartbeat * MISSED_HEARTBEATS).await?;
    if forgotten + recovered > 0 {
        env.wake_after(Duration::ZERO);
    }
    if let Some(delay) = due.filter(|delay| *delay < heartbeat * 2) {
        env.wake_after(delay);
    }
    Ok(())
}
