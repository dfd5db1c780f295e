//! Keeps the tables in order: heartbeats, rescue, recovery, unwanted statements, connections that fell silent,
//! timers, retention, and what runs have left behind in their sinks.
//!
//! A heartbeat waits for nothing else: what keeps the tables in order has a loop of its own, and every wait for the database
//! a limit. Each part is a `run_once` that returns what it did. One worker, the first by name, does for all what concerns
//! all; the others do so now and then, in case it is ill. The statements skip what another has, so two may do it at once.

mod forgotten;
mod recovery;
pub mod rescue;
mod retention;
mod silence;
mod sinks;
pub mod statements;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{self, Duration},
};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use vitrina_shared::{
    config::Retention,
    jobs::BATCH_QUEUE,
    metrics,
    store::{
        pipelines,
        queue::{self, Beat},
    },
};

use self::{forgotten::Forgotten, rescue::Silent};
use crate::environment::Environment;

/// How many heartbeats a worker may miss before its jobs are given to others.
pub const MISSED_HEARTBEATS: u32 = 3;
/// For how many heartbeats a worker holds a job that it does not work on.
const FORGOTTEN_HEARTBEATS: u32 = 2;
/// How often a worker that does not lead keeps the tables in order all the same, in heartbeats.
const FOLLOWER_EVERY: u32 = 15;
const PRUNE_EVERY: Duration = Duration::from_secs(60);
const NAMES_EVERY: Duration = Duration::from_secs(30);
/// The least that the database gets for an answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// How long it may take to keep the tables in order once.
const ORDER_WITHIN: Duration = Duration::from_secs(20);

/// Runs until the worker's life ends, draining included: a worker that is finishing its last batch is alive.
pub async fn run(env: Arc<Environment>, heartbeat: Duration, pause: Duration, retention: Retention) {
    let leads = Arc::new(AtomicBool::new(false));
    let life = env.life.clone();
    for kind in env.sinks.kinds() {
        tokio::spawn(sinks::run(env.control.clone(), kind.clone(), life.clone()));
    }
    tokio::select! {
        () = beat(&env, heartbeat, pause, &leads) => {}
        () = keep_order(&env, heartbeat, &leads, retention) => {}
        () = life.cancelled() => {}
    }
}

/// Says that the worker is alive, and looks after what it has in hand.
async fn beat(env: &Environment, heartbeat: Duration, pause: Duration, leads: &AtomicBool) {
    let mut ticks = ticks(heartbeat);
    let mut forgotten = Forgotten::default();
    let limit = heartbeat.max(ANSWERS_WITHIN);
    loop {
        ticks.tick().await;
        match timeout(limit, beat_once(env, heartbeat, &mut forgotten)).await {
            Ok(Ok(beat)) => {
                env.note_beat();
                leads.store(beat.leads, Ordering::Relaxed);
                wake(env, &beat, heartbeat);
            }
            Ok(Err(error)) => tracing::warn!(worker = env.name, error = %error, "the heartbeat failed"),
            Err(_silence) => tracing::warn!(worker = env.name, "the heartbeat got no answer"),
        }
        let watched = async {
            statements::run_once(&env.control, &env.in_hand, pause).await?;
            silence::run_once(&env.control, &env.in_hand, heartbeat).await
        };
        match timeout(limit, watched).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(worker = env.name, error = %error, "statements were not looked after"),
            Err(_silence) => tracing::warn!(worker = env.name, "statements were not looked after: no answer"),
        }
    }
}

async fn beat_once(env: &Environment, heartbeat: Duration, forgotten: &mut Forgotten) -> sqlx::Result<Beat> {
    let release = forgotten.long_since(heartbeat * FORGOTTEN_HEARTBEATS);
    let sent = queue::Heartbeat {
        worker: &env.name,
        queue: BATCH_QUEUE,
        working: &env.working(),
        release: &release,
        gone_after: heartbeat * MISSED_HEARTBEATS,
    };
    let mut connection = env.control.acquire().await?;
    let asked = time::Instant::now();
    let beat = queue::beat(&mut connection, &sent).await?;
    env.clock.note(&mut connection, asked, beat.clock).await?;
    forgotten.note(&beat.forgotten);
    Ok(beat)
}

/// Lets the queue look for jobs that are due, or will be before the next heartbeat but one.
fn wake(env: &Environment, beat: &Beat, heartbeat: Duration) {
    if beat.released > 0 {
        env.wake_after(Duration::ZERO);
    }
    let due = beat.due_in.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)));
    if let Some(delay) = due.filter(|delay| *delay < heartbeat * 2) {
        env.wake_after(delay);
    }
}

/// Keeps the tables in order for all workers.
async fn keep_order(env: &Environment, heartbeat: Duration, leads: &AtomicBool, retention: Retention) {
    let mut ticks = ticks(heartbeat);
    let mut silent = Silent::default();
    let mut follower_ticks = 0;
    let (mut pruned, mut named) = (None::<Instant>, None::<Instant>);
    loop {
        ticks.tick().await;
        if named.is_none_or(|at| at.elapsed() > NAMES_EVERY) {
            named = Some(Instant::now());
            within(env, "names of pipelines were not read", read_names(env)).await;
        }
        follower_ticks += 1;
        if !leads.load(Ordering::Relaxed) && follower_ticks < FOLLOWER_EVERY {
            continue;
        }
        follower_ticks = 0;
        let recovered = recovery::run_once(&env.control, &mut silent, heartbeat * MISSED_HEARTBEATS);
        if within(env, "recovery failed", recovered).await.is_some_and(|recovered| recovered > 0) {
            env.wake_after(Duration::ZERO);
        }
        if pruned.is_none_or(|at| at.elapsed() > PRUNE_EVERY) {
            pruned = Some(Instant::now());
            within(env, "what is old was not removed", retention::run_once(&env.control, retention)).await;
            within(env, "overdue statements were not ended", statements::end_overdue(&env.control)).await;
        }
    }
}

/// What was done, if the database let it be done in time.
async fn within<T, E: std::fmt::Display>(
    env: &Environment,
    complaint: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Option<T> {
    match timeout(ORDER_WITHIN, work).await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            tracing::warn!(worker = env.name, error = %error, "{complaint}");
            None
        }
        Err(_silence) => {
            tracing::warn!(worker = env.name, "{complaint}: no answer");
            None
        }
    }
}

async fn read_names(env: &Environment) -> sqlx::Result<()> {
    let names = pipelines::names(&mut *env.control.acquire().await?).await?;
    metrics::set_pipelines(names.into_iter().collect());
    Ok(())
}

fn ticks(heartbeat: Duration) -> tokio::time::Interval {
    let mut ticks = interval(heartbeat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
