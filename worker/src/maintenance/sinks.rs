//! Says at the start whether sinks can be written, and removes what runs have left behind in them.
//!
//! A loop for each kind: a heartbeat, or another kind, must never wait for it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::sink::SinkKind;

const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// How long a look may take: the wait for a connection that fell silent would never end.
const LOOK_WITHIN: Duration = Duration::from_secs(120);

/// Runs until the worker's life ends.
pub async fn run(control: PgPool, kind: Arc<dyn SinkKind>, life: CancellationToken) {
    tokio::select! {
        _ = timeout(LOOK_WITHIN, kind.introduce(&control)) => {}
        () = life.cancelled() => return,
    }
    let mut said = HashMap::new();
    let mut ticks = interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = life.cancelled() => return,
        }
        match timeout(LOOK_WITHIN, kind.give_up(&control)).await {
            Ok(Ok(failed)) => said = warn_of_left_overs(failed.into_iter().collect(), &said),
            Ok(Err(error)) => tracing::debug!(error = %error, "left-overs of runs could not be looked for"),
            Err(_silence) => tracing::warn!("left-overs of runs could not be looked for: no answer"),
        }
    }
}

/// Warns of each target from which something cannot be removed, once per reason. Returns the warnings that hold now.
fn warn_of_left_overs(failed: HashMap<String, String>, said: &HashMap<String, String>) -> HashMap<String, String> {
    for (target, error) in &failed {
        if said.get(target) != Some(error) {
            tracing::warn!(target_name = target, error, "what runs have left behind could not be removed");
        }
    }
    failed
}
