//! A full run: another index is built beside the one that serves, and takes its place at once.
//!
//! begin → (documents through the endpoint) → finish: restore settings, refresh, count, swap.
//!
//! Until the swap the old index serves, whatever happens. `removal` takes away what an ended run left behind, and replaced
//! indexes once no search can be reading them any more.

use std::sync::Arc;

use elasticsearch::http::Method;
use serde_json::{Value, json};
use vitrina_shared::domain::{RunId, SourceColumn, WriteMode};

use super::{
    bulk::BulkEndpoint,
    error::SinkError,
    index::{Index, Ready},
    physical::{Mark, Physical},
};

/// How often a swap looks again where aliases changed meanwhile.
const LOOKS: usize = 5;

impl Index {
    /// Creates the run's index, or finds it where a crash or a pause left it, and returns the endpoint that fills it.
    pub async fn begin_rebuild(&self, run: RunId, columns: &[SourceColumn], begun: bool) -> Result<Ready, SinkError> {
        let physical = self.physical(run);
        let alias = Mark::Building.of(&physical);
        if !begun {
            // An index that may not be replaced is refused before anything is built.
            for serving in self.behind().await? {
                self.refuse_to_lose_fields(&serving, columns)?;
            }
            let mut settings = self.settings();
            settings["number_of_replicas"] = json!(0);
            settings["refresh_interval"] = json!("-1");
            self.create(&physical, &alias, columns, &settings).await?;
        }
        let built = self.find_physical(&physical).await?.filter(|built| self.can_take_over(built));
        let built = built.ok_or_else(|| lost(&physical))?;
        if built.is(Mark::Building) && built.has(&self.name) {
            self.change_aliases(&[remove(&physical, &self.name)]).await?;
            return Err(self.refusal(
                "is an alias that an index template of the cluster gives to indexes that are being built, where searches would \
                 find a part of the documents: take it out of the template",
            ));
        }
        self.check_fields(&built, columns)?;
        let endpoint = Arc::new(BulkEndpoint::new(self.client.clone(), &alias, &self.options));
        Ok(Ready { uuid: built.uuid, endpoint })
    }

    /// With the option `update` fields that the query does not return belong to other writers: a new index would not have them.
    fn refuse_to_lose_fields(&self, serving: &Physical, columns: &[SourceColumn]) -> Result<(), SinkError> {
        let lost = |field: &&String| !columns.iter().any(|column| column.name == **field);
        let others = serving.fields.keys().find(lost).filter(|_| self.options.write == Some(WriteMode::Update));
        let Some(field) = others else { return Ok(()) };
        Err(self.refusal(format!(
            "has the field `{field}`, which this query does not return: a full run builds the index anew from the query alone, and \
             the target's option write says `update`, which keeps fields that others write. Reset the pipeline to write all its \
             fields again, or leave the option out if they may go"
        )))
    }

    /// It is being built, or has taken over already: then the process died between the swap and its own end.
    fn can_take_over(&self, built: &Physical) -> bool {
        built.is(Mark::Building) || built.has(&self.name)
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
        if self.has_taken_over(&physical).await? {
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
            // Documents of refused rows that were kept, or rows that a repeated page returned the first time and not the second.
            tracing::info!(
                index = physical,
                found,
                expected,
                "the new index has more documents than the last attempts wrote"
            );
        }
        // Not by the alias, which may have a user's filter.
        let old = behind.iter().map(|old| old.name.as_str()).collect::<Vec<_>>().join(",");
        let serving = if old.is_empty() {
            0
        } else {
            // What was written a moment ago counts too.
            self.refresh(&old).await?;
            self.count(&old).await?
        };
        let removed = serving.saturating_sub(found);
        if let Some(refusal) = refuse(removed, serving) {
            return Err(SinkError::fatal(refusal));
        }
        self.swap(&physical).await?;
        Ok(removed)
    }

    /// Whether the run's index serves. Fails if it cannot take over any more.
    async fn has_taken_over(&self, physical: &str) -> Result<bool, SinkError> {
        let built = self.find_physical(physical).await?.filter(|built| self.can_take_over(built));
        Ok(built.ok_or_else(|| lost(physical))?.has(&self.name))
    }

    /// One request, which the cluster executes whole or not at all: no search sees two indexes, or none. An operator may have gone
    /// back to an index that was replaced before: it is replaced now, and searches of it have their time.
    async fn swap(&self, physical: &str) -> Result<(), SinkError> {
        for _ in 0..LOOKS {
            let replaced = self.behind().await?;
            for restored in replaced.iter().filter(|old| self.is_ours(old) && old.replaced_at().is_some()) {
                self.write_meta(restored, None).await?;
            }
            if self.change_aliases(&self.swapping(physical, &replaced)).await? {
                let old: Vec<&str> = replaced.iter().map(|old| old.name.as_str()).collect();
                tracing::info!(index = physical, alias = self.name, replaced = ?old, "index swapped");
                return Ok(());
            }
            // An alias was not where it had just been seen.
            if self.has_taken_over(physical).await? {
                return Ok(());
            }
        }
        Err(SinkError::transient(format!("the aliases of `{}` change all the time", self.name)))
    }

    /// What makes an index serve in place of others. The aliases that users gave to an index of ours go with it unchanged.
    fn swapping(&self, physical: &str, replaced: &[Physical]) -> Vec<Value> {
        let mut actions = Vec::new();
        let mut serving = json!({});
        for old in replaced {
            actions.push(remove(&old.name, &self.name));
            serving = old.aliases.get(&self.name).cloned().unwrap_or(serving);
            if self.is_ours(old) {
                for (alias, properties) in old.others(&self.name) {
                    actions.push(remove(&old.name, alias));
                    actions.push(add(physical, alias, properties));
                }
                actions.push(add(&old.name, &Mark::Replaced.of(&old.name), &json!({})));
            }
        }
        serving["is_write_index"] = json!(true);
        actions.push(remove(physical, &Mark::Building.of(physical)));
        actions.push(add(physical, &self.name, &serving));
        actions
    }

    /// Changes aliases, all of them or none. Whether those were there that must be.
    pub(super) async fn change_aliases(&self, actions: &[Value]) -> Result<bool, SinkError> {
        let answer = self.client.send(Method::Post, "/_aliases", Some(&json!({"actions": actions}))).await?;
        if answer.status == 404 {
            return Ok(false);
        }
        answer.success().map(|_| true)
    }
}

/// Takes an alias away, which must be there.
pub(super) fn remove(index: &str, alias: &str) -> Value {
    json!({"remove": {"index": index, "alias": alias, "must_exist": true}})
}

/// Adds an alias with the properties that another one had.
pub(super) fn add(index: &str, alias: &str, properties: &Value) -> Value {
    let mut action = properties.clone();
    action["index"] = json!(index);
    action["alias"] = json!(alias);
    json!({"add": action})
}

fn lost(physical: &str) -> SinkError {
    SinkError::fatal(format!(
        "the index `{physical}`, which the run was building, was removed or taken out of use by another client: the old one \
         goes on serving. Run the pipeline again"
    ))
}
