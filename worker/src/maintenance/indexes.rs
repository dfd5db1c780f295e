//! Says at the start whether indexes can be written, and removes those that nobody needs any more.
//!
//! A loop of its own: a heartbeat must never wait for Elasticsearch.

use std::{collections::HashMap, sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    elasticsearch::{Client, GRACE, Swept, indexes, sweep},
    environment::Environment,
};

/// How often they are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// How long a look may take: the wait for a connection that fell silent would never end.
const LOOK_WITHIN: Duration = Duration::from_secs(120);

/// Runs until the worker's life ends; not at all where there is no Elasticsearch.
pub async fn run(control: PgPool, env: Arc<Environment>, life: CancellationToken) {
    let Ok(client) = &env.elasticsearch else { return };
    tokio::select! {
        _ = timeout(LOOK_WITHIN, introduce(&control, client)) => {}
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
        match timeout(LOOK_WITHIN, sweep(&control, client, GRACE)).await {
            Ok(Ok(swept)) => said = tell(swept, &said),
            Ok(Err(error)) => tracing::debug!(error = %error, "indexes could not be looked for"),
            Err(_silence) => tracing::warn!("indexes could not be looked for: no answer"),
        }
    }
}

/// Warns of targets whose indexes cannot be removed, of each once as long as the reason stays. Returns what was said.
fn tell(swept: Swept, said: &HashMap<String, String>) -> HashMap<String, String> {
    let failed: HashMap<String, String> =
        swept.failed.into_iter().map(|(target, error)| (target, error.message)).collect();
    for (target, error) in &failed {
        if said.get(target) != Some(error) {
            tracing::warn!(target_name = target, error, "indexes that are not needed any more could not be removed");
        }
    }
    failed
}

/// A wrong password, or a right that is lacking, is said before the first run meets it.
async fn introduce(control: &PgPool, client: &Client) {
    match client.server().await {
        Ok(server) => {
            tracing::info!(distribution = server.distribution, version = server.version, "elasticsearch answers")
        }
        Err(error) => return tracing::warn!(error = %error, "elasticsearch cannot be used"),
    }
    let listed = async { indexes(&mut *control.acquire().await?).await };
    for index in listed.await.unwrap_or_default() {
        if let Err(error) = client.check_rights(&index).await {
            tracing::warn!(index, error = %error, "an index cannot be written");
        }
    }
}
