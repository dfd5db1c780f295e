//! Which pipelines there are: series of others are not shown any more.
//!
//! A recorder never forgets a series, and a pipeline that was removed or renamed would be shown until its workers restart.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// The names of the pipelines, once they are known.
static NAMES: RwLock<Option<HashSet<String>>> = RwLock::new(None);

/// From now on there are these pipelines and no others.
pub fn set_pipelines(names: HashSet<String>) {
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
    let kept = |line: &&str| pipeline_of(line).is_none_or(|name| names.contains(name));
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
                    b{class=\"x\",pipeline=\"gone\",phase=\"y\"} 3\nc{route=\"gone\"} 4\nd 5\n";
        let names = HashSet::from(["here".to_owned()]);
        assert_eq!(
            retain(text, &names),
            "# HELP a pipeline=\"gone\"\na{pipeline=\"here\"} 2\nc{route=\"gone\"} 4\nd 5\n"
        );
    }
}
