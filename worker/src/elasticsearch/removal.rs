//! Removes what runs left behind: indexes that ended runs were building, and those that were replaced.
//!
//! An index is marked for removal in one step with taking away the mark that it was found with, so it can be removed only if
//! it is still what it was taken for: one that has taken over meanwhile cannot. One that nothing leads to is not removed at
//! all: its alias was removed by hand, and it may be the only copy.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use elasticsearch::http::Method;
use serde_json::json;
use vitrina_shared::domain::RunId;

use super::{
    error::{SinkError, SinkErrorKind},
    index::Index,
    physical::{Mark, Physical},
    rebuild::{add, remove},
};

impl Index {
    /// Removes of what was found whatever runs left behind: indexes that ended runs were building, and replaced ones after
    /// `grace`, except those to be kept. Returns the names. `live` must have been looked up after `found`, otherwise the
    /// index of a run that has just begun would be taken for litter.
    pub async fn sweep(
        &self,
        found: Vec<Physical>,
        live: &HashSet<RunId>,
        grace: Duration,
    ) -> Result<Vec<String>, SinkError> {
        let found: Vec<Physical> = found.into_iter().filter(|physical| self.is_ours(physical)).collect();
        for restored in found.iter().filter(|physical| physical.has(&self.name) && physical.is(Mark::Replaced)) {
            unless_blocked(self.forget_replacement(restored).await)?;
        }
        let ended = |physical: &&Physical| self.run_of(&physical.name).is_some_and(|run| !live.contains(&run));
        let abandoned = found.iter().filter(|physical| physical.is_only(Mark::Building)).filter(ended);
        let mut marked: Vec<(&str, Mark)> =
            abandoned.map(|physical| (physical.name.as_str(), Mark::Building)).collect();
        let replaced: Vec<&Physical> = found.iter().filter(|physical| physical.is_only(Mark::Replaced)).collect();
        let outlived = self.outlived(&replaced, grace).await?;
        marked.extend(outlived.into_iter().map(|name| (name, Mark::Replaced)));
        let mut doomed: Vec<&str> = found
            .iter()
            .filter(|physical| physical.is_only(Mark::Doomed))
            .map(|physical| physical.name.as_str())
            .collect();
        let mut removed = Vec::new();
        for (name, mark) in marked {
            match unless_blocked(self.doom(name, mark).await)? {
                Some(true) => doomed.push(name),
                Some(false) => {}
                // A full disk takes no mark, and needs the room. While the block is there it cannot get another alias.
                None if self.remove_marked(name, mark).await? => removed.push(name.to_owned()),
                None => {}
            }
        }
        for name in doomed {
            if self.remove_marked(name, Mark::Doomed).await? {
                removed.push(name.to_owned());
            }
        }
        Ok(removed)
    }

    /// Replaced indexes that no search needs any more. The first worker that sees a replacement notes its time in the index
    /// itself.
    async fn outlived<'a>(&self, replaced: &[&'a Physical], grace: Duration) -> Result<Vec<&'a str>, SinkError> {
        let mut since = Vec::new();
        for physical in replaced {
            let at = match physical.replaced_at() {
                Some(at) => at,
                None => match unless_blocked(self.note_replaced(physical).await)? {
                    Some(at) => at,
                    // The server cannot note it: this worker does.
                    None => self.client.replaced_at(&physical.name, now()),
                },
            };
            since.push((at, physical.name.as_str()));
        }
        // Run ids grow with time, and so do names: among equals the newest is kept.
        since.sort_unstable();
        let surplus = since.len().saturating_sub(self.options.keep_old);
        let due = now().saturating_sub(grace.as_millis() as u64);
        Ok(since.into_iter().take(surplus).filter(|(at, _)| *at <= due).map(|(_, name)| name).collect())
    }

    async fn note_replaced(&self, physical: &Physical) -> Result<u64, SinkError> {
        let at = now();
        self.write_meta(physical, Some(at)).await?;
        Ok(at)
    }

    /// An operator has gone back to a replaced index: it serves again.
    async fn forget_replacement(&self, physical: &Physical) -> Result<(), SinkError> {
        self.write_meta(physical, None).await?;
        let marked = Mark::Replaced.of(&physical.name);
        self.change_aliases(&[remove(&physical.name, &marked)]).await.map(|_| ())
    }

    pub(super) async fn write_meta(&self, physical: &Physical, replaced_at: Option<u64>) -> Result<(), SinkError> {
        let body = json!({"_meta": physical.meta_with(replaced_at)});
        self.client.ask(Method::Put, &format!("/{}/_mapping", physical.name), Some(&body)).await.map(|_| ())
    }

    /// Marks an index for removal, if it still has this mark. Whether it had.
    async fn doom(&self, physical: &str, mark: Mark) -> Result<bool, SinkError> {
        let actions = [remove(physical, &mark.of(physical)), add(physical, &Mark::Doomed.of(physical), &json!({}))];
        self.change_aliases(&actions).await
    }

    /// Removes an index that has this mark, unless it was given an alias since. Whether it did.
    async fn remove_marked(&self, physical: &str, mark: Mark) -> Result<bool, SinkError> {
        if !self.find_physical(physical).await?.is_some_and(|found| found.is_only(mark)) {
            return Ok(false);
        }
        let answer = self.client.send(Method::Delete, &format!("/{physical}"), None).await?;
        if answer.is_no_index() {
            return Ok(false);
        }
        answer.success()?;
        self.client.forget_replaced(physical);
        tracing::info!(index = physical, "index removed");
        Ok(true)
    }
}

/// What was done; nothing where the index is read-only because of a full disk, and lets itself be removed alone.
fn unless_blocked<T>(done: Result<T, SinkError>) -> Result<Option<T>, SinkError> {
    match done {
        Err(error) if error.kind == SinkErrorKind::Blocked => Ok(None),
        done => done.map(Some),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
