//! Variables that are called like settings and are none: a misspelled setting would be ignored without a word.

use std::{cell::RefCell, rc::Rc};

use super::{Env, Everything};
use crate::nearest;

const PREFIX: &str = "VITRINA_";

/// What our own tests read.
const OF_TESTS: &str = "VITRINA_TEST_";

/// Read by the command line and by scripts of the deployment.
const READ_ELSEWHERE: [&str; 3] = ["VITRINA_URL", "VITRINA_TOKEN", "VITRINA_APP_PASSWORD"];

/// Pools of keys, whose names the operator chooses.
const OF_KEYS: &str = "VITRINA_KEYS_";

/// The names of all settings, as the structs ask for them.
pub(super) fn settings() -> Vec<String> {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let log = asked.clone();
    let env = Env::from_lookup(move |name| {
        log.borrow_mut().push(name.to_owned());
        None
    });
    // Only the questions count.
    let _ = env.read::<Everything>();
    asked.take()
}

/// A sentence about each name that is no setting.
pub(super) fn sentences(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = settings();
    known.extend(READ_ELSEWHERE.map(str::to_owned));
    let free = |name: &str| [OF_TESTS, OF_KEYS].iter().any(|beginning| name.starts_with(beginning));
    let unknown = names.filter(|name| name.starts_with(PREFIX) && !free(name) && !known.contains(name));
    unknown.map(|name| sentence(&name, &known)).collect()
}

fn sentence(name: &str, known: &[String]) -> String {
    // The common beginning would make every name near.
    let rest = known.iter().filter_map(|name| name.strip_prefix(PREFIX));
    let hint = match nearest::of(name.strip_prefix(PREFIX).unwrap_or(name), rest) {
        Some(meant) => format!("did you mean {PREFIX}{meant}?"),
        None => "docs/settings.md lists all".to_owned(),
    };
    format!("{name} is no setting of Vitrina and is ignored: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_setting_is_reported_with_the_one_that_was_meant() {
        let names = [
            "VITRINA_SOURCE_SCHEMA",
            "VITRINA_FAVOURITE_COLOUR",
            "VITRINA_LOG",
            "VITRINA_TEST_X",
            "VITRINA_KEYS_X",
            "PATH",
        ];
        let found = sentences(names.into_iter().map(str::to_owned));
        assert_eq!(
            found,
            [
                "VITRINA_SOURCE_SCHEMA is no setting of Vitrina and is ignored: did you mean VITRINA_SOURCE_SCHEMAS?",
                "VITRINA_FAVOURITE_COLOUR is no setting of Vitrina and is ignored: docs/settings.md lists all",
            ]
        );
    }
}
