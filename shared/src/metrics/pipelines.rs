//! The existing pipelines, and those of them that have separate histograms.
//!
//! A recorder never forgets a series, and a pipeline that was removed or renamed would be shown until its workers restart: series
//! of pipelines that are gone are not shown. A histogram is 19 lines of text, and a worker has four per pipeline, six where calls are made: with thousands
//! of pipelines they would be most of what Prometheus stores. So a process keeps them for a bounded number of pipelines, and
//! adds all others up in one. A pipeline keeps its place until it is gone, because a series must never go back.

use std::collections::{BTreeSet, HashSet};
use std::sync::{PoisonError, RwLock};

/// The label of observations of pipelines without histograms of their own. No pipeline can have this name.
pub const OTHERS: &str = "(others)";

/// The default number of pipelines with separate histograms in a process.
pub const HISTOGRAM_PIPELINES: usize = 100;

static NAMES: RwLock<Option<HashSet<String>>> = RwLock::new(None);

static PLACES: RwLock<Places> = RwLock::new(Places { most: HISTOGRAM_PIPELINES, taken: BTreeSet::new() });

struct Places {
    most: usize,
    taken: BTreeSet<String>,
}

impl Places {
    /// Gives a place to the pipeline while there are any. Whether it has one.
    fn take(&mut self, name: &str) -> bool {
        if !self.taken.contains(name) && self.taken.len() < self.most {
            self.taken.insert(name.to_owned());
        }
        self.taken.contains(name)
    }
}

/// From now on this many pipelines have histograms of their own.
pub fn limit_histograms(most: usize) {
    PLACES.write().unwrap_or_else(PoisonError::into_inner).most = most;
}

/// The label of a pipeline's histogram: its name, or [`OTHERS`].
pub fn histogram_label(name: &str) -> String {
    let known = PLACES.read().unwrap_or_else(PoisonError::into_inner).taken.contains(name);
    let own = known || PLACES.write().unwrap_or_else(PoisonError::into_inner).take(name);
    if own { name.to_owned() } else { OTHERS.to_owned() }
}

pub fn set_pipelines(names: HashSet<String>) {
    PLACES.write().unwrap_or_else(PoisonError::into_inner).taken.retain(|name| names.contains(name));
    *NAMES.write().unwrap_or_else(PoisonError::into_inner) = Some(names);
}

/// There is this pipeline too: it is being worked on.
pub fn add_pipeline(name: &str) {
    let missing = NAMES.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|all| !all.contains(name));
    if missing && let Some(names) = NAMES.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
        names.insert(name.to_owned());
    }
}

/// The text without the samples of pipelines that are gone.
pub(super) fn without_the_gone(text: String) -> String {
    match NAMES.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
        Some(names) => retain(&text, names),
        None => text,
    }
}

fn retain(text: &str, names: &HashSet<String>) -> String {
    let kept = |line: &&str| pipeline_of(line).is_none_or(|name| name == OTHERS || names.contains(name));
    text.split_inclusive('\n').filter(kept).collect()
}

/// The pipeline that a sample is about. Names of pipelines contain nothing that would be escaped.
fn pipeline_of(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return None;
    }
    let (_, rest) = line.split_once("{pipeline=\"").or_else(|| line.split_once(",pipeline=\""))?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_pipelines_that_are_gone_are_left_out_and_nothing_else() {
        let text = "# HELP a pipeline=\"gone\"\na{pipeline=\"gone\"} 1\na{pipeline=\"here\"} 2\n\
                    b{class=\"x\",pipeline=\"gone\",phase=\"y\"} 3\nc{route=\"gone\"} 4\nd{pipeline=\"(others)\"} 5\n";
        let names = HashSet::from(["here".to_owned()]);
        assert_eq!(
            retain(text, &names),
            "# HELP a pipeline=\"gone\"\na{pipeline=\"here\"} 2\nc{route=\"gone\"} 4\nd{pipeline=\"(others)\"} 5\n"
        );
    }

    #[test]
    fn a_pipeline_keeps_its_place_and_a_new_one_takes_a_free_one() {
        let mut places = Places { most: 2, taken: BTreeSet::new() };
        assert!(places.take("a") && places.take("b") && !places.take("c") && places.take("a"));
        places.taken.remove("a");
        assert!(places.take("c") && !places.take("a"));
    }
}
