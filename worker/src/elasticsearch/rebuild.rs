//! A full run: another index is built beside the one that serves, and takes its place at once.
//!
//! begin → (documents by the route) → finish: restore settings, refresh, count, swap.
//!
//! Until the swap the old index serves, whatever happens. `sweep` removes what an ended run left behind, and replaced
//! indexes once nobody can be searching them any more.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use elasticsearch::http::Method;
use serde_json::{Value, json};
use vitrina_shared::domain::{RunId, SourceColumn};

use super::{
    bulk::Route,
    error::SinkError,
    index::{Index, Physical},
};

impl Index {
    /// Creates the run's index, or finds it where a crash left it, and says by which route to fill it.
    pub async fn begin_rebuild(&self, run: RunId, columns: &[SourceColumn]) -> Result<Arc<Route>, SinkError> {
        let physical = self.physical(run);
        let alias = Self::building(&physical);
        let route = Arc::new(Route::new(self.client.clone(), &alias, &self.options));
        let behind = self.behind().await?;
        if behind.iter().any(|serving| serving.name == physical) {
            // The process died between the swap and its own end: there is nothing left to write.
            return Ok(route);
        }
        if behind.is_empty() {
            self.refuse_concrete().await?;
        }
        let mut settings = self.settings();
        settings["number_of_replicas"] = json!(0);
        settings["refresh_interval"] = json!("-1");
        self.create(&physical, &alias, columns, &settings).await?;
        Ok(route)
    }

    /// Makes the run's index the one that serves, if it has at least `expected` documents, and unless `refuse` says why it may
    /// not be so much smaller than the one that serves now. Returns by how many documents it is. Harmless to repeat.
    pub async fn finish_rebuild(
        &self,
        run: RunId,
        expected: u64,
        refuse: impl Fn(u64, u64) -> Option<String>,
    ) -> Result<u64, SinkError> {
        let physical = self.physical(run);
        let behind = self.behind().await?;
        if behind.iter().any(|serving| serving.name == physical) {
            return Ok(0);
        }
        let settings = json!({"index": {
            "number_of_replicas": self.options.replicas, "refresh_interval": self.options.refresh_interval
        }});
        self.client.ask(Method::Put, &format!("/{physical}/_settings"), Some(&settings)).await?;
        self.refresh(&physical).await?;
        let found = self.count(&physical).await?;
        if found < expected {
            return Err(SinkError::fatal(format!(
                "the new index `{physical}` has {found} documents where {expected} were written, and does not take over: make \
                 sure that the query returns each key once"
            )));
        }
        if expected > 0 && found > expected {
            // Rows that a repeated page returned the first time and not the second.
            tracing::warn!(
                index = physical,
                found,
                expected,
                "the new index has more documents than the last attempts wrote"
            );
        }
        let serving = if behind.is_empty() { 0 } else { self.count(&self.name).await? };
        let removed = serving.saturating_sub(found);
        if let Some(refusal) = refuse(removed, serving) {
            return Err(SinkError::fatal(refusal));
        }
        self.swap(&physical).await?;
        Ok(removed)
    }

    /// One request, which the cluster executes whole: nobody sees two indexes, or none.
    async fn swap(&self, physical: &str) -> Result<(), SinkError> {
        let replaced = self.behind().await?;
        let mut actions: Vec<Value> =
            replaced.iter().map(|old| json!({"remove": {"index": old.name, "alias": self.name}})).collect();
        actions.push(json!({"remove": {"index": physical, "alias": Self::building(physical)}}));
        actions.push(json!({"add": {"index": physical, "alias": self.name, "is_write_index": true}}));
        self.client.ask(Method::Post, "/_aliases", Some(&json!({"actions": actions}))).await?;
        let old: Vec<&str> = replaced.iter().map(|old| old.name.as_str()).collect();
        tracing::info!(index = physical, alias = self.name, replaced = ?old, "index swapped");
        Ok(())
    }

    /// Removes of what was found whatever runs left behind: indexes that ended runs were building, and replaced ones after
    /// `grace`, except those to be kept. Returns the names. `live` must have been looked up after `found`, otherwise the
    /// index of a run that has just begun would be taken for litter.
    pub async fn sweep(
        &self,
        found: Vec<Physical>,
        live: &HashSet<RunId>,
        grace: Duration,
    ) -> Result<Vec<String>, SinkError> {
        let (detached, building): (Vec<Physical>, Vec<Physical>) = found
            .into_iter()
            .filter(|physical| !physical.aliases.contains(&self.name))
            .partition(|physical| physical.aliases.is_empty());
        let mut doomed: Vec<String> = building
            .into_iter()
            .filter(|physical| physical.aliases == [Self::building(&physical.name)])
            .filter(|physical| self.run_of(&physical.name).is_some_and(|run| !live.contains(&run)))
            .map(|physical| physical.name)
            .collect();
        doomed.extend(self.outlived(detached, grace).await?);
        for physical in &doomed {
            self.remove(physical).await?;
        }
        Ok(doomed)
    }

    /// Replaced indexes that nobody needs any more. The time of a replacement is noted in the index itself, by whoever
    /// sees it first.
    async fn outlived(&self, detached: Vec<Physical>, grace: Duration) -> Result<Vec<String>, SinkError> {
        let mut replaced = Vec::new();
        for physical in detached {
            let at = match self.replaced_at(&physical.name).await? {
                Some(at) => at,
                None => self.note_replaced(&physical.name).await?,
            };
            replaced.push((at, physical.name));
        }
        // Run ids grow with time, and so do names: among equals the newest is kept.
        replaced.sort();
        let surplus = replaced.len().saturating_sub(self.options.keep_old);
        let due = now().saturating_sub(grace.as_millis() as u64);
        Ok(replaced.into_iter().take(surplus).filter(|(at, _)| *at <= due).map(|(_, name)| name).collect())
    }

    async fn replaced_at(&self, physical: &str) -> Result<Option<u64>, SinkError> {
        let found = self.client.ask(Method::Get, &format!("/{physical}/_mapping"), None).await?;
        Ok(found[physical]["mappings"]["_meta"]["vitrina"]["replaced_at"].as_u64())
    }

    async fn note_replaced(&self, physical: &str) -> Result<u64, SinkError> {
        let at = now();
        let mut meta = self.options.mappings.get("_meta").cloned().unwrap_or_else(|| json!({}));
        meta["vitrina"] = json!({"replaced_at": at});
        let path = format!("/{physical}/_mapping");
        self.client.ask(Method::Put, &path, Some(&json!({"_meta": meta}))).await?;
        Ok(at)
    }

    async fn remove(&self, physical: &str) -> Result<(), SinkError> {
        let answer = self.client.send(Method::Delete, &format!("/{physical}"), None).await?;
        if answer.status != 404 {
            answer.success()?;
            tracing::info!(index = physical, "index removed");
        }
        Ok(())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
